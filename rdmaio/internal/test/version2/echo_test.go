package version2

import (
	"bytes"
	"testing"

	"github.com/rpcrdma/rpcrdma/internal/peertest/peer2"
	"github.com/rpcrdma/rpcrdma/internal/rdmaiotest"
	"github.com/rpcrdma/rpcrdma/internal/rpctest"
	"github.com/rpcrdma/rpcrdma/internal/v2test"
	"github.com/rpcrdma/rpcrdma/rdmaio"
)

// A Reply may be a part of its Call. If it is continued, the first part grants a credit for the
// Call's Receive, and messages that use it come before the last part is sent.
func TestContinuedReplyMayBePartOfItsCall(t *testing.T) {
	const size, zeros = 1000, 60000
	v2test.Each(t, "version 2", func(t *testing.T, w *rdmaiotest.World) {
		a := rpctest.EchoesMemory(size, zeros)
		p := v2test.Server(t, w, a, peer2.Config{Ceiling: 1}, v2test.Config(rdmaio.Config{Credits: 2}))
		want := rpctest.CallBytes(1, size)
		p.SendWith(peer2.Call(1, want), 1, 1)
		var payload []byte
		for other := uint32(100); ; other++ {
			m := p.Next()
			if m.XID != 1 {
				continue // the answer to another Call
			}
			payload = append(payload, m.Payload...)
			if m.Flags&peer2.More == 0 {
				break
			}
			// It is dropped, but its credit brings the next part.
			p.SendWith(peer2.Reply(other, rpctest.ReplyBytes(other, size)), 1, 1)
		}
		if n := len(payload); n != 24+zeros+size-40 || !bytes.Equal(payload[24+zeros:], want[40:]) {
			t.Errorf("a Reply of %d bytes, or other bytes than the Call's", n)
		}
	})
}
