package ibverbs

import (
	"testing"

	"github.com/rpcrdma/rpcrdma/rdmaio/providers/ibverbs/internal/abi"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// noPings is a Config with which no request for a sign of the peer polls in place of an event.
var noPings = Config{PeerTimeout: -1}

// A completion that comes between the last poll and the request for an event makes no event. It is
// found by the poll after the request.
func TestCompletionBeforeTheQueueIsArmedIsFound(t *testing.T) {
	f, w := openWatched(t, abi.TransportIB, noQuirks, noPings)
	c, s := connectedSides(t, f)
	for i := range uint64(2) {
		c.recv(i, c.region(8, verbs.AccessLocalWrite))
	}
	message := verbs.SendWR{Opcode: verbs.Send, Flags: verbs.SendSignaled}
	w.once("ibv_req_notify_cq", func() {
		s.send(message)
		s.wait(2)
	})
	s.send(message)
	c.wait(2)
}

// While a caller polls, the queue is not armed. It is armed when no caller has polled for a while:
// later completions make events.
func TestQueueIsArmedAfterTheLastCaller(t *testing.T) {
	f := openFake(t, abi.TransportIB, noQuirks, noPings)
	c, s := connectedSides(t, f)
	for i := range uint64(2) {
		c.recv(i, c.region(8, verbs.AccessLocalWrite))
	}
	c.qp.Progress(func() bool {
		s.send(verbs.SendWR{Opcode: verbs.Send, Flags: verbs.SendSignaled})
		s.wait(1)
		c.until("the event of the first message is handled", func(q *queuePair) bool { return !q.armed })
		return true
	})
	if wc := c.wait(1)[0]; wc.WRID != 0 {
		t.Errorf("completion %+v", wc)
	}
	s.send(verbs.SendWR{Opcode: verbs.Send, Flags: verbs.SendSignaled})
	if wc := c.wait(1)[0]; wc.WRID != 1 {
		t.Errorf("completion %+v", wc)
	}
}
