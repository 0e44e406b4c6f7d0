package wireshark_test

import (
	"bytes"
	"testing"

	"github.com/rpcrdma/rpcrdma/internal/rdmatcp/segment"
)

const connID = 0x0123456789abcdef

// builder makes the streams of a connection, a TCP segment for each RDMA segment.
type builder struct {
	t       *testing.T
	numbers [2]uint32
	pieces  []piece
}

// add adds a segment with n bytes of payload. It numbers messages of group 1.
func (b *builder) add(fromServer bool, h segment.Header, control string, n int) {
	b.t.Helper()
	b.append(fromServer, h, control, bytes.Repeat([]byte{0xd5}, n))
}

// send adds a Send of the client.
func (b *builder) send(payload string) {
	b.t.Helper()
	b.append(false, segment.Header{Type: segment.Send, Begin: true, End: true}, "", unhex(b.t, payload))
}

func (b *builder) append(fromServer bool, h segment.Header, control string, payload []byte) {
	b.t.Helper()
	dir := 0
	if fromServer {
		dir = 1
	}
	h.ConnID = connID
	if h.Type != segment.ReadResponse {
		h.Number = b.numbers[dir]
		if h.End {
			b.numbers[dir]++
		}
	}
	wire, err := segment.Append(nil, &h, unhex(b.t, control), payload)
	if err != nil {
		b.t.Fatal(err)
	}
	b.pieces = append(b.pieces, piece{fromServer, wire})
}

// base returns a connection with all types of messages, in one segment and in several, with control
// data in first and later ones, and with Read_Responses between the segments of a Send.
func base(t *testing.T) []piece {
	b := &builder{t: t, numbers: [2]uint32{0xfffffffe, 7}}
	const (
		hello   = "72706431 01 00 0008 00010000 0010 0004 f6ab0e18 01 01 03 03"
		welcome = "72706431 01 00 0003 00002000 0002 0001 616263 00"
	)
	b.add(false, segment.Header{Type: segment.Write, Begin: true, End: true}, hello, 0)
	b.add(true, segment.Header{Type: segment.Write, Begin: true, End: true}, welcome, 0)
	b.add(false, segment.Header{Type: segment.Send, Begin: true, End: true}, "", 5)
	b.add(false, segment.Header{Type: segment.Send, Res: 1, Begin: true, End: true, Order: 3}, "", 0)
	b.add(false, segment.Header{Type: segment.Send, Begin: true}, "", 6)
	b.add(true, segment.Header{Type: segment.ReadRequest, Begin: true, End: true, BufferID: 9, Offset: 100, RDMALength: 12}, "", 0)
	b.add(true, segment.Header{Type: segment.ReadRequest, Begin: true, End: true, BufferID: 9, Offset: 200, RDMALength: 0}, "0000000a", 0)
	b.add(false, segment.Header{Type: segment.ReadResponse, Number: 8, Begin: true, Order: segment.NoOrder}, "", 8)
	b.add(false, segment.Header{Type: segment.Send, Offset: 6}, "00000001 00000002", 4)
	b.add(false, segment.Header{Type: segment.ReadResponse, Number: 8, End: true, Offset: 8, Order: segment.NoOrder}, "", 4)
	b.add(false, segment.Header{Type: segment.Send, End: true, Offset: 10}, "", 3)
	b.add(false, segment.Header{Type: segment.ReadResponse, Number: 9, Begin: true, End: true, Order: segment.NoOrder}, "", 0)
	b.add(true, segment.Header{Type: segment.Write, Begin: true, Order: segment.NoOrder, BufferID: 0xcafe, Offset: 1 << 31, RDMALength: 10}, "", 4)
	b.add(true, segment.Header{Type: segment.Write, Order: segment.NoOrder, BufferID: 0xcafe, Offset: 1<<31 + 4, RDMALength: 10}, "", 6)
	b.add(true, segment.Header{Type: segment.Write, End: true, Order: segment.NoOrder, BufferID: 0xcafe, Offset: 1<<31 + 10, RDMALength: 10}, "", 0)
	b.add(true, segment.Header{Type: segment.Send, Res: 9, Begin: true, End: true}, "00000001 0000cafe 11112222", 3001)
	b.add(true, segment.Header{Type: segment.Send, Res: 15, Begin: true, End: true}, "00000003 00000002 0000cafe", 0)
	return b.pieces
}
