package fault

import "github.com/rpcrdma/rpcrdma/rdmaio/verbs"

// manner changes a completion as the manners of the device do.
func (c *completionQueue) manner(q queue, wc *verbs.WC) {
	inj := c.dev.inj
	switch {
	case wc.Status == verbs.StatusRNRRetryExceeded && inj.has(UnnoticedSend):
		inj.happened(UnnoticedSend)
		if q.qp.outstanding.signaled(wc.WRID) {
			*wc = verbs.WC{WRID: wc.WRID, QPNum: wc.QPNum, Opcode: verbs.WCSend}
		} else {
			wc.Status = verbs.StatusFlushed // a success would not complete
		}
	case wc.Status != verbs.StatusSuccess:
	case wc.Opcode == verbs.WCRecv:
		if wc.InvalidatedRKey != 0 {
			wc.InvalidatedRKey = inj.keys.invalidated(wc.InvalidatedRKey, c.reports(wc.InvalidatedRKey))
		}
	case inj.tracks():
		q.qp.outstanding.completed()
	}
}

// reports counts an invalidation by the peer whose report the manners change.
func (c *completionQueue) reports(own uint32) (silent bool) {
	inj := c.dev.inj
	if inj.has(WindowsOnly) && inj.keys.added(own) {
		inj.happened(WindowsOnly)
	}
	if silent = inj.has(UnreportedInvalidate); silent {
		inj.happened(UnreportedInvalidate)
	}
	return silent
}

// reorder is filter with SendsBeforeReads, for a queue without other faults: a Read's completion
// waits for the next Send's completion, or until the queue is armed or was polled for long.
func (c *completionQueue) reorder(q queue, wc verbs.WC) []verbs.WC {
	if wc.Opcode == verbs.WCRDMARead && !c.armed {
		c.idle = 0
		c.deferred = append(c.deferred, deferred{q, 2 * c.stateOf(q).done, wc})
		return nil
	}
	var reads []verbs.WC
	rest := c.deferred[:0]
	for _, h := range c.deferred {
		if h.q == q {
			reads = append(reads, h.wc)
		} else {
			rest = append(rest, h)
		}
	}
	c.deferred = rest
	if wc.Opcode != verbs.WCSend || len(reads) == 0 {
		return append(reads, wc)
	}
	c.dev.inj.happened(SendsBeforeReads)
	return append([]verbs.WC{wc}, reads...)
}
