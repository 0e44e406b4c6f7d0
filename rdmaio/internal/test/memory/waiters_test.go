package memory

import (
	"context"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/rdmaiotest"
	"github.com/rpcrdma/rpcrdma/internal/rpctest"
	"github.com/rpcrdma/rpcrdma/rdmaio"
)

// R309: when one large Call is done, all Calls continue that waited for its memory, not only the
// first.
func TestAllCallsGoOnThatWaitedForMemory(t *testing.T) {
	w := rdmaiotest.New(t)
	h := &holder{got: make(chan struct{}, 100)}
	s := w.Serve(h, &rdmaio.Config{MaxConnMemory: 50_000})
	c := w.Dial(nil)
	go func() { <-h.got; h.answer() }()
	// This Call brings the credits and the allowance.
	if _, err := c.Call(context.Background(), rpctest.WriteCall(1, 0, make([]byte, 30_000))); err != nil {
		t.Fatal(err)
	}
	const small = 4
	errs := make(chan error, 1+small)
	call := func(xid uint32, n int) {
		_, err := c.Call(context.Background(), rpctest.WriteCall(xid, 0, make([]byte, n)))
		errs <- err
	}
	go call(2, 45_000)
	<-h.got
	for xid := range uint32(small) {
		go call(3+xid, 10_000)
	}
	rdmaiotest.AwaitStats(t, rdmaiotest.ServerConn(t, s), func(st *rdmaio.Stats) bool { return st.Received == 2+small })
	h.answer()
	for range small {
		select {
		case <-h.got:
		case <-time.After(20 * time.Second):
			t.Fatal("a Call still waits for memory")
		}
	}
	for range small {
		h.answer()
	}
	for range 1 + small {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
}
