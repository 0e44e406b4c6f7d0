//go:build linux

package fakelib

import (
	"time"

	"github.com/rpcrdma/rpcrdma/rdmaio/providers/ibverbs/internal/abi"
)

// readDelay is the time in which a device with the quirk DeregLeavesReads sends a Read Response.
const readDelay = 200 * time.Microsecond

// noEvent is the absence of an asynchronous event.
const noEvent abi.AsyncType = 0xffff

// kick makes the Net's goroutine execute what it can of the queue pair. The Net is locked, here
// and in all functions below.
func (q *qp) kick() {
	n := q.dev.net
	n.ready = append(n.ready, q)
	if !n.running {
		n.running = true
		go n.run()
	}
}

// run executes requests until there is nothing to do.
func (n *Net) run() {
	n.mu.Lock()
	defer n.mu.Unlock()
	for len(n.ready) > 0 {
		q := n.ready[0]
		n.ready = n.ready[1:]
		q.step()
		n.changed.Broadcast()
		n.mu.Unlock()
		n.mu.Lock()
	}
	n.running = false
	n.changed.Broadcast()
}

// step executes what it can of a queue pair.
func (q *qp) step() {
	if q.dead || q.dev.stalled {
		return
	}
	for again := true; again && q.state == abi.QPRTS; {
		for q.next < len(q.sq) {
			r := q.sq[q.next]
			if q.next > 0 && q.sq[q.next-1].last() || !q.start(r) {
				break
			}
			q.next++
		}
		again = q.serveReads() // a fenced request may begin then
		q.complete()
	}
	if q.state == abi.QPErr && q.flushing.begun(q) {
		q.flush()
	}
}

// last reports whether no later request is executed.
func (r *sendReq) last() bool { return r.failed() || r.ends != endsNothing }

func (r *sendReq) failed() bool { return r.done && r.status != abi.StatusSuccess }

// startLocal executes requests that need no peer, if no request precedes them. A device does so at
// once, and peers that learn a key in other ways than through this queue pair depend on it.
func (q *qp) startLocal() {
	for q.state == abi.QPRTS && !q.dev.stalled && q.next < len(q.sq) {
		r := q.sq[q.next]
		if op := r.wr.Opcode; op != abi.OpBindMW && op != abi.OpLocalInv || q.next > 0 && q.sq[q.next-1].last() || !q.start(r) {
			return
		}
		q.next++
	}
}

func (r *sendReq) finish(s abi.Status) { r.done, r.status = true, s }

// reads returns the number of Reads that are outstanding.
func (q *qp) reads() int {
	n := 0
	for _, r := range q.sq[:q.next] {
		if !r.done {
			n++
		}
	}
	return n
}

// start executes a request, or starts a Read. It returns false if the request has to wait.
func (q *qp) start(r *sendReq) bool {
	if r.wr.Flags&abi.Fence != 0 && q.reads() > 0 {
		return false
	}
	switch r.wr.Opcode {
	case abi.OpLocalInv:
		r.finish(q.invalidate(r.wr.Invalidate))
		return true
	case abi.OpBindMW:
		r.finish(q.bind(r))
		return true
	case abi.OpRead:
		if q.initiator == 0 {
			r.finish(abi.StatusLocQPOp)
			return true
		}
		if q.reads() >= q.initiator {
			return false
		}
		if len(r.sges) == 0 && q.dev.quirks.NoEmptyReads { // it has an older element
			r.finish(abi.StatusRemAccess)
			return true
		}
	}
	if !q.reaches(q.peer) {
		q.wait(r, abi.StatusRetryExc, q.dev.net.opts.RetryTime)
		return false
	}
	if id := q.peer.id; id != nil {
		if !r.counted {
			r.counted = true
			id.arrived += messageSize
		}
		if id.brittle != nil {
			id.spoil()
			return false
		}
	}
	if q.opening == deaf {
		q.opening = reading
	}
	if q.peer.opening != reading {
		if q.sq[len(q.sq)-1] == r {
			q.peer.opening = holding
			return false
		}
		q.peer.opening = reading
	}
	q.heard, q.peer.heard = time.Now(), time.Now()
	switch r.wr.Opcode {
	case abi.OpSend, abi.OpSendInv:
		return q.send(r, q.peer)
	case abi.OpWrite:
		q.write(r, q.peer)
	case abi.OpRead:
		q.read(r, q.peer)
	}
	q.stopTimer()
	return true
}

// reaches reports whether messages reach the peer.
func (q *qp) reaches(p *qp) bool {
	return p != nil && !p.dead && p.dev.up() && q.dev.up() && (p.state == abi.QPRTR || p.state == abi.QPRTS)
}

func (d *Device) up() bool { return !d.silent && !d.removed }

// wait fails a request with a status after a time, unless another one waits already.
func (q *qp) wait(r *sendReq, s abi.Status, d time.Duration) {
	if q.timer != nil {
		return
	}
	n := q.dev.net
	var t *time.Timer
	t = time.AfterFunc(d, func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		if q.dead || q.timer != t || q.state != abi.QPRTS || r.done {
			return
		}
		q.timer = nil
		r.finish(s)
		if q.next < len(q.sq) && q.sq[q.next] == r {
			q.next++
		}
		q.kick()
	})
	q.timer = t
}

func (q *qp) stopTimer() {
	if q.timer != nil {
		q.timer.Stop()
		q.timer = nil
	}
}

// complete makes the completions of requests that have a status, in the order of the posts.
func (q *qp) complete() {
	early := q.dev.quirks.UnorderedReads
	for i := 0; i < q.next; {
		r := q.sq[i]
		if !r.done || i > 0 && r.failed() {
			if !early {
				return
			}
			i++
			continue
		}
		q.sq = append(q.sq[:i:i], q.sq[i+1:]...)
		q.next--
		if r.status != abi.StatusSuccess {
			q.push(r, q.shown(r.status))
			q.fail(r)
			return
		}
		if r.wr.Flags&abi.Signaled != 0 || q.attr.SignalAll {
			q.push(r, r.status)
		}
		if r.ends != endsNothing {
			q.fail(r)
			return
		}
	}
}

// push makes the completion of a request.
func (q *qp) push(r *sendReq, s abi.Status) {
	wc := abi.WC{ID: r.wr.ID, Status: s, QPNum: q.num}
	if s != abi.StatusSuccess {
		// Only these fields are valid: the others have a value that the caller may not use.
		wc.Opcode, wc.ByteLen, wc.VendorErr = abi.WCRecv, 0xa5a5a5, 0xfa
	} else {
		switch r.wr.Opcode {
		case abi.OpWrite:
			wc.Opcode = abi.WCWrite
		case abi.OpRead:
			wc.Opcode, wc.ByteLen = abi.WCRead, r.length
		case abi.OpLocalInv:
			wc.Opcode = abi.WCLocalInv
		case abi.OpBindMW:
			wc.Opcode = abi.WCBindMW
		}
	}
	q.scq.push(entry{wc: wc, qp: q, seq: r.seq}, false)
}

// shown returns the status that a completion shows in place of s.
func (q *qp) shown(s abi.Status) abi.Status {
	if q.dev.quirks.LateCause && s != abi.StatusSuccess {
		return abi.StatusFlushed
	}
	return s
}

// eventOf returns the asynchronous event of a request that failed with a status.
func (q *qp) eventOf(s abi.Status) abi.AsyncType {
	switch {
	case !q.dev.quirks.LateCause:
		return noEvent
	case s == abi.StatusRemAccess, s == abi.StatusLocProt, s == abi.StatusLocAccess:
		return abi.AsyncQPAccessErr
	case s == abi.StatusRetryExc, s == abi.StatusRNRRetryExc:
		return abi.AsyncQPFatal
	}
	return abi.AsyncQPReqErr
}

// fail ends both queue pairs as a request says that has failed.
func (q *qp) fail(r *sendReq) {
	q.flushing.failed = r.failed()
	q.enter(q.eventOf(r.status))
	p := q.peer
	if r.ends == endsPeer && p != nil && !p.dead && p.dev.up() {
		p.enter(r.event)
	}
	q.terminate()
}

// end moves the queue pair to QPErr, with an asynchronous event or noEvent.
func (q *qp) end(event abi.AsyncType) {
	q.enter(event)
	q.terminate()
}

// terminate moves the peer's queue pair to QPErr if the transport is iWARP, whose connection is
// closed when one end fails. Over InfiniBand the peer notices nothing.
func (q *qp) terminate() {
	if p := q.peer; q.dev.transport == abi.TransportIWARP && q.id != nil && q.reaches(p) {
		p.enter(noEvent)
	}
}

// enter moves the queue pair to QPErr. Over iWARP its connection is closed.
func (q *qp) enter(event abi.AsyncType) {
	if q.state == abi.QPErr {
		return
	}
	q.state = abi.QPErr
	q.stopTimer()
	m := q.dev.quirks
	if event != noEvent && !m.CauseNever && !m.CauseDelayed && !m.CauseAfterEnd {
		q.event(event)
	}
	var gone *cmEvent
	if q.dev.transport == abi.TransportIWARP && q.id != nil {
		gone = q.id.disconnected(0)
	}
	switch {
	case event == noEvent, m.CauseNever:
	case m.CauseDelayed:
		n := q.dev.net
		time.AfterFunc(n.opts.CauseTime, func() {
			n.mu.Lock()
			defer n.mu.Unlock()
			q.event(event)
		})
	case m.CauseAfterEnd && gone != nil:
		gone.then = func() { q.event(event) }
	case m.CauseAfterEnd:
		q.event(event)
	}
	q.kick()
}

// event adds an asynchronous event of the queue pair.
func (q *qp) event(e abi.AsyncType) {
	if !q.dead {
		q.dev.async.add(abi.AsyncEvent{Element: abi.Addr(q.mem), Type: e})
		if q.dev.manners.StrayEvents {
			q.dev.async.add(abi.AsyncEvent{Element: abi.Addr(q.mem), Type: e})
		}
	}
}

// flush completes all requests of a queue pair in QPErr.
func (q *qp) flush() {
	if q.dev.manners.ReceivesFirst {
		q.flushing.receives(q)
	}
	q.flushing.sends(q)
	q.flushing.receives(q)
}

func (f *flushing) sends(q *qp) {
	flushed := f.failed
	for len(q.sq) > 0 {
		if f.unflushed < q.dev.quirks.MaxUnflushed && len(q.sq) <= q.dev.quirks.MaxUnflushed-f.unflushed {
			f.unflushed += len(q.sq)
			break
		}
		r := q.sq[0]
		q.sq = q.sq[1:]
		if !r.done || flushed || r.failed() {
			flushed = true
			q.push(r, abi.StatusFlushed)
		} else if r.wr.Flags&abi.Signaled != 0 || q.attr.SignalAll {
			q.push(r, r.status)
		}
	}
	q.sq, q.next = nil, 0
}

func (f *flushing) receives(q *qp) {
	for _, r := range q.rq {
		wc := abi.WC{ID: r.wr.ID, Status: abi.StatusFlushed, QPNum: q.num, ByteLen: 0xa5a5a5, Opcode: abi.WCSend}
		q.restore(r, 0)
		q.rcq.push(entry{wc: wc, qp: q, seq: r.seq, recv: true}, false)
	}
	q.rq = nil
}
