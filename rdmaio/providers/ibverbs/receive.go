package ibverbs

import (
	"fmt"

	"github.com/rpcrdma/rpcrdma/rdmaio/providers/ibverbs/internal/abi"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// recvQueue holds the posted Receives. The queue pair's lock guards it.
type recvQueue struct {
	ring[receive]
	qp *queuePair
}

// receive is a posted Receive.
type receive struct {
	wrid   uint64
	sgl    []element
	done   bool // wc is set
	doomed bool
	wc     verbs.WC
}

// PostRecv implements verbs.QueuePair.
func (q *queuePair) PostRecv(wrs []verbs.RecvWR) (int, error) {
	q.mu.Lock()
	n, err := q.rq.post(wrs)
	q.mu.UnlockNotify()
	return n, err
}

func (rq *recvQueue) post(wrs []verbs.RecvWR) (n int, err error) {
	q := rq.qp
	if s := q.State(); s > verbs.StateConnected || q.end.begun {
		return 0, fmt.Errorf("ibverbs: queue pair %d: post receive in state %v: %w", q.Num(), max(s, q.atLeast()), verbs.ErrInvalidState)
	}
	for n < len(wrs) {
		first := rq.tail
		for i := n; i < len(wrs) && i < n+postBatch && err == nil; i++ {
			err = rq.add(wrs, i, i-n)
		}
		failed := rq.flush(first)
		n += int(rq.tail - first)
		if failed != nil {
			return n, q.RecvError(wrs, n, failed)
		}
		if err != nil {
			return n, err
		}
	}
	return n, nil
}

// add checks Receive i of a post and adds it to the ring, and to the batch as number at.
func (rq *recvQueue) add(wrs []verbs.RecvWR, i, at int) error {
	q := rq.qp
	err := q.BeginRecv(wrs, i)
	if err != nil {
		return err
	}
	seq := rq.push()
	e := rq.at(seq)
	*e = receive{wrid: wrs[i].WRID, sgl: e.sgl[:0]}
	limits := q.RecvLimits()
	if e.sgl, _, err = q.pd.check(e.sgl, wrs[i].SGL, limits.Elements, limits.Bytes, limits.Need); err != nil {
		rq.tail--
		return q.RecvError(wrs, i, err)
	}
	q.RecvUsed.Add(1)
	wire := abi.RecvWR{ID: seq<<1 | 1}
	wire.SGL, wire.NumSGE = q.area.list(at, e.sgl)
	if wire.NumSGE == 0 && q.dev.quirks.EmptySGE {
		wire.SGL, wire.NumSGE = q.area.empty(at)
	}
	b := q.area.recvAt(at)
	wire.Put(b)
	if at > 0 {
		abi.SetNext(q.area.recvAt(at-1), abi.Addr(b))
	}
	return nil
}

// flush posts the Receives from number first on. Those that were not posted are removed.
func (rq *recvQueue) flush(first uint64) error {
	q := rq.qp
	if rq.tail == first {
		return nil
	}
	base := abi.Addr(q.area.reqs)
	bad, err := q.dev.lib.PostRecv(q.hw, base)
	if err == nil {
		return nil
	}
	posted := first + unposted(bad, base, abi.RecvWRSize, int(rq.tail-first))
	for rq.tail > posted {
		rq.tail--
		release(rq.at(rq.tail).sgl)
		q.RecvUsed.Add(-1)
	}
	return q.postError(err)
}

// received notes the completion of Receive seq, and completes the oldest Receives. It reports
// whether it has a message.
func (rq *recvQueue) received(seq uint64, wc *abi.WC) bool {
	q := rq.qp
	if !rq.has(seq) || rq.at(seq).done {
		return false // reported twice
	}
	e := rq.at(seq)
	e.done, e.wc = true, verbs.WC{Status: q.dev.status(wc.Status, true)}
	if e.wc.Status == verbs.StatusSuccess {
		e.wc.ByteLen = wc.ByteLen
		if wc.Flags&abi.WithInv != 0 || q.dev.quirks.KernelWithInv && wc.Flags&abi.KernelWithInv != 0 {
			e.wc.InvalidatedRKey = wc.InvalidatedKey
		}
	}
	for rq.len() > 0 {
		if e := rq.at(rq.head); e.done {
			rq.complete(e)
			continue
		}
		break
	}
	return wc.Status == abi.StatusSuccess
}

// complete completes the oldest Receive. q.mu must be held.
func (rq *recvQueue) complete(e *receive) {
	q := rq.qp
	rq.head++
	if e.doomed && e.wc.Status != verbs.StatusSuccess {
		e.wc.Status = verbs.StatusLocalProtection
	}
	release(e.sgl)
	e.sgl = e.sgl[:0]
	if e.wc.InvalidatedRKey != 0 {
		q.win.byPeer(e.wc.InvalidatedRKey)
	}
	// Completions do not say whether the Send was solicited.
	q.CompleteRecv(&q.mu, e.wrid, e.wc, true)
	if e.wc.Status != verbs.StatusSuccess {
		q.beginBy(e.wc.Status, "Receive")
	}
}
