package ibverbs

import (
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/rdmaio/providers/ibverbs/internal/abi"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// sideWith returns a side whose completion queue has a notification.
func sideWith(t *testing.T, d *Device, notify func()) *side {
	t.Helper()
	s := &side{t: t, dev: d}
	pd, err := d.AllocPD()
	s.must(err)
	s.pd = pd.(*domain)
	t.Cleanup(func() { s.must(pd.Close()) })
	s.cq, err = d.CreateCQ(16, notify)
	s.must(err)
	t.Cleanup(func() { s.must(s.cq.Close()) })
	qp, err := pd.CreateQP(verbs.QPConfig{SendCQ: s.cq, RecvCQ: s.cq, MaxSendWR: 8, MaxRecvWR: 8})
	s.must(err)
	s.qp = qp.(*queuePair)
	t.Cleanup(func() { s.must(qp.Close()) })
	return s
}

// A notification of a completion may disconnect its queue pair, which waits for the end: also a
// notification of a request that the end has flushed.
func TestNotificationOfFlushedRequestDisconnects(t *testing.T) {
	f := openFake(t, abi.TransportIB, noQuirks, Config{})
	// A notification of another queue pair keeps the reader, so that the end finds the completion.
	reading, release := make(chan struct{}), make(chan struct{})
	busy, peer := sideWith(t, f.c, func() { close(reading); <-release }), newSide(t, f.s, verbs.QPConfig{})
	connectSides(busy, peer)
	var c *side
	called := make(chan struct{})
	c = sideWith(t, f.c, func() {
		c.must(c.qp.Disconnect())
		close(called)
	})
	connectSides(c, newSide(t, f.s, verbs.QPConfig{}))
	c.recv(1, c.region(8, verbs.AccessLocalWrite))
	c.must(c.cq.Arm(false))

	busy.recv(1, busy.region(8, verbs.AccessLocalWrite))
	busy.must(busy.cq.Arm(false))
	peer.send(verbs.SendWR{Opcode: verbs.Send, SGL: []verbs.SGE{{MR: peer.region(8, 0), Length: 8}}})
	<-reading
	defer close(release)
	go c.qp.Removed()
	select {
	case <-called:
	case <-time.After(10 * time.Second):
		t.Fatal("Disconnect waits for the end, and the end for the notification")
	}
}
