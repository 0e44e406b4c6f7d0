package rdmaio_test

import (
	"bytes"
	"encoding/binary"
	"testing"

	"github.com/rpcrdma/rpcrdma/rdmaio"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/peertest"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/peertest/peer2"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/rdmaiotest"
	"github.com/rpcrdma/rpcrdma/runtime/xdr"
)

// echoes answers Calls of n bytes or more with zeros and the Call's own memory.
func echoes(n, zeros int) *app {
	return &app{reply: func(r *rdmaio.Request) bool {
		if len(r.Message) < n {
			return false
		}
		r.Reply(rdmaio.Message{Inline: replyOf(binary.BigEndian.Uint32(r.Message), 24), Items: []xdr.Item{
			{Position: 24, Inline: 24, Data: make([]byte, zeros)},
			{Position: uint64(24 + zeros), Inline: 24, Data: r.Message[40:]},
		}}, nil)
		return true
	}}
}

// A Reply may be a part of its Call. If it is continued, the first part grants a credit for the
// Call's Receive, and messages that use it come before the last part is sent.
func TestContinuedEcho(t *testing.T) {
	const size, zeros = 1000, 60000
	each2(t, "version 2", func(t *testing.T, w *rdmaiotest.World) {
		a := echoes(size, zeros)
		p := ourServer(t, w, a, peer2.Config{Ceiling: 1}, config2(rdmaio.Config{Credits: 2}))
		want := callOf(1, size)
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
			p.SendWith(peer2.Reply(other, replyOf(other, size)), 1, 1)
		}
		if n := len(payload); n != 24+zeros+size-40 || !bytes.Equal(payload[24+zeros:], want[40:]) {
			t.Errorf("a Reply of %d bytes, or other bytes than the Call's", n)
		}
	})
}

// A Reply with read chunks may be a part of its Call, too. The peer reads them when it likes, and
// may make other Calls before.
func TestLegacyEcho(t *testing.T) {
	rdmaiotest.Each(t, func(t *testing.T, w *rdmaiotest.World) {
		w.Serve(echoes(900, 3000), &rdmaio.Config{Legacy: true, Credits: 1})
		p := w.DialRaw(t)
		p.Send(append(peertest.Bytes(t, head+"00000000 00000000 00000000 00000000"), callOf(0xcafe0001, 900)...))
		m, err := peertest.Parse(string(p.Message(peertest.Patience)))
		if err != nil || len(m.Reads) != 2 {
			t.Fatalf("%+v, %v; want two read chunks", m, err)
		}
		for range 4 { // they overwrite each Receive
			p.Send(append(peertest.Bytes(t, "cafe0002 00000001 00000020 00000000 00000000 00000000 00000000"), callOf(0xcafe0002, 800)...))
			if got := p.Message(peertest.Patience); len(got) != 28+24 {
				t.Fatalf("answer %v", got)
			}
		}
		s := m.Reads[1]
		if got := p.Read(s.Key, s.Addr, int(s.Length)); !bytes.Equal(got, callOf(0xcafe0001, 900)[40:]) {
			t.Error("the read chunk has other bytes than the Call")
		}
	})
}
