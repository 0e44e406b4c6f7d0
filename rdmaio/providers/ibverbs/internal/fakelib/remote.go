//go:build linux

package fakelib

import (
	"hash/crc32"
	"time"

	"github.com/rpcrdma/rpcrdma/rdmaio/providers/ibverbs/internal/abi"
)

// region returns the region with a local key, if the element lies in it and it has the rights.
func (q *qp) region(s abi.SGE, rights abi.Access) *mr {
	m, ok := q.pd.keys[s.LKey>>8].(*mr)
	if !ok || m.local != s.LKey || m.invalid || m.access&rights != rights || !within(s.Addr, int(s.Length), m.addr, m.size) {
		return nil
	}
	return m
}

// local reports whether the queue pair may use an element.
func (q *qp) local(s abi.SGE, rights abi.Access) bool {
	return s.Length == 0 || q.region(s, rights) != nil
}

// within reports whether n bytes at addr are inside size bytes at start.
func within(addr uintptr, n int, start uintptr, size int) bool {
	return addr >= start && n <= size && addr-start <= uintptr(size-n)
}

// remote returns the region that the peer of q may reach by a key.
func (q *qp) remote(key uint32, addr uint64, n int, right abi.Access) *mr {
	switch o := q.pd.keys[key>>8].(type) {
	case *mr:
		if o.key == key && !o.invalid && o.access&right != 0 && within(uintptr(addr), n, o.addr, o.size) {
			return o
		}
	case *mw:
		if o.mr == nil {
			return nil
		}
		start, size := o.addr, o.size
		if q.dev.quirks.WindowsUnbounded {
			start, size = o.mr.addr, o.mr.size
		}
		if o.key == key && o.qp == q && o.access&right != 0 && within(uintptr(addr), n, start, size) {
			return o.mr
		}
	}
	return nil
}

// invalidate executes a local invalidation.
func (q *qp) invalidate(key uint32) abi.Status {
	refused := abi.StatusMWBind
	if q.dev.quirks.OddStatuses {
		refused = abi.StatusLocQPOp
	}
	switch o := q.pd.keys[key>>8].(type) {
	case *mr:
		if o.key != key || o.invalid || q.dev.quirks.LocalInvalidateBreaks {
			return refused
		}
		o.invalid = true
	case *mw:
		if o.key == key && o.qp == nil {
			q.dev.net.misuse("a local invalidation names window %#x, which was never bound: the driver rxe stops the kernel", key)
		}
		if o.key != key || o.qp != q || o.mr == nil && q.dev.quirks.InvalidateOnce {
			return refused
		}
		o.free()
	default:
		return refused
	}
	return abi.StatusSuccess
}

// bind executes the bind of a window.
func (q *qp) bind(r *sendReq) abi.Status {
	n, b := q.dev.net, r.wr.Bind
	w, okWindow := n.objects[b.MW].(*mw)
	m, okRegion := n.objects[b.MR].(*mr)
	switch {
	case !okWindow || !okRegion, w.pd != q.pd, m.pd != q.pd, m.invalid:
	case w.mr != nil: // it must be invalidated first
	case r.mwKey != w.key, b.RKey>>8 != w.key>>8, b.RKey == w.key:
	case m.access&abi.MWBind == 0, b.Access&abi.RemoteWrite != 0 && m.access&abi.LocalWrite == 0:
	case b.Length == 0 || b.Length > uint64(m.size) || !within(uintptr(b.Addr), int(b.Length), m.addr, m.size):
	default:
		w.key, w.mr, w.qp, w.addr, w.size, w.access = b.RKey, m, q, uintptr(b.Addr), int(b.Length), b.Access
		m.windows++
		return abi.StatusSuccess
	}
	return abi.StatusMWBind
}

// gather returns the bytes of a Send or Write.
func (q *qp) gather(r *sendReq) ([]byte, abi.Status) {
	data := r.data
	for _, s := range r.sges {
		if !q.local(s, 0) {
			return nil, abi.StatusLocProt
		}
		if s.Length > 0 {
			data = append(data, abi.At(s.Addr, int(s.Length))...)
		}
	}
	if r.sges != nil && r.wr.Flags&abi.Fence == 0 && crc32.ChecksumIEEE(data) != r.sum {
		q.dev.net.misuse("the memory of request %#x of queue pair %d has changed between post and execution", r.wr.ID, q.num)
	}
	if len(data) > int(q.dev.port.MaxMessage) {
		return nil, abi.StatusLocLen
	}
	return data, abi.StatusSuccess
}

// scatter copies data to the elements of a list, as far as it fits.
func scatter(sges []abi.SGE, data []byte) {
	for _, s := range sges {
		if s.Length > 0 && len(data) > 0 {
			data = data[copy(abi.At(s.Addr, int(s.Length)), data):]
		}
	}
}

func total(sges []abi.SGE) int {
	n := 0
	for _, s := range sges {
		n += int(s.Length)
	}
	return n
}

// refused makes a request fail because the peer refuses it. The peer fails with an event.
func (q *qp) refused(r *sendReq, s abi.Status, event abi.AsyncType) {
	r.finish(s)
	r.ends, r.event = endsPeer, event
}

// send executes a Send. It returns false if the peer has no Receive yet.
func (q *qp) send(r *sendReq, p *qp) bool {
	data, s := q.gather(r)
	if s != abi.StatusSuccess {
		r.finish(s)
		return true
	}
	if len(p.rq) == 0 {
		return q.notReady(r)
	}
	q.stopTimer()
	key := r.wr.Invalidate
	if q.dev.quirks.InvalidateInRKey {
		key = r.wr.RKey
	}
	if r.wr.Opcode == abi.OpSendInv && !p.mayInvalidate(key) {
		q.refused(r, abi.StatusRemAccess, abi.AsyncQPAccessErr)
		return true
	}
	sink := p.rq[0].sges
	if len(data) > total(sink) {
		theirs, ours := abi.StatusLocLen, abi.StatusRemInvReq
		if q.dev.quirks.OddStatuses {
			ours = abi.StatusRemOp
		}
		if p.dev.quirks.OddStatuses {
			theirs = abi.StatusGeneral
		}
		q.refused(r, ours, abi.AsyncQPReqErr)
		p.receive(abi.WC{Status: theirs}, false)
		return true
	}
	for _, e := range sink {
		if !p.local(e, abi.LocalWrite) {
			q.refused(r, abi.StatusRemOp, noEvent)
			p.receive(abi.WC{Status: abi.StatusLocProt}, false)
			return true
		}
	}
	scatter(sink, data)
	r.finish(abi.StatusSuccess)
	// Without the flag the field has what a completion before had there.
	wc := abi.WC{Opcode: abi.WCRecv, ByteLen: uint32(len(data)), InvalidatedKey: 0xa5a5a5}
	if r.wr.Opcode == abi.OpSendInv {
		p.invalidated(key, &wc)
	}
	p.receive(wc, r.wr.Flags&abi.Solicited != 0)
	return true
}

// notReady handles a Send to a peer without a Receive.
func (q *qp) notReady(r *sendReq) bool {
	switch {
	case q.dev.quirks.NoRNR:
		r.finish(abi.StatusSuccess)
		r.ends, r.event = endsPeer, abi.AsyncQPReqErr
		return true
	case q.rnrRetry == 0:
		r.finish(abi.StatusRNRRetryExc)
		return true
	case q.rnrRetry < 7:
		q.wait(r, abi.StatusRNRRetryExc, time.Duration(q.rnrRetry)*q.dev.net.opts.RNRTime)
	}
	return false
}

// mayInvalidate reports whether the peer's Send may invalidate a key.
func (q *qp) mayInvalidate(key uint32) bool {
	switch o := q.pd.keys[key>>8].(type) {
	case *mr:
		return o.key == key && !o.invalid
	case *mw:
		return o.key == key && o.qp == q && o.mr != nil
	}
	return false
}

// invalidated invalidates a key for the peer's Send, and puts that in the completion of the
// Receive.
func (q *qp) invalidated(key uint32, wc *abi.WC) {
	switch o := q.pd.keys[key>>8].(type) {
	case *mr:
		if q.dev.quirks.RemoteInvalidateBreaks {
			*wc = abi.WC{Status: abi.StatusRemInvReq}
			return
		}
		o.invalid = true
	case *mw:
		o.free()
	}
	switch {
	case q.dev.quirks.UnreportedInvalidate:
	case q.dev.quirks.KernelWithInv:
		wc.InvalidatedKey, wc.Flags = key, abi.KernelWithInv
	default:
		wc.InvalidatedKey, wc.Flags = key, abi.WithInv
	}
}

// receive completes the oldest Receive. If that fails, so does the queue pair.
func (q *qp) receive(wc abi.WC, solicited bool) {
	r := q.rq[0]
	q.rq = q.rq[1:]
	q.restore(r, int(wc.ByteLen))
	wc.ID, wc.QPNum = r.wr.ID, q.num
	status := wc.Status
	wc.Status = q.shown(status)
	q.rcq.push(entry{wc: wc, qp: q, seq: r.seq, recv: true}, solicited)
	if status != abi.StatusSuccess {
		q.end(q.eventOf(status))
	}
}

// write executes a Write.
func (q *qp) write(r *sendReq, p *qp) {
	data, s := q.gather(r)
	switch {
	case s != abi.StatusSuccess:
		r.finish(s)
	case len(data) > 0 && p.remote(r.wr.RKey, r.wr.RemoteAddr, len(data), abi.RemoteWrite) == nil:
		q.refused(r, abi.StatusRemAccess, abi.AsyncQPAccessErr)
	default:
		if len(data) > 0 {
			copy(abi.At(uintptr(r.wr.RemoteAddr), len(data)), data)
		}
		r.finish(abi.StatusSuccess)
	}
}

// sink reports whether the elements can be the sink of a Read.
func (q *qp) sink(sges []abi.SGE) bool {
	rights := abi.LocalWrite
	if q.dev.quirks.SinkNeedsRemoteWrite {
		rights |= abi.RemoteWrite
	}
	for _, s := range sges {
		if !q.local(s, rights) {
			return false
		}
	}
	return true
}

// read starts a Read.
func (q *qp) read(r *sendReq, p *qp) {
	n := total(r.sges)
	if !q.sink(r.sges) {
		r.finish(abi.StatusLocProt)
		return
	}
	if n > int(q.dev.port.MaxMessage) {
		r.finish(abi.StatusLocLen)
		return
	}
	if n > 0 {
		if r.from = p.remote(r.wr.RKey, r.wr.RemoteAddr, n, abi.RemoteRead); r.from == nil {
			q.refused(r, abi.StatusRemAccess, abi.AsyncQPAccessErr)
			return
		}
	}
	if p.dev.quirks.DeregLeavesReads {
		r.sending = true
		net := q.dev.net
		time.AfterFunc(readDelay, func() {
			net.mu.Lock()
			defer net.mu.Unlock()
			r.sending = false
			q.kick()
		})
	}
}

// serveReads sends the Read Responses that q waits for, in order. It reports whether there were
// any.
func (q *qp) serveReads() (served bool) {
	for _, r := range q.sq[:q.next] {
		if r.done {
			continue
		}
		p := q.peer
		if !q.reaches(p) {
			q.wait(r, abi.StatusRetryExc, q.dev.net.opts.RetryTime)
			return served
		}
		if r.sending || p.dev.holdReads {
			return served
		}
		n := total(r.sges)
		if !q.sink(r.sges) {
			r.finish(abi.StatusLocProt)
			return served
		}
		if n > 0 {
			scatter(r.sges, abi.At(uintptr(r.wr.RemoteAddr), n))
		}
		r.length = uint32(n)
		r.finish(abi.StatusSuccess)
		served = true
	}
	return served
}
