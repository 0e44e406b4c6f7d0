package ibverbs

import (
	"errors"
	"fmt"
	"syscall"

	"github.com/rpcrdma/rpcrdma/rdmaio/providers/ibverbs/internal/abi"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/internal/soft"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// request is a posted request of the send queue.
type request struct {
	soft.Request
	kind     kind
	window   *window // that the request binds or invalidates, or nil
	signaled bool    // at the device
	done     bool    // status is set
	doomed   bool    // it names a region that was invalidated after the post
	status   verbs.Status
	sgl      []element
}

// kind says whose request it is.
type kind uint8

const (
	kindUser   kind = iota
	kindBind        // binds a window
	kindRevoke      // invalidates a window
	kindPing        // finds out whether the peer is there
	kindLast        // the last one, in the error state: those before it are complete when it is
)

// PostSend implements verbs.QueuePair.
func (q *queuePair) PostSend(wrs []verbs.SendWR) (int, error) {
	q.mu.Lock()
	n, err := q.postSend(wrs)
	if n > 0 {
		q.opening.sent(q)
		q.held.added()
	}
	q.mu.UnlockNotify()
	return n, err
}

func (q *queuePair) postSend(wrs []verbs.SendWR) (int, error) {
	if s := q.State(); s != verbs.StateConnected || q.end.begun {
		return 0, fmt.Errorf("ibverbs: queue pair %d: post send in state %v: %w", q.Num(), max(s, q.atLeast()), verbs.ErrInvalidState)
	}
	first := q.sq.tail
	var err error
	for i := range wrs {
		// A request that bars the queue must not follow a batch in the ring.
		if q.sq.batch == postBatch || wrs[i].Opcode == verbs.LocalInvalidate {
			if posted, failed := q.flushBatch(); failed != nil {
				n := int(posted - first)
				return n, q.SendError(wrs, n, failed)
			}
		}
		if wrs[i].Opcode == verbs.LocalInvalidate && !q.sq.barred && q.win.bound[wrs[i].InvalidateRKey] == nil && q.markEnd() {
			first++
		}
		if err = q.addSend(wrs, i); err != nil {
			break
		}
	}
	if q.sq.barred {
		q.completeSends()
	}
	n := int(q.sq.tail - first)
	if posted, failed := q.flushBatch(); failed != nil {
		n = int(posted - first)
		err = q.SendError(wrs, n, failed)
	}
	return n, err
}

// atLeast returns the lowest state that the queue pair is in for its user.
func (q *queuePair) atLeast() verbs.QPState {
	if q.end.begun {
		return verbs.StateError
	}
	return verbs.StateInit
}

// addSend checks request i of a post and adds it to the ring and the batch.
func (q *queuePair) addSend(wrs []verbs.SendWR, i int) error {
	wr := &wrs[i]
	seq := q.sq.push()
	e := q.sq.at(seq)
	*e = request{sgl: e.sgl[:0], signaled: wr.Flags&verbs.SendSignaled != 0}
	limits, err := q.BeginSend(&e.Request, wrs, i, q.dev.attrs.MaxMessageSize, q.depth)
	if err == nil && wr.Opcode != verbs.LocalInvalidate { // which has no list
		if e.sgl, e.Total, err = q.pd.check(e.sgl, wr.SGL, limits.Elements, limits.Bytes, limits.Need); err != nil {
			err = q.SendError(wrs, i, err)
		}
	}
	if err == nil && wr.Opcode == verbs.LocalInvalidate {
		if err = q.prepareInvalidate(e); err != nil {
			err = q.SendError(wrs, i, err)
		}
	}
	if err != nil {
		q.sq.tail--
		return err
	}
	q.SendUsed.Add(1)
	if q.sq.barred {
		return nil
	}
	if wr.Opcode == verbs.RDMARead && q.dev.quirks.UnorderedReads {
		e.signaled = true // else a later completion would count for it
	}
	if !q.held.on {
		q.enqueue(seq, e.wire(q.dev))
	}
	return nil
}

// wire returns a request of the caller, or a ping, as the library has it.
func (e *request) wire(d *Device) abi.SendWR {
	wire := abi.SendWR{Opcode: opcodes[e.Opcode], Flags: flags(e.Flags), RemoteAddr: e.Addr, RKey: e.RKey}
	if e.Opcode == verbs.SendWithInvalidate || e.Opcode == verbs.LocalInvalidate {
		// Some libraries read the one field, and some the other.
		wire.Invalidate, wire.RKey = e.Invalidate, e.Invalidate
		wire.RemoteAddr = 0
	}
	if e.unsent(d) {
		wire.Opcode, wire.RemoteAddr, wire.RKey = abi.OpWrite, 0, 0
	}
	return wire
}

// unsent reports whether a request is a Read of no bytes on a device that cannot have one. A Write
// of no bytes is posted in its place: neither has an effect.
func (e *request) unsent(d *Device) bool {
	return e.kind == kindUser && e.Opcode == verbs.RDMARead && e.Total == 0 && d.quirks.NoEmptyReads
}

// markEnd posts a signaled request, a Write of no bytes, if the last one is not signaled: it
// completes those before it. It reports whether it has. q.mu must be held.
func (q *queuePair) markEnd() bool {
	if q.sq.len() == 0 || q.sq.at(q.sq.tail-1).signaled {
		return false
	}
	seq := q.sq.push()
	e := q.sq.at(seq)
	*e = request{kind: kindPing, signaled: true, sgl: e.sgl[:0]}
	e.Opcode = verbs.RDMAWrite
	_ = q.post(seq, e.wire(q.dev)) // an error of the device begins the end
	return q.sq.tail > seq
}

// prepareInvalidate looks up the window of a LocalInvalidate. A key that is not valid bars the
// queue: the request fails when those before it are complete, without the device.
func (q *queuePair) prepareInvalidate(e *request) error {
	if w := q.win.bound[e.Invalidate]; w != nil && !w.revoking {
		e.window, w.revoking = w, true
		return nil
	}
	if e.Invalidate != 0 && q.pd.registered(e.Invalidate) {
		return fmt.Errorf("key %#x is not of a memory window (DeviceAttributes.InvalidateWindowsOnly): %w", e.Invalidate, verbs.ErrNotSupported)
	}
	q.sq.barred = true
	e.done, e.signaled, e.status = true, true, verbs.StatusLocalProtection
	return nil
}

// registered reports whether a key belongs to a valid region that is registered itself, apart from
// its slab.
func (pd *domain) registered(key uint32) bool {
	pd.mu.Lock()
	defer pd.mu.Unlock()
	for r := range pd.regions {
		r.mu.Lock()
		found := r.state == verbs.MRValid && r.own != 0 && r.key == key
		r.mu.Unlock()
		if found {
			return true
		}
	}
	return false
}

var opcodes = [...]abi.Opcode{
	verbs.Send: abi.OpSend, verbs.SendWithInvalidate: abi.OpSendInv, verbs.RDMAWrite: abi.OpWrite,
	verbs.RDMARead: abi.OpRead, verbs.LocalInvalidate: abi.OpLocalInv,
}

func flags(f verbs.SendFlags) (to abi.SendFlags) {
	if f&verbs.SendSolicited != 0 {
		to |= abi.Solicited
	}
	if f&verbs.SendFence != 0 {
		to |= abi.Fence
	}
	return to
}

// enqueue adds request seq, the last one of the ring, to the batch. The caller holds q.mu.
func (q *queuePair) enqueue(seq uint64, wire abi.SendWR) {
	e := q.sq.at(seq)
	if e.signaled {
		wire.Flags |= abi.Signaled
	}
	wire.ID = seq << 1
	wire.SGL, wire.NumSGE = q.area.list(q.sq.batch, e.sgl)
	b := q.area.sendAt(q.sq.batch)
	wire.Put(b)
	if q.sq.batch > 0 {
		abi.SetNext(q.area.sendAt(q.sq.batch-1), abi.Addr(b))
	}
	q.sq.batch++
}

// flushBatch posts the batch: the last requests of the ring. It returns the number of the first
// request that was not posted. These are removed if there is an error. The caller holds q.mu.
func (q *queuePair) flushBatch() (posted uint64, err error) {
	n := q.sq.batch
	if n == 0 {
		return q.sq.tail, nil
	}
	q.sq.batch = 0
	base := abi.Addr(q.area.reqs)
	bad, err := q.dev.lib.PostSend(q.hw, base)
	if err == nil {
		return q.sq.tail, nil
	}
	posted = q.sq.tail - uint64(n) + unposted(bad, base, abi.SendWRSize, n)
	for q.sq.tail > posted {
		q.sq.tail--
		e := q.sq.at(q.sq.tail)
		release(e.sgl)
		switch {
		case e.kind != kindUser:
			q.sq.internal--
		default:
			q.SendUsed.Add(-1)
			if e.window != nil {
				e.window.revoking = false
			}
		}
	}
	return posted, q.postError(err)
}

// unposted returns the place of the first request that was not posted: the one at bad. There are n
// requests at base, each with size bytes. Some drivers do not say which one it is (siw, when the
// connection is lost). Then no request counts as posted.
func unposted(bad, base, size uintptr, n int) uint64 {
	if i := (bad - base) / size; bad >= base && i < uintptr(n) {
		return uint64(i)
	}
	return 0
}

// postError returns the error of a post that the library refused. The caller holds q.mu.
func (q *queuePair) postError(err error) error {
	switch {
	case errors.Is(err, syscall.ENOMEM):
		return fmt.Errorf("the device's queue is full: %w: %w", err, verbs.ErrQueueFull)
	case errors.Is(err, syscall.EINVAL):
		// Some devices take no requests after a failure, which may not be known yet.
		if q.poll(); !q.end.begun && !q.takesRequests() {
			q.end.callFailed("post", err)
		}
		if q.end.begun {
			return fmt.Errorf("the connection has failed: %w: %w", err, verbs.ErrInvalidState)
		}
		return fmt.Errorf("the library refuses it: %w: %w", err, verbs.ErrInvalidWR)
	}
	q.end.callFailed("post", err)
	return fmt.Errorf("%w: %w", q.dev.callError("post", err), verbs.ErrInvalidState)
}

// takesRequests reports whether the device takes a request that is not wrong for sure: a ping. It
// returns true if that cannot be tried. q.mu must be held, and the batch must be empty.
func (q *queuePair) takesRequests() bool {
	if q.State() != verbs.StateConnected || q.sq.barred || q.held.on || q.life.pinging() {
		return true
	}
	seq := q.sq.push()
	e := q.sq.at(seq)
	*e = request{kind: kindPing, signaled: true, sgl: e.sgl[:0]}
	e.Opcode = verbs.RDMAWrite
	q.enqueue(seq, e.wire(q.dev))
	q.sq.batch = 0
	if _, err := q.dev.lib.PostSend(q.hw, abi.Addr(q.area.reqs)); err != nil {
		q.sq.tail--
		return false
	}
	q.sq.internal++
	return true
}

// post posts a request of the provider: the last one of the ring. The caller holds q.mu.
func (q *queuePair) post(seq uint64, wire abi.SendWR) error {
	q.sq.internal++
	if q.held.on {
		return nil // release posts it
	}
	q.enqueue(seq, wire)
	_, err := q.flushBatch()
	return err
}
