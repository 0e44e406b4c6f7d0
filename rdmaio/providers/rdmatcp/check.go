package rdmatcp

import (
	"fmt"
	"time"

	"github.com/rpcrdma/rpcrdma/rdmaio/providers/internal/soft"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/rdmatcp/segment"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// checkSegment checks a segment against the state of the connection and sets the target
// of its payload. All checks but that of the CRC come before the first byte is placed.
func (q *queuePair) checkSegment(w *wire, h *segment.Header) error {
	q.mu.Lock()
	defer q.unlock()
	if q.ending {
		return errClosing
	}
	var oldest *segment.Read
	if q.reads.len() > 0 {
		r := q.sq.at(*q.reads.at(q.reads.head))
		oldest = &segment.Read{Number: r.number, Length: uint32(r.Total)}
	}
	learned := !w.stream.Known
	if err := w.stream.Accept(h, oldest); err != nil {
		return err
	}
	if learned {
		q.kick()
	}
	in := &q.in
	in.target, in.off = nil, int(w.stream.Offset(h))
	if h.Type == segment.ReadResponse {
		in.target = q.sq.at(*q.reads.at(q.reads.head)).SGL
		return nil
	}
	if h.Begin {
		in.res, in.controlLen = h.Res, 0
	}
	switch h.Type {
	case segment.Send:
		return q.acceptSend(h)
	case segment.Write:
		return q.acceptWrite(h)
	}
	return q.acceptRead(h)
}

// acceptSend finds the Receive of a Send (R2, R3).
func (q *queuePair) acceptSend(h *segment.Header) error {
	in := &q.in
	if h.Begin {
		in.sendLen = 0
		if in.report = in.res == resReport && q.dev.cfg.Raw == nil; !in.report {
			if !q.await(func() bool { return q.rqNext < q.rq.tail }, q.dev.cfg.ReceiveTimeout) {
				if q.ending {
					return errClosing
				}
				return q.refuse(reasonReceiver, h.Number, 0, fmt.Sprintf("Send found no Receive posted for %v (Config.ReceiveTimeout)", q.dev.cfg.ReceiveTimeout))
			}
			in.recv = q.rqNext
			q.rqNext++
		}
	}
	if in.report {
		if h.Payload() > 0 {
			return q.refuse(reasonFormat, h.Number, 0, fmt.Sprintf("report with %d bytes of payload, want none", h.Payload()))
		}
		return nil
	}
	r := q.rq.at(in.recv)
	if in.sendLen += h.Payload(); in.sendLen > r.total {
		r.done, r.wc = true, verbs.WC{Status: verbs.StatusLocalLength}
		return q.refuse(reasonLength, h.Number, 0, fmt.Sprintf("Send of at least %d bytes, but the Receive has room for %d", in.sendLen, r.total))
	}
	in.target = r.sgl
	return nil
}

// acceptWrite checks the whole range of a Write at its first segment (RFC 5042
// §6.2.1; R9).
func (q *queuePair) acceptWrite(h *segment.Header) error {
	in := &q.in
	if h.Begin && h.RDMALength > 0 {
		e, reason := q.PD.Remote(h.BufferID, uint64(h.Offset), int(h.RDMALength), verbs.AccessRemoteWrite)
		if reason != "" {
			return q.refuseAccess(h, string(reason))
		}
		in.write[0] = e
		if !q.awaitSources(h, &e) {
			if q.ending {
				return errClosing
			}
			return q.refuse(reasonSlow, h.Number, h.BufferID,
				fmt.Sprintf("Write must not overtake an earlier Read (§3.4 Order), whose response the peer has not taken for %v (Config.SendTimeout)", q.dev.cfg.SendTimeout))
		}
	}
	if h.RDMALength > 0 {
		in.target = in.write[:]
	}
	return nil
}

// acceptRead checks a Read of the peer (RFC 5042 §6.3, §6.4.3.3; R9, R14).
func (q *queuePair) acceptRead(h *segment.Header) error {
	// A response that is in a batch counts as sent: the peer may have received it.
	if n := int(q.resp.tail - q.rspNext); n >= q.resources {
		return q.refuse(reasonReads, h.Number, h.BufferID, fmt.Sprintf("Read while %d are outstanding, as many as were negotiated (RFC 5042 §6.4.3.3)", n))
	}
	if h.RDMALength == 0 {
		return nil
	}
	e, reason := q.PD.Remote(h.BufferID, uint64(h.Offset), int(h.RDMALength), verbs.AccessRemoteRead)
	if reason != "" {
		return q.refuseAccess(h, string(reason))
	}
	q.in.write[0] = e
	return nil
}

func (q *queuePair) refuseAccess(h *segment.Header, reason string) error {
	rule := "§6.2.1"
	if h.Type == segment.ReadRequest {
		rule = "§6.3.1"
	}
	return q.refuse(reasonAccess, h.Number, h.BufferID,
		fmt.Sprintf("%v of %d bytes at %#x with key 0x%08x: %s (RFC 5042 %s)", h.Type, h.RDMALength, h.Offset, h.BufferID, reason, rule))
}

// awaitSources waits until the response to an earlier Read was sent, if a Write must not
// overtake that Read (§3.4 Order) and overlaps its source. Writes of this package never
// have to wait: they do not ask for that order.
func (q *queuePair) awaitSources(h *segment.Header, e *soft.Element) bool {
	for i := q.resp.tail; i > q.resp.head; i-- {
		r := q.resp.at(i - 1)
		if r.total > 0 && segment.Waits(h.Number, h.Order, r.number) && e.Overlaps(&r.source[0]) {
			return q.await(func() bool { return q.resp.head >= i }, q.dev.cfg.SendTimeout)
		}
	}
	return true
}

// await waits until done, which it asks whenever wake was called, returns true. It
// returns false if that takes longer than atMost, or if the connection ends. mu is held,
// but not while waiting.
func (q *queuePair) await(done func() bool, atMost time.Duration) bool {
	if done() {
		return true
	}
	q.uncork()
	timer := time.NewTimer(atMost)
	defer timer.Stop()
	for {
		q.mu.UnlockNotify()
		expired := false
		select {
		case <-q.woken:
		case <-timer.C:
			expired = true
		case <-q.endStarted:
		}
		q.mu.Lock()
		switch {
		case q.ending:
			return false
		case done():
			return true
		case expired:
			return false
		}
	}
}
