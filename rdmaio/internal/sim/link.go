package sim

import (
	"bytes"
	"encoding/binary"
	"errors"
	"time"

	"github.com/rpcrdma/rpcrdma/rdmaio/internal/engine"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// errBroken is the error of a connection that the network broke.
var errBroken = errors.New("sim: the connection is broken")

// link is one connection.
type link struct {
	w        *world
	number   int             // from 1
	carried  map[uint64]bool // tags of the RPCs that were on it
	ends     [2]*end
	broken   bool
	swallows bool          // although it is broken, requests without an answer complete
	inline   [2]int        // current inline size of each side's messages, in bytes
	stuck    time.Duration // no request is carried out before
	noDone   bool          // RDMA_DONE was lost
}

// parse parses a message that this end sends.
func (e *end) parse(b []byte) seen {
	if e.w.versions.mixed && binary.BigEndian.Uint32(b[4:]) == 2 {
		return parse2(b)
	}
	return parse(b, e.w.draw.legacy && e.i == 1)
}

// post adds requests to the send queue. They are carried out in order.
func (e *end) post(wrs []verbs.SendWR) {
	if len(wrs) > 0 && !e.link.broken && e.w.chance(RefusePost) {
		wrs = wrs[:e.w.rng.IntN(len(wrs))]
		defer e.link.breakNow()
	}
	for i := range wrs {
		s := e.port.add(&wrs[i])
		if s.wr.Opcode == verbs.Send || s.wr.Opcode == verbs.SendWithInvalidate {
			b := local(&s.sge)
			switch m := e.parse(b); {
			case e.isStranger():
			case m.vers == 2 && e.link.broken: // a post before it may have been refused
			case m.vers == 2:
				e.account2.post(m, len(b))
			default:
				e.account.post(m)
			}
		}
	}
	if len(e.port.sq) > e.w.draw.sendWRs[e.i] {
		e.w.fail("%v: %d requests in a send queue of %d", e.name, len(e.port.sq), e.w.draw.sendWRs[e.i])
	}
	if most := e.w.draw.reads[e.i]; most > 0 && e.port.reading > most {
		e.w.fail("%v has %d RDMA Reads in progress, %d were negotiated", e.name, e.port.reading, most)
	}
	e.move()
}

// move schedules the first request of the send queue.
func (e *end) move() {
	if e.port.moving || len(e.port.sq) == 0 || e.isStuck() {
		return
	}
	e.port.moving = true
	l, d := e.link, e.w.soon()
	switch {
	case e.w.chance(Stall):
		l.stuck = e.w.now + 2*chainTimeout
	case e.w.chance(Hiccup):
		l.stuck = max(l.stuck, e.w.now+time.Duration(e.w.rng.IntN(int(chainTimeout/4))))
	}
	if l.stuck > e.w.now {
		d += l.stuck - e.w.now
	}
	e.w.after(d, e.name+" moves", func() {
		e.port.moving = false
		if e.gone || e.isStuck() {
			return
		}
		s := e.port.next()
		if !l.broken && !e.carry(&s) {
			l.breakNow()
			return
		}
		if s.wr.Flags&verbs.SendSignaled != 0 {
			op := verbs.WCSend
			switch s.wr.Opcode {
			case verbs.RDMARead:
				op = verbs.WCRDMARead
			case verbs.RDMAWrite:
				op = verbs.WCRDMAWrite
			}
			e.complete(verbs.WC{WRID: s.wr.WRID, Opcode: op})
		}
		e.move()
		if e.w.chance(Extend) {
			e.w.after(0, e.name+" extends", e.ext.begin)
		}
		if e.w.chance(Resize) {
			e.w.after(0, "resize", l.resize)
		}
		for _, f := range []Fault{Break, CloseClient, CloseServer, Vanish} {
			if e.w.chance(f) {
				l.endBy(f)
				return
			}
		}
	})
}

// isStuck reports whether the first request of the send queue cannot be carried out. On a link that
// has vanished, what the end sends may complete all the same, as with a socket that takes it.
func (e *end) isStuck() bool {
	return e.link.broken && (!e.link.swallows || e.port.sq[0].wr.Opcode == verbs.RDMARead)
}

// carry carries out a request. It returns false if that breaks the connection.
func (e *end) carry(s *send) bool {
	mem := local(&s.sge)
	switch s.wr.Opcode {
	case verbs.RDMAWrite:
		to, ok := e.peer.mem.at(s.wr.RKey, s.wr.RemoteAddr, len(mem), verbs.AccessRemoteWrite)
		if ok {
			copy(to, mem)
			e.w.clean(mem)
		}
		return ok
	case verbs.RDMARead:
		from, ok := e.peer.mem.at(s.wr.RKey, s.wr.RemoteAddr, len(mem), verbs.AccessRemoteRead)
		if ok {
			copy(mem, from)
			e.w.clean(from)
		}
		return ok
	}
	p := e.peer
	if len(p.port.rq) == 0 {
		e.w.fail("%v sends to a peer without a posted Receive", e.name)
		return false
	}
	e.w.clean(mem)
	m := Message{Bytes: append([]byte(nil), mem...)}
	if e.w.cfg.Bugs.Sabotage != nil {
		e.w.cfg.Bugs.Sabotage(&m)
	}
	msg := e.parse(m.Bytes)
	if msg.kind == isDone && e.w.chance(NoDone) {
		e.link.noDone = true
		return true
	}
	if msg.vers != 2 && (msg.kind == isReply || msg.kind == isError) && e.w.chance(NoGrant) {
		copy(m.Bytes[8:12], []byte{0, 0, 0, 0})
	}
	if e.w.draw.legacy && msg.payload > 0 && !msg.reads && (msg.kind == isCall) == (e.i == 0) {
		m.Bytes = e.w.pad(m.Bytes, msg.payload, room(&p.port.rq[0]))
	}
	wc := verbs.WC{Opcode: verbs.WCRecv, ByteLen: uint32(len(m.Bytes))}
	if s.wr.Opcode == verbs.SendWithInvalidate {
		r := p.mem.regions[s.wr.InvalidateRKey]
		switch {
		case r == nil || !r.live && !r.cancelled:
			e.w.fail("%v invalidates key %#x, which it was not given", e.name, s.wr.InvalidateRKey)
			return false
		case msg.vers == 2 && (r.named == 0 || r.named != msg.xid || msg.kind != isReply || msg.more): // R260
			e.w.fail("%v invalidates key %#x, which the Call did not name", e.name, s.wr.InvalidateRKey)
			return false
		case !r.live:
			return false // a late access
		}
		r.live = false
		wc.InvalidatedRKey = s.wr.InvalidateRKey
	}
	for again := m.Copy; ; again = false {
		recv := p.port.rq[0]
		p.port.rq = p.port.rq[1:]
		if most := room(&recv); len(m.Bytes) > most {
			e.w.fail("%v sends %d bytes to a Receive of %d", e.name, len(m.Bytes), most)
			return false
		}
		if wc.WRID = recv.WRID; recv.Lend > 0 {
			wc.Loan = p.mem.lend(m.Bytes)
		} else {
			copy(local(&recv.SGL[0]), m.Bytes)
		}
		p.complete(wc)
		if !again || len(p.port.rq) == 0 {
			return true
		}
	}
}

// room returns the size of a Receive.
func room(wr *verbs.RecvWR) int {
	if wr.Lend > 0 {
		return wr.Lend
	}
	return wr.SGL[0].Length
}

// clean asserts that sent bytes were written before.
func (w *world) clean(b []byte) {
	if bytes.Contains(b, stale) {
		w.fail("bytes are sent that were never written")
	}
}

// stale is found in memory that was never written.
var stale = bytes.Repeat([]byte{poison}, 8)

// complete schedules a completion. An end polls its completions in order. While the engine does not
// wait for completions of the send queue, they are polled only together with others.
func (e *end) complete(wc verbs.WC) {
	if wc.Opcode != verbs.WCRecv && !e.port.await && len(e.port.wcs) == 0 {
		e.port.unpolled = append(e.port.unpolled, wc)
		return
	}
	d := e.w.soon()
	if e.w.chance(LateWC) {
		d += time.Duration(e.w.rng.IntN(int(chainTimeout / 8)))
	}
	e.port.lastWC = max(e.port.lastWC, e.w.now+d)
	e.port.wcs = append(e.port.wcs, wc)
	e.w.after(e.port.lastWC-e.w.now, e.name+" polls", e.poll)
}

// poll passes the engine a random number of the oldest completions, at least one.
func (e *end) poll() {
	if e.gone || len(e.port.wcs)+len(e.port.unpolled) == 0 {
		return
	}
	n, list := 0, e.port.look()
	if len(e.port.wcs) > 0 {
		n = 1 + e.w.rng.IntN(len(e.port.wcs))
	}
	for _, wc := range e.port.wcs[:n] {
		if wc.Opcode == verbs.WCRecv && wc.Status == verbs.StatusSuccess {
			e.hear()
			if m := e.peer.parse(e.port.received(&wc)); m.vers == 2 {
				e.account2.receive(m)
			} else {
				e.account.receive(m)
			}
		}
		list = append(list, engine.Event{Kind: engine.EventCompletion, WC: &wc})
	}
	e.port.wcs = e.port.wcs[n:]
	if len(e.port.wcs) > 0 {
		e.w.after(e.w.soon(), e.name+" polls", e.poll)
	}
	e.step(list...)
}

// endBy breaks or closes the connection, as the fault says.
func (l *link) endBy(f Fault) {
	switch f {
	case Break:
		l.breakNow()
	case CloseClient:
		l.ends[0].step(engine.Event{Kind: engine.EventClose, Err: errClosed})
	case CloseServer:
		l.ends[1].step(engine.Event{Kind: engine.EventClose, Err: errClosed})
	case Vanish:
		l.vanish()
	}
}

// peerTimeout is the longest time in which a provider notices that its peer has vanished.
const peerTimeout = 30 * time.Second

// vanish makes the network carry nothing any more. Each end notices soon or late.
func (l *link) vanish() {
	if l.broken {
		return
	}
	l.broken, l.swallows = true, l.w.rng.IntN(2) == 0
	for _, e := range l.ends {
		d := l.w.soon()
		if l.w.rng.IntN(3) > 0 {
			d = time.Duration(l.w.rng.Int64N(int64(peerTimeout)))
		}
		l.w.after(d, e.name+" notices", func() {
			if !e.gone && !l.w.cfg.Bugs.Deaf {
				e.step(engine.Event{Kind: engine.EventBroken, Err: errBroken})
			}
		})
	}
}

var errClosed = errors.New("sim: closed by this side")

// breakNow breaks the connection and notifies both ends, each after a while.
func (l *link) breakNow() {
	if l.broken {
		return
	}
	l.broken = true
	for _, e := range l.ends {
		if e.gone {
			continue
		}
		status := verbs.StatusFlushed
		for i := range e.port.sq { // as with verbs: by flushed requests
			if e.w.rng.IntN(2) == 0 && e.port.sq[i].wr.Flags&verbs.SendSignaled != 0 {
				e.complete(verbs.WC{WRID: e.port.sq[i].wr.WRID, Status: status})
				if e.w.cfg.Bugs.Unflushed {
					status = verbs.StatusSuccess
				}
			}
		}
		e.w.after(e.w.soon(), e.name+" is lost", func() {
			e.step(engine.Event{Kind: engine.EventBroken, Err: errBroken})
		})
	}
}

// hear records that a message has arrived. The first one allows the server to make Calls.
func (e *end) hear() {
	if e.heard {
		return
	}
	e.heard = true
	if w := e.w; w.versions.mixed && e.i == 1 {
		w.resume(1)
	}
}
