package sim

import (
	"time"

	"github.com/rpcrdma/rpcrdma/rdmaio/internal/engine"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// port is the queue pair of an end, at its provider.
//
//	post ──> sq ──> move: carried out, one after the other ──┬──> wcs ───────> poll ──> engine
//	                                                         └──> unpolled ─────┘ with others
type port struct {
	recv     []*region // by WRID of the Receive
	rq       []verbs.RecvWR
	sq       []send
	moving   bool // the first request of sq is scheduled
	reading  int  // RDMA Reads in sq
	wcs      []verbs.WC
	lastWC   time.Duration
	await    bool       // the engine wants completions of the send queue as they come
	unpolled []verbs.WC // completions of the send queue that were not polled
}

// send is a request in a send queue.
type send struct {
	wr  verbs.SendWR
	sge verbs.SGE
}

// add adds a request to the send queue, and returns it.
func (q *port) add(wr *verbs.SendWR) send {
	s := send{wr: *wr}
	if s.wr.Opcode == verbs.RDMARead {
		q.reading++
	}
	if len(wr.SGL) > 0 {
		s.sge = wr.SGL[0]
	}
	q.sq = append(q.sq, s)
	return s
}

// next removes the first request of the send queue, and returns it.
func (q *port) next() send {
	s := q.sq[0]
	q.sq = q.sq[1:]
	if s.wr.Opcode == verbs.RDMARead {
		q.reading--
	}
	return s
}

// look polls the completions of the send queue that the engine did not wait for.
func (q *port) look() (list []engine.Event) {
	for _, wc := range q.unpolled {
		list = append(list, engine.Event{Kind: engine.EventCompletion, WC: &wc})
	}
	q.unpolled = nil
	return list
}

// received returns the bytes of a message.
func (q *port) received(wc *verbs.WC) []byte {
	if wc.Loan != nil {
		return wc.Loan.Bytes()
	}
	return q.recv[wc.WRID].bytes[:wc.ByteLen]
}

// close forgets all requests and completions.
func (q *port) close() { q.sq, q.rq, q.wcs, q.unpolled = nil, nil, nil, nil }
