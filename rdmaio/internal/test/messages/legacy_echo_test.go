package messages

import (
	"bytes"
	"testing"

	"github.com/rpcrdma/rpcrdma/internal/peertest"
	"github.com/rpcrdma/rpcrdma/internal/rdmaiotest"
	"github.com/rpcrdma/rpcrdma/internal/rpctest"
	"github.com/rpcrdma/rpcrdma/rdmaio"
)

// A Reply with read chunks may be a part of its Call, too. The peer reads them when it likes, and
// may make other Calls before.
func TestLegacyReplyMayBePartOfItsCall(t *testing.T) {
	rdmaiotest.Each(t, func(t *testing.T, w *rdmaiotest.World) {
		w.Serve(rpctest.EchoesMemory(900, 3000), &rdmaio.Config{Legacy: true, Credits: 1})
		p := w.DialRaw(t)
		p.Send(append(peertest.Bytes(t, peertest.Head+"00000000 00000000 00000000 00000000"), rpctest.CallBytes(0xcafe0001, 900)...))
		m, err := peertest.Parse(string(p.Message(peertest.Patience)))
		if err != nil || len(m.Reads) != 2 {
			t.Fatalf("%+v, %v; want two read chunks", m, err)
		}
		for range 4 { // they overwrite each Receive
			p.Send(append(peertest.Bytes(t, "cafe0002 00000001 00000020 00000000 00000000 00000000 00000000"), rpctest.CallBytes(0xcafe0002, 800)...))
			if got := p.Message(peertest.Patience); len(got) != 28+24 {
				t.Fatalf("answer %v", got)
			}
		}
		s := m.Reads[1]
		if got := p.Read(s.Key, s.Addr, int(s.Length)); !bytes.Equal(got, rpctest.CallBytes(0xcafe0001, 900)[40:]) {
			t.Error("the read chunk has other bytes than the Call")
		}
	})
}
