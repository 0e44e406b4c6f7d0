package stream

import (
	"strings"
	"testing"

	"github.com/rpcrdma/rpcrdma/rdmaio/providers/internal/soft"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// loneQP returns a queue pair without a connection, and a region of its domain.
func loneQP(t *testing.T) (*queuePair, verbs.MemoryRegion) {
	t.Helper()
	dev, err := Open(toyConfig(1424))
	if err != nil {
		t.Fatal(err)
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	pd, err := dev.AllocPD()
	must(err)
	cq, err := dev.CreateCQ(8, func() {})
	must(err)
	qp, err := pd.CreateQP(verbs.QPConfig{SendCQ: cq, RecvCQ: cq, MaxSendWR: 4, MaxRecvWR: 4})
	must(err)
	mr, err := pd.RegisterMemory(make([]byte, 64), verbs.AccessRemoteRead)
	must(err)
	t.Cleanup(func() {
		closeAll(t, qp.Close, mr.Deregister, cq.Close, pd.Close, dev.Close)
	})
	return qp.(*queuePair), mr
}

// A peer can have as many outstanding Reads as negotiated, and not one more (RFC 5042 §6.4.3.3).
// Those whose responses are in a batch do not count.
func TestReadsNegotiated(t *testing.T) {
	const agreed = 2
	for _, tt := range []struct {
		unanswered, written int
		refused             bool
	}{
		{unanswered: agreed - 1},
		{unanswered: agreed, refused: true},
		{unanswered: agreed, written: 1},
		{unanswered: agreed + 1, written: 1, refused: true},
	} {
		q, _ := loneQP(t)
		q.resources = agreed
		for range tt.unanswered {
			q.resp.next()
			q.resp.push()
		}
		q.sender.rspNext = uint64(tt.written)
		q.mu.Lock()
		err := q.reader.acceptRead(&Frame{Kind: KindReadRequest})
		q.mu.Unlock()
		if refused := err != nil && strings.Contains(err.Error(), "RFC 5042 §6.4.3.3"); refused != tt.refused || !refused && err != nil {
			t.Errorf("%d unanswered, %d in a write, %d agreed: %v", tt.unanswered, tt.written, agreed, err)
		}
	}
}

// A LocalInvalidate waits for a Write in the batch, which still needs its region.
func TestLocalInvalidateWaitsForWrite(t *testing.T) {
	q, mr := loneQP(t)
	q.mu.Lock()
	defer q.mu.Unlock()
	*q.sq.next() = Request{Request: soft.Request{Opcode: verbs.LocalInvalidate, Invalidate: mr.RKey()}}
	r := q.sq.at(q.sq.push())
	q.sender.out = &batch{pins: []*soft.Region{nil}}
	if got := q.sender.localInvalidate(r); got != stepNone || r.done || mr.State() != verbs.MRValid {
		t.Errorf("with a Write in the batch: step %d, done %v, region %v", got, r.done, mr.State())
	}
	q.sender.out.pins = nil
	if got := q.sender.localInvalidate(r); got != stepAdded || mr.State() != verbs.MRInvalid {
		t.Errorf("after the Write: step %d, region %v", got, mr.State())
	}
}
