package trace

import (
	"fmt"
	"sync/atomic"
	"time"

	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// completionQueue wraps a verbs.CompletionQueue.
type completionQueue struct {
	verbs.CompletionQueue
	dev *device
	num uint32
}

func (cq *completionQueue) Poll(wcs []verbs.WC) (int, error) {
	n, err := cq.CompletionQueue.Poll(wcs)
	for i, wc := range wcs[:n] {
		cq.dev.stream(wc.QPNum).complete(&wcs[i])
		cq.dev.emit(Event{
			Kind: Complete, CQ: cq.num, QP: wc.QPNum, WRID: wc.WRID, Status: wc.Status, WCOpcode: wc.Opcode,
			Length: int(wc.ByteLen), InvalidateRKey: wc.InvalidatedRKey,
			Head: cq.dev.receivesOf(wc.QPNum).complete(&wcs[i], cq.dev.t.cfg.Head),
		})
	}
	return n, err
}

func (cq *completionQueue) Arm(solicitedOnly bool) error {
	cq.dev.emit(Event{Kind: Arm, CQ: cq.num, Solicited: solicitedOnly})
	return cq.CompletionQueue.Arm(solicitedOnly)
}

func (cq *completionQueue) Close() error {
	err := cq.CompletionQueue.Close()
	cq.dev.emit(Event{Kind: CloseCQ, CQ: cq.num, Err: err})
	return err
}

// queuePair wraps a verbs.QueuePair.
type queuePair struct {
	verbs.QueuePair
	dev  *device
	made atomic.Bool // QueuePair is set: the notification may come before
	msgs *stream     // nil without a capture
}

func (qp *queuePair) lost() {
	e := Event{Kind: Lost}
	if qp.made.Load() {
		e.QP, e.Err = qp.Num(), qp.Err()
	}
	qp.dev.emit(e)
}

func (qp *queuePair) PostSend(wrs []verbs.SendWR) (int, error) {
	inner := make([]verbs.SendWR, len(wrs))
	for i := range wrs {
		inner[i] = wrs[i]
		inner[i].SGL = unwrapList(wrs[i].SGL)
		qp.dev.emit(qp.sendEvent(PostSend, &wrs[i]))
		qp.msgs.send(&wrs[i])
	}
	n, err := qp.QueuePair.PostSend(inner)
	for i := n; i < len(wrs); i++ {
		e := qp.sendEvent(RefuseSend, &wrs[i])
		if i == n {
			e.Err = err
		}
		qp.dev.emit(e)
	}
	return n, err
}

func (qp *queuePair) sendEvent(k Kind, wr *verbs.SendWR) Event {
	e := Event{Kind: k, QP: qp.Num(), WRID: wr.WRID, Opcode: wr.Opcode, Flags: wr.Flags}
	e.Length, e.Elements = listLen(wr.SGL), len(wr.SGL)
	if wr.Opcode == verbs.Send || wr.Opcode == verbs.SendWithInvalidate {
		e.Head = head(wr.SGL, qp.dev.t.cfg.Head)
	}
	switch wr.Opcode {
	case verbs.RDMAWrite, verbs.RDMARead:
		e.RKey, e.RemoteAddr = wr.RKey, wr.RemoteAddr
	case verbs.SendWithInvalidate, verbs.LocalInvalidate:
		e.InvalidateRKey = wr.InvalidateRKey
	}
	return e
}

func (qp *queuePair) PostRecv(wrs []verbs.RecvWR) (int, error) {
	recvs := qp.dev.receivesOf(qp.Num())
	inner := make([]verbs.RecvWR, len(wrs))
	for i := range wrs {
		inner[i] = verbs.RecvWR{WRID: wrs[i].WRID, SGL: unwrapList(wrs[i].SGL), Lend: wrs[i].Lend}
		qp.dev.emit(qp.recvEvent(PostRecv, &wrs[i]))
		qp.msgs.recv(&wrs[i])
		recvs.post(wrs[i].SGL)
	}
	n, err := qp.QueuePair.PostRecv(inner)
	qp.msgs.unrecv(len(wrs) - n)
	recvs.refuse(len(wrs) - n)
	for i := n; i < len(wrs); i++ {
		e := qp.recvEvent(RefuseRecv, &wrs[i])
		if i == n {
			e.Err = err
		}
		qp.dev.emit(e)
	}
	return n, err
}

func (qp *queuePair) recvEvent(k Kind, wr *verbs.RecvWR) Event {
	return Event{Kind: k, QP: qp.Num(), WRID: wr.WRID, Length: listLen(wr.SGL) + wr.Lend, Elements: len(wr.SGL)}
}

func (qp *queuePair) Disconnect() error {
	qp.dev.emit(Event{Kind: Disconnect, QP: qp.Num()})
	return qp.QueuePair.Disconnect()
}

// DisconnectFor implements verbs.ReasonDisconnecter. It returns verbs.ErrNotSupported if the
// wrapped queue pair does not.
func (qp *queuePair) DisconnectFor(reason verbs.DisconnectReason) error {
	d, ok := qp.QueuePair.(verbs.ReasonDisconnecter)
	if !ok {
		return verbs.ErrNotSupported
	}
	qp.dev.emit(Event{Kind: Disconnect, QP: qp.Num()})
	return d.DisconnectFor(reason)
}

// Probe implements verbs.Prober. It returns verbs.ErrNotSupported if the wrapped queue pair does
// not.
func (qp *queuePair) Probe(limit time.Duration) error { return verbs.Probe(qp.QueuePair, limit) }

// ChannelBinding implements verbs.ChannelBinder. It returns verbs.ErrNotSupported if the wrapped
// queue pair does not.
func (qp *queuePair) ChannelBinding() (verbs.ChannelBinding, error) {
	return verbs.BindingOf(qp.QueuePair)
}

// TLSState implements verbs.TLSStater. It returns verbs.ErrNotSupported if the wrapped queue pair
// does not.
func (qp *queuePair) TLSState() (verbs.TLSState, error) { return verbs.TLSStateOf(qp.QueuePair) }

// Progress implements verbs.Progresser. It returns at once if the wrapped queue pair does not.
func (qp *queuePair) Progress(done func() bool) { verbs.ProgresserOf(qp.QueuePair).Progress(done) }

// Wake implements verbs.Progresser.
func (qp *queuePair) Wake() { verbs.ProgresserOf(qp.QueuePair).Wake() }

// Resume implements verbs.Progresser.
func (qp *queuePair) Resume() { verbs.ProgresserOf(qp.QueuePair).Resume() }

// Revoke implements verbs.Revoker. It returns verbs.ErrNotSupported if the wrapped queue pair does
// not. The report is recorded as an Invalidate of each region.
func (qp *queuePair) Revoke(regions []verbs.MemoryRegion, done func(error)) error {
	r, ok := qp.QueuePair.(verbs.Revoker)
	if !ok {
		return fmt.Errorf("trace: revoke: %w", verbs.ErrNotSupported)
	}
	inner, keys := make([]verbs.MemoryRegion, len(regions)), make([]uint32, len(regions))
	for i, mr := range regions {
		if w, ours := mr.(*memoryRegion); ours {
			mr = w.MemoryRegion
		}
		if inner[i] = mr; mr != nil {
			keys[i] = mr.RKey()
		}
		qp.dev.emit(Event{Kind: Revoke, QP: qp.Num(), RKey: keys[i]})
	}
	err := r.Revoke(inner, func(err error) {
		for _, key := range keys {
			qp.dev.emit(Event{Kind: Invalidate, RKey: key, Err: err})
		}
		done(err)
	})
	if err != nil {
		qp.dev.emit(Event{Kind: Revoke, QP: qp.Num(), Err: err})
	}
	return err
}

func (qp *queuePair) Close() error {
	qp.dev.emit(Event{Kind: CloseQP, QP: qp.Num()})
	qp.dev.streams.Delete(qp.Num())
	qp.dev.receives.Delete(qp.Num())
	return qp.QueuePair.Close()
}

// The unwrap functions return the provider's own objects. They return objects of other
// packages as they are: the provider refuses them.

func streamOf(qp verbs.QueuePair) *stream {
	if w, ok := qp.(*queuePair); ok {
		return w.msgs
	}
	return nil
}

func unwrapQP(qp verbs.QueuePair) (inner verbs.QueuePair, num uint32) {
	if w, ok := qp.(*queuePair); ok {
		return w.QueuePair, w.Num()
	}
	return qp, 0
}

func unwrapCQ(cq verbs.CompletionQueue) verbs.CompletionQueue {
	if w, ok := cq.(*completionQueue); ok {
		return w.CompletionQueue
	}
	return cq
}

func unwrapList(sgl []verbs.SGE) []verbs.SGE {
	inner := make([]verbs.SGE, len(sgl))
	for i, e := range sgl {
		if w, ok := e.MR.(*memoryRegion); ok {
			e.MR = w.MemoryRegion
		}
		inner[i] = e
	}
	return inner
}

// head returns the first n bytes of a list, or the bytes before the first element that the
// provider will refuse.
func head(sgl []verbs.SGE, n int) string {
	var b []byte
	for _, e := range sgl {
		left := n - len(b)
		if left <= 0 || e.MR == nil {
			break
		}
		all := e.MR.Bytes()
		if e.Offset < 0 || e.Length < 0 || e.Offset > len(all) || e.Length > len(all)-e.Offset {
			break
		}
		b = append(b, all[e.Offset:e.Offset+min(e.Length, left)]...)
	}
	return string(b)
}

func listLen(sgl []verbs.SGE) (n int) {
	for _, e := range sgl {
		n += e.Length
	}
	return n
}
