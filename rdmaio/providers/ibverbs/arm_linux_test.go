package ibverbs

import (
	"sync/atomic"
	"testing"

	"github.com/rpcrdma/rpcrdma/rdmaio/providers/ibverbs/internal/abi"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// A completion that comes between the last poll and the request for an event makes no event. It is
// found by the poll after the request.
func TestCompletionBeforeTheQueueIsArmedIsFound(t *testing.T) {
	f, w := openWatched(t, abi.TransportIB, noQuirks, Config{})
	c, s := connectedSides(t, f)
	for i := range uint64(2) {
		c.recv(i, c.region(8, verbs.AccessLocalWrite))
	}
	message := func() {
		s.send(verbs.SendWR{Opcode: verbs.Send, Flags: verbs.SendSignaled})
		s.wait(1)
	}
	w.once("ibv_req_notify_cq", message)
	message()
	c.wait(2)
}

// While a caller polls, the queue is not armed. It is armed when no caller has polled for a while:
// later completions make events.
func TestQueueIsArmedAfterTheLastCaller(t *testing.T) {
	f, w := openWatched(t, abi.TransportIB, noQuirks, Config{})
	c, s := connectedSides(t, f)
	for i := range uint64(2) {
		c.recv(i, c.region(8, verbs.AccessLocalWrite))
	}
	var over atomic.Bool
	handled, ended := make(chan struct{}), make(chan struct{})
	w.once("ibv_poll_cq", func() {
		s.send(verbs.SendWR{Opcode: verbs.Send, Flags: verbs.SendSignaled})
		s.wait(1)
	})
	go func() {
		defer close(ended)
		for !over.Load() {
			c.qp.Progress(over.Load)
		}
	}()
	go func() {
		defer close(handled)
		c.until("the event of the first message is handled, and the queue is not armed", func(q *queuePair) bool { return !q.armed })
		over.Store(true)
	}()
	<-handled
	<-ended
	if wc := c.wait(1)[0]; wc.WRID != 0 {
		t.Errorf("completion %+v", wc)
	}
	s.send(verbs.SendWR{Opcode: verbs.Send, Flags: verbs.SendSignaled})
	if wc := c.wait(1)[0]; wc.WRID != 1 {
		t.Errorf("completion %+v", wc)
	}
}
