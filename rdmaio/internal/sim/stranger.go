package sim

import (
	"bytes"
	"encoding/binary"
	"maps"
	"slices"
	"time"

	"github.com/rpcrdma/rpcrdma/rdmaio/internal/engine"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/protocol"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/v2"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// core makes the decisions of an end: the product's engine, or a stranger.
type core interface {
	Step(now time.Duration, events []engine.Event) *engine.Effects
	Stats() engine.Stats
	Credits() int
}

// stranger is an end of version 2 that is not the product's. It counts each message that it gets
// against the credits that it granted, Grants included, and closes the connection if there is one
// more. It sends keep-alives: Grants without need, for which it pays, also with its last credit
// (draft-ietf-nfsv4-rpcrdma-version-two-00 §4.3.1).
//
//	a Call, an answer ──> queue ──> parts, each for a credit ──> its peer
//	messages ──> joined ──> Effects.Deliver, Effects.Done
type stranger struct {
	e       *end
	ceiling int
	lazy    bool // it grants only to an end without credits
	version protocol.Version

	credits int  // that it may use
	limit   int  // the peer's ceiling
	out     int  // that it granted, less those used
	top     bool // a Grant came without a credit, and nothing was sent since
	slack   int  // messages in excess that it takes: see take
	begun   bool // it has received a message
	spoke   bool // it has sent one
	alive   bool // it is to send a keep-alive

	eff     *engine.Effects
	queue   []speech
	calls   map[uint32]*engine.Call // sent, without an answer; nil: it was given up
	serving map[*engine.Request]bool
	joined  []byte
	gone    bool
	counts  engine.Stats
}

// speech is a message to be sent, in parts.
type speech struct {
	xid    uint32
	answer bool
	rest   []byte
	call   *engine.Call // or nil
	sent   bool         // a part of it
}

// The size of the header in a stranger's message, and of its largest message.
const (
	strangeHead = 36
	strangeSize = v2.LeastInline
)

// newStranger makes a stranger of an end, and its Receives.
func newStranger(e *end, ceiling int) *stranger {
	s := &stranger{
		e: e, ceiling: ceiling, lazy: e.w.draw.lazy, version: v2.New(v2.Config{}), limit: 1,
		calls: make(map[uint32]*engine.Call), serving: make(map[*engine.Request]bool),
	}
	spare := 1                        // R175
	if s.credits = 1 - e.i; e.i > 0 { // a client may have one message more on its way (ADR 0171)
		s.out, spare, s.slack = 1, 2, 1
	}
	for range ceiling + spare {
		r := &region{bytes: poisoned(strangeSize)}
		e.port.recv = append(e.port.recv, r)
	}
	return s
}

// Stats implements core.
func (s *stranger) Stats() engine.Stats {
	s.counts.PostedRecvs = len(s.e.port.rq)
	s.counts.Granted = s.Credits()
	return s.counts
}

// Credits implements core.
func (s *stranger) Credits() int { return min(s.credits+len(s.calls), s.limit) }

// Step implements core.
func (s *stranger) Step(_ time.Duration, events []engine.Event) *engine.Effects {
	s.eff = new(engine.Effects)
	for i := range events {
		s.event(&events[i])
	}
	s.pump()
	if s.begun {
		s.eff.Version = s.version
	}
	return s.eff
}

func (s *stranger) event(ev *engine.Event) {
	switch ev.Kind {
	case engine.EventStart:
		for i := range s.e.port.recv {
			s.repost(uint64(i))
		}
	case engine.EventOpen:
		s.announce()
	case engine.EventCompletion:
		if ev.WC.Opcode == verbs.WCRecv && !s.gone {
			s.take(bytes.Clone(s.e.port.received(ev.WC)))
			s.repost(ev.WC.WRID)
		}
	case engine.EventCall:
		if s.gone {
			s.fail(ev.Call, errClosed)
			return
		}
		s.queue = append(s.queue, speech{xid: ev.Call.XID, rest: bytes.Join(ev.Call.Payload, nil), call: ev.Call})
	case engine.EventCancel:
		s.cancel(ev.Call)
	case engine.EventReply:
		s.answer(ev.Request)
	case engine.EventBroken, engine.EventClose:
		s.close(ev.Err)
	}
}

// repost posts a Receive.
func (s *stranger) repost(i uint64) {
	if r := s.e.port.recv[i]; !s.gone {
		s.eff.Recvs = append(s.eff.Recvs, verbs.RecvWR{WRID: i, SGL: []verbs.SGE{{MR: r, Length: len(r.bytes)}}})
	}
}

// take takes a message of the peer. After a Grant that it counted as paid, and for which a client
// may not have paid, it takes one message in excess.
func (s *stranger) take(b []byte) {
	m := parse2(b)
	s.counts.Received++
	switch {
	case s.out > 0:
		s.out--
	case m.kind == isGrant && !s.top:
		s.top = true
	case s.slack > 0:
		s.slack--
	default:
		s.e.w.fail("%s gets a message of kind %d in excess of the credits that it granted", s.e.name, m.kind)
		s.close(errBroken)
		return
	}
	if m.kind == isGrant && s.e.i > 0 {
		s.slack = 1
	}
	if !s.begun && s.e.i > 0 {
		s.announce()
	}
	s.begun = true
	if m.kind != isError {
		s.limit = int(m.credit >> 16)
		s.credits = min(s.credits+int(m.credit&0xffff), s.limit)
	}
	switch m.kind {
	case isCall, isReply:
		s.joined = append(s.joined, b[strangeHead:]...)
		if m.more {
			return
		}
		whole := s.joined
		s.joined = nil
		if m.kind == isCall {
			q := &engine.Request{XID: m.xid, Message: whole}
			s.serving[q] = true
			s.eff.Deliver = append(s.eff.Deliver, q)
			return
		}
		c := s.calls[m.xid]
		if delete(s.calls, m.xid); c != nil {
			c.Reply = whole
			s.counts.Replies++
			s.eff.Done = append(s.eff.Done, c)
		}
	}
}

// announce queues the properties.
func (s *stranger) announce() {
	s.queue = append(s.queue, speech{xid: 0x5eaf0000})
	s.e.w.after(s.e.w.soon(), s.e.name+" may keep alive", s.keepAlive)
}

// keepAlive sends a Grant now and then, if there is a credit for it.
func (s *stranger) keepAlive() {
	w := s.e.w
	if s.gone || !w.faults {
		return
	}
	if s.begun && s.spoke && s.credits > 0 && w.chance(KeepAlive) {
		s.alive = true
		s.e.step(engine.Event{Kind: engine.EventEffects})
	}
	w.after(time.Duration(1+w.rng.IntN(1<<w.rng.IntN(15)))*time.Microsecond, s.e.name+" may keep alive", s.keepAlive)
}

// pump sends what there are credits for. To an end without credits it sends a Grant, if it keeps a
// credit itself.
func (s *stranger) pump() {
	if s.alive && s.credits > 0 && !s.gone {
		s.send(s.header(0, 1, 0))
	}
	for s.alive = false; s.credits > 0 && !s.gone; {
		i := s.next()
		if i < 0 {
			break
		}
		if s.say(&s.queue[i]) {
			s.queue = slices.Delete(s.queue, i, i+1)
		}
	}
	if s.begun && s.spoke && s.out == 0 && s.credits > 1 && !s.gone {
		s.send(s.header(0, 1, 0))
	}
}

// next returns the index of the message to be sent, or -1: the one that is continued, or the first
// that may go. No more Calls are in flight than the peer's ceiling (§4.3.1).
func (s *stranger) next() int {
	if i := slices.IndexFunc(s.queue, func(m speech) bool { return m.sent }); i >= 0 {
		return i
	}
	return slices.IndexFunc(s.queue, func(m speech) bool { return m.call == nil || len(s.calls) < s.limit })
}

// say sends the next part of a message, and reports whether it is the last.
func (s *stranger) say(m *speech) bool {
	if m.rest == nil { // RDMA2_CONNPROP: it serves Calls as the peer does (§5.2.5)
		b := s.header(m.xid, 5, 0)
		for _, word := range []uint32{1, 5, 4, v2.ReverseGeneral} {
			b = binary.BigEndian.AppendUint32(b, word)
		}
		s.send(b)
		return true
	}
	n, flags := min(len(m.rest), s.e.link.inline[s.e.i]-strangeHead), uint32(0)
	if n < len(m.rest) {
		flags = 2
	}
	if m.answer {
		flags |= 1
	} else if m.call != nil {
		m.call.Sent = true
		s.calls[m.xid] = m.call
	}
	s.send(append(s.header(m.xid, 0, flags), m.rest[:n]...))
	m.rest, m.sent = m.rest[n:], true
	return len(m.rest) == 0
}

// header returns the header of a message without chunks. It grants and counts credits (§6.3, §6.4).
func (s *stranger) header(xid, htype, flags uint32) (b []byte) {
	low := max(s.ceiling-s.out-len(s.serving), 0)
	switch {
	case s.out == 0:
		low = max(low, 1) // R171
	case s.lazy:
		low = 0
	}
	s.out += low
	words := []uint32{xid, 2, uint32(s.ceiling)<<16 | uint32(low), htype, flags, 0, 0, 0, 0}
	if htype == 5 {
		words = words[:5]
	}
	for _, word := range words {
		b = binary.BigEndian.AppendUint32(b, word)
	}
	return b
}

// send posts a message.
func (s *stranger) send(b []byte) {
	s.credits--
	s.spoke, s.top = true, false
	s.eff.Sends = append(s.eff.Sends, verbs.SendWR{Opcode: verbs.Send, SGL: []verbs.SGE{{MR: &region{bytes: b}, Length: len(b)}}})
}

// answer queues the answer to a Call of the peer.
func (s *stranger) answer(q *engine.Request) {
	delete(s.serving, q)
	if !s.gone && !q.Answer.Drop {
		s.queue = append(s.queue, speech{xid: q.XID, answer: true, rest: bytes.Join(q.Answer.Payload, nil)})
	}
	s.eff.Release = append(s.eff.Release, q)
}

// cancel returns a Call that was given up. If a part of it was sent, the others follow.
func (s *stranger) cancel(c *engine.Call) {
	i := slices.IndexFunc(s.queue, func(m speech) bool { return m.call == c })
	switch {
	case i >= 0 && s.queue[i].sent:
		s.queue[i].call = nil
	case i >= 0:
		s.queue = slices.Delete(s.queue, i, i+1)
	case s.calls[c.XID] != c:
		return
	}
	if c.Sent {
		s.calls[c.XID] = nil
	}
	s.fail(c, errClosed)
}

// fail returns a Call without an answer.
func (s *stranger) fail(c *engine.Call, why error) {
	c.Err = why
	s.eff.Done = append(s.eff.Done, c)
}

// close closes the connection.
func (s *stranger) close(why error) {
	if s.gone {
		return
	}
	s.gone, s.eff.Fail = true, why
	for _, m := range s.queue {
		if m.call != nil && s.calls[m.xid] == nil {
			s.fail(m.call, why)
		}
	}
	for _, xid := range slices.Sorted(maps.Keys(s.calls)) {
		if c := s.calls[xid]; c != nil {
			s.fail(c, why)
		}
	}
	s.queue, s.calls = nil, map[uint32]*engine.Call{}
}
