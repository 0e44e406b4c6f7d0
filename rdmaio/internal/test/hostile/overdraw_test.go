package hostile

import (
	"context"
	"testing"

	"github.com/rpcrdma/rpcrdma/internal/peertest"
	"github.com/rpcrdma/rpcrdma/internal/rdmaiotest"
	"github.com/rpcrdma/rpcrdma/internal/rpctest"
	"github.com/rpcrdma/rpcrdma/rdmaio"
)

// T2, R3, R134: a peer that sends more Calls than it has credits loses the connection, and no other
// client loses anything.
func TestOverdrawingPeerIsLost(t *testing.T) {
	w := rdmaiotest.New(t)
	h := rpctest.Silent{Got: make(chan *rdmaio.Request, 8)}
	w.Serve(h, &rdmaio.Config{Credits: 2})
	honest := w.Dial(nil)
	p := w.DialRaw(t)
	for range 3 {
		p.Send(peertest.Bytes(t, peertest.Msg("")))
	}
	<-p.Lost
	for range 2 { // the handler has two of them, and answers into the void
		r := <-h.Got
		failed := make(chan error, 1)
		r.Reply(rdmaio.Message{Inline: rpctest.ReplyHeader(1).Buf}, func(err error) { failed <- err })
		if err := <-failed; err == nil {
			t.Error("an answer went to a lost connection")
		}
	}
	go func() {
		r := <-h.Got
		r.Reply(rdmaio.Message{Inline: rpctest.ReplyHeader(5).Buf}, nil)
	}()
	if _, err := honest.Call(context.Background(), rpctest.NullCall(5, 40)); err != nil {
		t.Errorf("another client: %v", err)
	}
}
