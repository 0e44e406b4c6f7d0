package ibverbs

import (
	"fmt"
	"time"

	"github.com/rpcrdma/rpcrdma/rdmaio/providers/ibverbs/internal/abi"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// poll moves all completions of the device to the software queues, in the order of the posts, and
// returns their number. Before the connection manager says that the connection is established, they
// stay at the device: the peer's first message may be faster, and its receiver answers by a post,
// which needs StateConnected. The caller holds q.mu.
func (q *queuePair) poll() (total int) {
	if q.end.cleaned || q.State() < verbs.StateConnected && !q.end.begun {
		return 0
	}
	heard := false
	for {
		n, err := q.dev.lib.Poll(q.cq, q.area.wcs)
		if err != nil {
			q.end.callFailed("poll", err)
			break
		}
		for i := range n {
			wc := abi.GetWC(q.area.wcs[i*abi.WCSize:])
			if wc.ID&1 != 0 {
				heard = q.rq.received(wc.ID>>1, &wc) || heard
			} else {
				heard = q.sent(wc.ID>>1, &wc) || heard
			}
		}
		total += n
		if n < pollBatch {
			break
		}
	}
	q.completeSends()
	if heard {
		q.life.heard = time.Now()
		q.opening.heard()
		q.held.release()
	}
	return total
}

// sent notes the completion of request seq. It reports whether the completion proves that the peer
// is there.
func (q *queuePair) sent(seq uint64, wc *abi.WC) bool {
	if !q.sq.has(seq) || q.sq.at(seq).done {
		return false // reported twice
	}
	e := q.sq.at(seq)
	e.done, e.status = true, q.dev.status(wc.Status, false)
	if e.Opcode == verbs.LocalInvalidate && e.kind == kindUser && e.status != verbs.StatusSuccess && e.status != verbs.StatusFlushed {
		e.status = verbs.StatusLocalProtection
	}
	q.sq.reached = max(q.sq.reached, seq+1)
	// Over iWARP a Send or Write is complete when the local stream has it.
	return e.status == verbs.StatusSuccess && e.kind != kindBind && e.kind != kindRevoke &&
		(q.dev.transport == abi.TransportIB || e.Opcode == verbs.RDMARead && !e.unsent(q.dev))
}

// completeSends completes the oldest requests, up to the first one that is not complete. A request
// that is not signaled is complete when a later one is. The caller holds q.mu.
func (q *queuePair) completeSends() {
	for q.sq.len() > 0 {
		e := q.sq.at(q.sq.head)
		if !e.done && (e.signaled || q.sq.head >= q.sq.reached) {
			return
		}
		q.completeSend(e)
	}
}

// completeSend completes the oldest request of the send queue. The caller holds q.mu.
func (q *queuePair) completeSend(e *request) {
	q.sq.head++
	status := e.status
	if !e.done {
		status = verbs.StatusSuccess
	}
	switch {
	case e.doomed && status != verbs.StatusSuccess:
		status = verbs.StatusLocalProtection
	case q.sq.failed && status == verbs.StatusSuccess:
		status = verbs.StatusFlushed
	}
	release(e.sgl)
	e.sgl = e.sgl[:0]
	w := e.window
	e.window = nil
	if w != nil && status == verbs.StatusSuccess {
		if e.kind == kindBind {
			w.executed = true
		} else {
			q.win.recycle(w)
		}
	}
	if e.kind == kindUser {
		q.CompleteSend(&q.mu, &e.Request, status)
	} else {
		q.sq.internal--
	}
	if status == verbs.StatusSuccess {
		return
	}
	q.sq.failed = true
	q.beginBy(status, e.describe())
}

// describe describes a request, for errors.
func (e *request) describe() string {
	switch e.kind {
	case kindBind:
		return "bind of a memory window"
	case kindRevoke:
		return "invalidation of a memory window"
	case kindPing:
		return "request that finds out whether the peer is there"
	}
	if e.Opcode == verbs.RDMARead || e.Opcode == verbs.RDMAWrite {
		return fmt.Sprintf("%v of %d bytes at %#x with key 0x%08x", e.Opcode, e.Total, e.Addr, e.RKey)
	}
	return fmt.Sprintf("%v of %d bytes", e.Opcode, e.Total)
}

// statuses maps the statuses of libibverbs to those in package verbs.
var statuses = map[abi.Status]verbs.Status{
	abi.StatusSuccess:     verbs.StatusSuccess,
	abi.StatusLocLen:      verbs.StatusLocalLength,
	abi.StatusLocProt:     verbs.StatusLocalProtection,
	abi.StatusLocAccess:   verbs.StatusLocalProtection,
	abi.StatusMWBind:      verbs.StatusLocalProtection,
	abi.StatusFlushed:     verbs.StatusFlushed,
	abi.StatusBadResp:     verbs.StatusRemoteOperation,
	abi.StatusRemInvReq:   verbs.StatusRemoteInvalidRequest,
	abi.StatusRemAccess:   verbs.StatusRemoteAccess,
	abi.StatusRemOp:       verbs.StatusRemoteOperation,
	abi.StatusRemAbort:    verbs.StatusRemoteOperation,
	abi.StatusRetryExc:    verbs.StatusRetryExceeded,
	abi.StatusRespTimeout: verbs.StatusRetryExceeded,
	abi.StatusRNRRetryExc: verbs.StatusRNRRetryExceeded,
}

// status returns the status of package verbs for one of the device.
func (d *hardware) status(s abi.Status, recv bool) verbs.Status {
	if v, ok := statuses[d.quirks.Status(s, recv)]; ok {
		return v
	}
	return verbs.StatusFatal
}
