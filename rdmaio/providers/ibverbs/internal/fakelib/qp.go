//go:build linux

package fakelib

import (
	"hash/crc32"
	"syscall"
	"time"

	"github.com/rpcrdma/rpcrdma/rdmaio/providers/ibverbs/internal/abi"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/ibverbs/internal/lib"
)

// opening says what happens to the first message of an initiator (Quirks.UnreadFirst).
type opening uint8

const (
	reading opening = iota // messages arrive
	deaf                   // the next message will lie unread until more comes
	holding                // a message lies unread
)

// qp is a queue pair. Its states have the names of libibverbs:
//
//	QPReset -> QPInit -> QPRTR -> QPRTS -> QPErr
//
// iWARP devices skip QPInit if the caller does not set it.
type qp struct {
	dev            *Device
	pd             *pd
	mem            []byte
	num            uint32
	scq, rcq       *cq
	attr           abi.QPInitAttr
	memory         queueMemory
	state          abi.QPState
	dead           bool
	opening        opening
	flushing       flushing
	unacked        int // asynchronous events
	peer           *qp
	id             *cmID       // that has connected it
	rnrRetry       int         // attempts of a Send to a peer without a Receive; 7 means no limit
	timer          *time.Timer // of the request that waits for the peer
	initiator      int         // Reads that may be outstanding
	heard          time.Time   // of the last message or acknowledgment of the peer
	sent, received counter

	sq   []*sendReq // that have no completion yet, oldest first
	next int        // the first one of sq that was not started
	rq   []*recvReq
}

// queueMemory is the memory of both queues.
type queueMemory struct {
	locked int // bytes
	sq, rq mapping
}

// counter counts the entries of a queue that are in use: all after the last one whose completion
// was polled.
type counter struct{ posted, released uint64 }

func (c *counter) used() int { return int(c.posted - c.released) }

// ends is an object that fails with a request.
type ends uint8

const (
	endsNothing ends = iota
	endsPeer         // also the peer's queue pair
)

// sendReq is a request of the send queue.
type sendReq struct {
	seq     uint64
	wr      abi.SendWR
	sges    []abi.SGE
	data    []byte // copied by an inline post
	sum     uint32 // of a Send's or Write's memory when it was posted
	mwKey   uint32 // that ibv_mw had when the bind was posted
	done    bool   // it has a status
	counted bool   // its bytes have reached the peer
	status  abi.Status
	length  uint32
	from    *mr  // the region of a Read that is being served
	sending bool // a Read Response takes time
	ends    ends
	event   abi.AsyncType // of the peer, if it ends
}

type recvReq struct {
	seq  uint64
	wr   abi.RecvWR
	sges []abi.SGE
	old  [][]byte // bytes of each element before the post
}

// restore restores the old bytes in a Receive's memory, except for the first n.
func (q *qp) restore(r *recvReq, n int) {
	for i, s := range r.sges {
		if old := r.old[i]; n < len(old) && q.local(s, abi.LocalWrite) {
			copy(abi.At(s.Addr, int(s.Length))[n:], old[n:])
		}
		n = max(0, n-int(s.Length))
	}
}

// CreateQP implements lib.Lib.
func (h *libibverbs) CreateQP(handle lib.PD, attr *abi.QPInitAttr) (lib.QP, error) {
	const fn = "ibv_create_qp"
	n := h.net
	n.mu.Lock()
	defer n.mu.Unlock()
	p, err := h.domain(fn, handle)
	if err != nil {
		return 0, err
	}
	d := p.dev
	if d.quirks.NoConnections {
		return 0, fail(fn, syscall.EOPNOTSUPP)
	}
	scq, err := find[*cq](n, fn, attr.SendCQ)
	if err != nil {
		return 0, err
	}
	rcq, err := find[*cq](n, fn, attr.RecvCQ)
	if err != nil {
		return 0, err
	}
	if scq.dev != d || rcq.dev != d || attr.MaxSendWR < 0 || attr.MaxRecvWR < 0 || attr.MaxSendWR > d.attr.MaxQPWR ||
		attr.MaxRecvWR > d.attr.MaxQPWR || attr.MaxSendSGE > d.attr.MaxSGE || attr.MaxRecvSGE > d.attr.MaxSGE || attr.MaxInline > 512 {
		return 0, fail(fn, syscall.EINVAL)
	}
	q := &qp{dev: d, pd: p, scq: scq, rcq: rcq, attr: *attr, memory: queueMemory{locked: d.pinned(qpBytes(attr))}}
	if d.manners.SignalsAll {
		q.attr.SignalAll = true
	}
	q.attr.MaxSendWR, q.attr.MaxRecvWR = d.larger(attr.MaxSendWR), d.larger(attr.MaxRecvWR)
	if err := h.lock(fn, q.memory.locked); err != nil {
		return 0, err
	}
	if q.memory.sq, err = d.mapQueue(fn, attr.MaxSendWR, sqeSize, 0); err == nil {
		q.memory.rq, err = d.mapQueue(fn, attr.MaxRecvWR, rqeSize, 0)
	}
	if err != nil {
		d.mapped.give(q.memory.sq)
		h.locked -= q.memory.locked
		return 0, err
	}
	n.lastQP++
	q.num = n.lastQP
	p.uses++
	scq.uses++
	rcq.uses++
	q.mem = n.add(q)
	abi.PutQP(q.mem, q.num)
	*attr = q.attr
	return lib.QP(abi.Addr(q.mem)), nil
}

// ModifyQP implements lib.Lib. The connection manager sets the states QPRTR and QPRTS.
func (h *libibverbs) ModifyQP(handle lib.QP, attr abi.QPAttr, mask abi.QPMask) error {
	const fn = "ibv_modify_qp"
	h.net.mu.Lock()
	defer h.net.mu.Unlock()
	if err := h.refuse(fn); err != nil {
		return err
	}
	q, err := find[*qp](h.net, fn, uintptr(handle))
	if err != nil {
		return err
	}
	if mask&abi.MaskState == 0 {
		return nil
	}
	switch {
	case attr.State == abi.QPErr:
		q.end(noEvent)
	case attr.State == abi.QPInit && q.state <= abi.QPInit:
		need := abi.MaskPort | abi.MaskPKey | abi.MaskAccess
		if q.dev.transport == abi.TransportIB && (mask&need != need || attr.Port != 1) {
			return fail(fn, syscall.EINVAL)
		}
		q.state = abi.QPInit
	default:
		return fail(fn, syscall.EINVAL)
	}
	return nil
}

// DestroyQP implements lib.Lib. Completions that were not polled are lost.
func (h *libibverbs) DestroyQP(handle lib.QP) error {
	const fn = "ibv_destroy_qp"
	n := h.net
	n.mu.Lock()
	defer n.mu.Unlock()
	if err := h.refuse(fn); err != nil {
		return err
	}
	q, err := find[*qp](n, fn, uintptr(handle))
	if err != nil {
		return err
	}
	q.dead = true
	q.stopTimer()
	q.dev.async.drop(abi.Addr(q.mem))
	n.waitAcks(fn, "asynchronous events of the queue pair are not acknowledged", func() bool { return q.unacked == 0 })
	for _, o := range n.objects {
		switch o := o.(type) {
		case *mw:
			if o.qp == q && o.mr != nil {
				n.misuse("%s hangs: window %#x is bound to the queue pair, deallocate it first", fn, o.key)
				o.free()
			}
		case *cmID:
			if o.qp == q {
				o.qp = nil
			}
		}
	}
	q.sq, q.rq = nil, nil
	for _, c := range []*cq{q.scq, q.rcq} {
		var kept []entry
		for _, e := range c.queue {
			if e.qp != q {
				kept = append(kept, e)
			}
		}
		c.queue = kept
		c.uses--
	}
	if q.peer != nil {
		q.peer.kick()
	}
	q.pd.uses--
	h.locked -= q.memory.locked
	q.dev.mapped.give(q.memory.sq)
	q.dev.mapped.give(q.memory.rq)
	n.remove(q.mem)
	return nil
}

// polled releases the entries of a request whose completion was polled, and those before them.
func (q *qp) polled(e entry) {
	c := &q.sent
	if e.recv {
		c = &q.received
	}
	c.released = max(c.released, e.seq)
}

// sgl reads the elements of a list.
func sgl(addr uintptr, n uint32) []abi.SGE {
	if n == 0 {
		return nil
	}
	b := abi.At(addr, int(n)*abi.SGESize)
	list := make([]abi.SGE, n)
	for i := range list {
		list[i] = abi.GetSGE(b[i*abi.SGESize:])
	}
	return list
}

// PostSend implements lib.Lib.
func (h *libibverbs) PostSend(handle lib.QP, first uintptr) (uintptr, error) {
	n := h.net
	n.mu.Lock()
	defer n.mu.Unlock()
	q, err := find[*qp](n, "ibv_post_send", uintptr(handle))
	if err != nil {
		return first, syscall.EINVAL
	}
	defer q.kick()
	defer q.startLocal()
	for p := first; p != 0; {
		w := abi.GetSendWR(abi.At(p, abi.SendWRSize))
		if errno := q.postSend(w); errno != 0 {
			return p, errno
		}
		p = w.Next
	}
	return 0, nil
}

func (q *qp) postSend(w abi.SendWR) syscall.Errno {
	switch {
	case q.dev.removed:
		return syscall.EIO
	case q.state != abi.QPRTS && q.state != abi.QPErr:
		return syscall.EINVAL
	case q.state == abi.QPErr && q.dev.manners.RefusesFlush:
		return syscall.EINVAL
	case q.sent.used() >= q.attr.MaxSendWR:
		return syscall.ENOMEM
	case int(w.NumSGE) > q.attr.MaxSendSGE:
		return syscall.EINVAL
	case w.Opcode == abi.OpLocalInv && q.dev.quirks.NoLocalInvalidate:
		return syscall.EINVAL
	}
	r := &sendReq{wr: w, sges: sgl(w.SGL, w.NumSGE)}
	switch w.Opcode {
	case abi.OpWrite, abi.OpSend, abi.OpSendInv:
		if w.Flags&abi.Inline != 0 {
			for _, s := range r.sges {
				r.data = append(r.data, abi.At(s.Addr, int(s.Length))...)
			}
			if len(r.data) > q.attr.MaxInline {
				return syscall.EINVAL
			}
			r.sges = nil
		}
		if w.Flags&abi.Fence == 0 { // else a Read before it may change the memory
			r.sum = q.sum(r.sges)
		}
	case abi.OpRead:
		if len(r.sges) > q.dev.attr.MaxReadSGE {
			return syscall.EINVAL
		}
	case abi.OpBindMW:
		window, ok := q.dev.net.objects[w.Bind.MW].(*mw)
		if !ok || window.pd != q.pd {
			return syscall.EINVAL
		}
		r.mwKey = abi.MWKey(w.Bind.MW)
	case abi.OpLocalInv:
	default:
		return syscall.EINVAL
	}
	q.sent.posted++
	r.seq = q.sent.posted
	q.sq = append(q.sq, r)
	return 0
}

// sum returns a checksum of memory that the device may read, and 0 if it may not.
func (q *qp) sum(sges []abi.SGE) uint32 {
	var sum uint32
	for _, s := range sges {
		if q.local(s, 0) && s.Length > 0 {
			sum = crc32.Update(sum, crc32.IEEETable, abi.At(s.Addr, int(s.Length)))
		}
	}
	return sum
}

// PostRecv implements lib.Lib. It overwrites the memory until the Receive completes.
func (h *libibverbs) PostRecv(handle lib.QP, first uintptr) (uintptr, error) {
	n := h.net
	n.mu.Lock()
	defer n.mu.Unlock()
	q, err := find[*qp](n, "ibv_post_recv", uintptr(handle))
	if err != nil {
		return first, syscall.EINVAL
	}
	defer q.kick()
	if q.peer != nil {
		defer q.peer.kick()
	}
	for p := first; p != 0; {
		w := abi.GetRecvWR(abi.At(p, abi.RecvWRSize))
		if errno := q.postRecv(w); errno != 0 {
			return p, errno
		}
		p = w.Next
	}
	return 0, nil
}

func (q *qp) postRecv(w abi.RecvWR) syscall.Errno {
	switch {
	case q.dev.removed:
		return syscall.EIO
	case q.state == abi.QPReset && q.dev.transport == abi.TransportIB:
		return syscall.EINVAL
	case q.state == abi.QPErr && q.dev.manners.RefusesFlush:
		return syscall.EINVAL
	case q.received.used() >= q.attr.MaxRecvWR:
		return syscall.ENOMEM
	case int(w.NumSGE) > q.attr.MaxRecvSGE, w.NumSGE == 0 && q.dev.quirks.EmptySGE:
		return syscall.EINVAL
	}
	r := &recvReq{wr: w, sges: sgl(w.SGL, w.NumSGE)}
	for _, s := range r.sges {
		var old []byte
		if s.Length > 0 && q.local(s, abi.LocalWrite) {
			b := abi.At(s.Addr, int(s.Length))
			old = append(old, b...)
			fill(b, 0xa5)
		}
		r.old = append(r.old, old)
	}
	q.received.posted++
	r.seq = q.received.posted
	q.rq = append(q.rq, r)
	return 0
}
