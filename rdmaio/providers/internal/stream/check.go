package stream

import (
	"fmt"
	"time"

	"github.com/rpcrdma/rpcrdma/rdmaio/providers/internal/soft"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// check checks a frame against the state of the connection and sets the target
// of its payload. All checks except the checksum's come before the first byte is placed.
func (q *queuePair) check(c *Conn, f *Frame) error {
	q.mu.Lock()
	defer q.unlock()
	if q.ending {
		return errClosing
	}
	var oldest *Request
	if q.reads.len() > 0 {
		oldest = q.oldestRead()
	}
	if err := c.framer.Accept(f, oldest); err != nil {
		return &breach{err}
	}
	if !q.mayWrite && c.framer.Ready() {
		q.mayWrite = true
		q.kick()
	}
	q.in.target = nil
	switch f.Kind {
	case KindReadResponse:
		q.in.target = oldest.SGL
	case KindSend:
		return q.acceptSend(f)
	case KindWrite:
		return q.acceptWrite(c, f)
	case KindReadRequest:
		return q.acceptRead(f)
	}
	return nil
}

// oldestRead returns this side's oldest Read without a complete response. There is one.
func (q *queuePair) oldestRead() *Request { return q.sq.at(*q.reads.at(q.reads.head)) }

// acceptSend finds the Receive of a Send (R2, R3).
func (q *queuePair) acceptSend(f *Frame) error {
	in := &q.in
	if f.Begin {
		in.sendLen = 0
		if !q.await(func() bool { return q.messages.tail < q.rq.tail }, q.dev.cfg.ReceiveTimeout) {
			if q.ending {
				return errClosing
			}
			return q.refuse(Report{Reason: ReasonReceiver, AtHand: true, Number: f.Number},
				fmt.Sprintf("Send found no Receive posted for %v (Config.ReceiveTimeout)", q.dev.cfg.ReceiveTimeout))
		}
		*q.messages.next() = message{}
		in.recv = q.messages.push()
		in.loan, in.lend = nil, 0
		if r := q.rq.at(in.recv); r.sgl == nil && f.End {
			in.lend = min(int(r.total), f.Payload) // the message is this frame
		} else if r.sgl == nil {
			in.lend = int(r.total)
		}
	}
	r := q.rq.at(in.recv)
	if in.sendLen += f.Payload; in.sendLen > int(r.total) {
		a := q.messages.at(in.recv)
		a.done, a.wc = true, verbs.WC{Status: verbs.StatusLocalLength}
		return q.refuse(Report{Reason: ReasonLength, AtHand: true, Number: f.Number},
			fmt.Sprintf("Send of at least %d bytes, but the Receive has room for %d", in.sendLen, r.total))
	}
	in.target = r.list()
	return nil
}

// lent returns the memory that is lent for the open Send, from the place of f's payload on. It is
// nil if f does not belong to a Send, or if the Receive has memory.
func (in *incoming) lent(f *Frame) []byte {
	if f.Kind != KindSend || in.lend == 0 || f.Payload == 0 {
		return nil
	}
	if in.loan == nil {
		in.loan = soft.Lend(in.lend)
	}
	return in.loan.Bytes()[f.Offset:]
}

// acceptWrite checks the range of a Write that the framing names: the whole range at its first
// frame, or the part of each frame (RFC 5042 §6.2.1; R9).
func (q *queuePair) acceptWrite(c *Conn, f *Frame) error {
	in := &q.in
	if f.Check {
		e, reason := q.PD.Remote(f.Key, f.Addr, f.Length, verbs.AccessRemoteWrite)
		if reason != "" {
			return q.refuseAccess(f, reason)
		}
		in.write[0] = e
		if !q.awaitSources(c, f, &e) {
			if q.ending {
				return errClosing
			}
			return q.refuse(Report{Reason: ReasonSlow, AtHand: true, Number: f.Number, Key: f.Key},
				fmt.Sprintf("Write must not overtake an earlier Read, whose response the peer has not taken for %v (Config.SendTimeout)", q.dev.cfg.SendTimeout))
		}
	}
	if f.Payload > 0 {
		in.target = in.write[:]
	}
	return nil
}

// acceptRead checks a Read of the peer (RFC 5042 §6.3, §6.4.3.3; R9, R14).
func (q *queuePair) acceptRead(f *Frame) error {
	// A response that is in a batch counts as sent: the peer may have received it.
	if n := int(q.resp.tail - q.rspNext); n >= q.resources {
		return q.refuse(Report{Reason: ReasonReads, AtHand: true, Number: f.Number, Key: f.Key},
			fmt.Sprintf("Read while %d are outstanding, as many as were negotiated (RFC 5042 §6.4.3.3)", n))
	}
	if f.Length == 0 {
		return nil
	}
	e, reason := q.PD.Remote(f.Key, f.Addr, f.Length, verbs.AccessRemoteRead)
	if reason != "" {
		return q.refuseAccess(f, reason)
	}
	q.in.read[0] = e
	return nil
}

func (q *queuePair) refuseAccess(f *Frame, reason soft.Denial) error {
	rule := "§6.2.1"
	if f.Kind == KindReadRequest {
		rule = "§6.3.1"
	}
	return q.refuse(Report{Reason: ReasonAccess, Denial: reason, AtHand: true, Number: f.Number, Key: f.Key},
		fmt.Sprintf("%v of %d bytes at %#x with key 0x%08x: %s (RFC 5042 %s)", f.Kind, f.Length, f.Addr, f.Key, reason, rule))
}

// awaitSources waits until the response to an earlier Read was sent, if a Write must not
// overtake that Read (Receiver.Waits) and overlaps its source.
func (q *queuePair) awaitSources(c *Conn, f *Frame, e *soft.Element) bool {
	for i := q.resp.tail; i > q.resp.head; i-- {
		r := q.resp.at(i - 1)
		if r.Total > 0 && c.framer.Waits(f, r) && e.Overlaps(&r.source[0]) {
			return q.await(func() bool { return q.resp.head >= i }, q.dev.cfg.SendTimeout)
		}
	}
	return true
}

// await waits until done, which it asks whenever wake was called, returns true. It returns false if
// that takes longer than atMost, or if the connection is closed. q.mu must be held; await releases
// it while it waits.
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
