package rpcrdma1

import (
	"encoding/binary"
	"testing"
)

// A scan of a message with a reply chunk reports the errors of CheckXDR, whichever word is
// replaced.
func TestScanOfReplyChunk(t *testing.T) {
	wire := []byte{
		0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 8, 0, 0, 0, 0, // RDMA_MSG
		0, 0, 0, 0, // no read list
		0, 0, 0, 0, // no write list
		0, 0, 0, 1, 0, 0, 0, 1, // a reply chunk of one segment
		0, 0, 0, 5, 0, 0, 0, 9, 0, 0, 0, 0, 0, 0, 0, 7,
	}
	for off := 0; off < len(wire); off += 4 {
		was := binary.BigEndian.Uint32(wire[off:])
		for _, word := range []uint32{was, 0, 1, 2, 3, 1 << 28, 1 << 31, 1<<32 - 1} {
			binary.BigEndian.PutUint32(wire[off:], word)
			n, err := (*Message)(nil).CheckXDR(wire)
			s, segments := ScanMessage(wire), 0
			for range s.BodyMsgReplyTarget() {
				segments++
			}
			end, wrong := s.End()
			if (err == nil) != (wrong == nil) || err == nil && end != n || segments > 1 {
				t.Errorf("%d at offset %d: %d segments, then %d, %v; the check says %d, %v", word, off, segments, end, wrong, n, err)
			}
		}
		binary.BigEndian.PutUint32(wire[off:], was)
	}
}
