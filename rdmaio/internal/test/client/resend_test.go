package client

import (
	"context"
	"errors"
	"testing"

	"github.com/rpcrdma/rpcrdma/internal/peertest/peer2"
	"github.com/rpcrdma/rpcrdma/internal/rdmaiotest"
	"github.com/rpcrdma/rpcrdma/internal/rpctest"
	"github.com/rpcrdma/rpcrdma/internal/v2test"
	"github.com/rpcrdma/rpcrdma/rdmaio"
)

// A Call that the peer refused because its reply did not fit was executed: the error says so, even
// if it is cancelled while it waits to be sent again (R208).
func TestCallSentAgainMayHaveRun(t *testing.T) {
	for form, do := range rpctest.Forms {
		t.Run(form, func(t *testing.T) { sentAgainMayHaveRun(t, do) })
	}
}

func sentAgainMayHaveRun(t *testing.T, do rpctest.Form) {
	v2test.Each(t, "no credit for the second time", func(t *testing.T, w *rdmaiotest.World) {
		p, done := v2test.DialPeer(t, w, peer2.Config{}, v2test.Config(rdmaio.Config{}))
		offer := p.Next()
		p.SendWith(peer2.Props(offer.XID), 1, 1)
		conn := v2test.Connected(t, done)
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		res := make(chan error, 1)
		go func() {
			_, err := do(conn, ctx, rpctest.ReadCall(9, 0, make([]byte, 5000)))
			res <- err
		}()
		m := p.Next()
		p.SendWith(peer2.Err(m.XID, peer2.ErrWriteResource, 1, 6000), 1, 0)
		rdmaiotest.AwaitStats(t, conn, func(st *rdmaio.Stats) bool { return st.Waiting == 1 })
		cancel()
		var ce *rdmaio.CallError
		if err := <-res; !errors.As(err, &ce) || !ce.MayHaveRun || !errors.Is(ce, context.Canceled) {
			t.Errorf("the Call ended with %v, want one that may have run", err)
		}
	})
}
