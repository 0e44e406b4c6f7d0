package stream

import (
	"fmt"
	"time"

	"github.com/rpcrdma/rpcrdma/rdmaio/providers/internal/soft"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// check checks a frame against the state of the connection and sets the target
// of its payload. All checks except the checksum's come before the first byte is placed.
func (rd *reader) check(c *Conn, f *Frame) error {
	rd.q.mu.Lock()
	defer rd.s.unlock()
	if rd.q.ending {
		return errClosing
	}
	var oldest *Request
	if rd.q.reads.len() > 0 {
		oldest = rd.q.oldestRead()
	}
	if err := c.framer.Accept(f, oldest); err != nil {
		return &breach{err}
	}
	rd.s.allow(c)
	rd.in.target = nil
	switch f.Kind {
	case KindReadResponse:
		rd.in.target = oldest.SGL
	case KindSend:
		return rd.acceptSend(f)
	case KindWrite:
		return rd.acceptWrite(c, f)
	case KindReadRequest:
		return rd.acceptRead(f)
	}
	return nil
}

// oldestRead returns this side's oldest Read without a complete response. There is one.
func (q *queues) oldestRead() *Request { return q.sq.at(*q.reads.at(q.reads.head)) }

// acceptSend finds the Receive of a Send (R2, R3).
func (rd *reader) acceptSend(f *Frame) error {
	in := &rd.in
	if f.Begin {
		in.sendLen = 0
		if !rd.await(func() bool { return rd.q.messages.tail < rd.q.rq.tail }, rd.q.dev.cfg.ReceiveTimeout) {
			if rd.q.ending {
				return errClosing
			}
			return rd.q.refuse(Report{Reason: ReasonReceiver, AtHand: true, Number: f.Number},
				fmt.Sprintf("Send found no Receive posted for %v (Config.ReceiveTimeout)", rd.q.dev.cfg.ReceiveTimeout))
		}
		*rd.q.messages.next() = message{}
		in.recv = rd.q.messages.push()
		in.loan, in.lend = nil, 0
		if r := rd.q.rq.at(in.recv); r.sgl == nil && f.End {
			in.lend = min(int(r.total), f.Payload) // the message is this frame
		} else if r.sgl == nil {
			in.lend = int(r.total)
		}
	}
	r := rd.q.rq.at(in.recv)
	if in.sendLen += f.Payload; in.sendLen > int(r.total) {
		a := rd.q.messages.at(in.recv)
		a.done, a.wc = true, verbs.WC{Status: verbs.StatusLocalLength}
		return rd.q.refuse(Report{Reason: ReasonLength, AtHand: true, Number: f.Number},
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
func (rd *reader) acceptWrite(c *Conn, f *Frame) error {
	in := &rd.in
	if f.Check {
		e, reason := rd.q.PD.Remote(f.Key, f.Addr, f.Length, verbs.AccessRemoteWrite)
		if reason != "" {
			return rd.refuseAccess(f, reason)
		}
		in.write[0] = e
		if !rd.awaitSources(c, f, &e) {
			if rd.q.ending {
				return errClosing
			}
			return rd.q.refuse(Report{Reason: ReasonSlow, AtHand: true, Number: f.Number, Key: f.Key},
				fmt.Sprintf("Write must not overtake an earlier Read, whose response the peer has not taken for %v (Config.SendTimeout)", rd.q.dev.cfg.SendTimeout))
		}
	}
	if f.Payload > 0 {
		in.target = in.write[:]
	}
	return nil
}

// acceptRead checks a Read of the peer (RFC 5042 §6.3, §6.4.3.3; R9, R14).
func (rd *reader) acceptRead(f *Frame) error {
	// A response that is in a batch counts as sent: the peer may have received it.
	if n := int(rd.q.resp.tail - rd.s.rspNext); n >= rd.q.resources {
		return rd.q.refuse(Report{Reason: ReasonReads, AtHand: true, Number: f.Number, Key: f.Key},
			fmt.Sprintf("Read while %d are outstanding, as many as were negotiated (RFC 5042 §6.4.3.3)", n))
	}
	if f.Length == 0 {
		return nil
	}
	e, reason := rd.q.PD.Remote(f.Key, f.Addr, f.Length, verbs.AccessRemoteRead)
	if reason != "" {
		return rd.refuseAccess(f, reason)
	}
	rd.in.read[0] = e
	return nil
}

func (rd *reader) refuseAccess(f *Frame, reason soft.Denial) error {
	rule := "§6.2.1"
	if f.Kind == KindReadRequest {
		rule = "§6.3.1"
	}
	return rd.q.refuse(Report{Reason: ReasonAccess, Denial: reason, AtHand: true, Number: f.Number, Key: f.Key},
		fmt.Sprintf("%v of %d bytes at %#x with key 0x%08x: %s (RFC 5042 %s)", f.Kind, f.Length, f.Addr, f.Key, reason, rule))
}

// awaitSources waits until the response to an earlier Read was sent, if a Write must not
// overtake that Read (Receiver.Waits) and overlaps its source.
func (rd *reader) awaitSources(c *Conn, f *Frame, e *soft.Element) bool {
	for i := rd.q.resp.tail; i > rd.q.resp.head; i-- {
		r := rd.q.resp.at(i - 1)
		if r.Total > 0 && c.framer.Waits(f, r) && e.Overlaps(&r.source[0]) {
			return rd.await(func() bool { return rd.q.resp.head >= i }, rd.q.dev.cfg.SendTimeout)
		}
	}
	return true
}

// await waits until done, which it asks whenever wake was called, returns true. It returns false if
// that takes longer than atMost, or if the connection is closed. q.mu must be held; await releases
// it while it waits.
func (rd *reader) await(done func() bool, atMost time.Duration) bool {
	if done() {
		return true
	}
	rd.s.uncork()
	timer := time.NewTimer(atMost)
	defer timer.Stop()
	for {
		rd.q.mu.NotifyLocked()
		rd.q.mu.Unlock()
		expired := false
		select {
		case <-rd.q.woken:
		case <-timer.C:
			expired = true
		case <-rd.q.endStarted:
		}
		rd.q.mu.Lock()
		switch {
		case rd.q.ending:
			return false
		case done():
			return true
		case expired:
			return false
		}
	}
}
