package ibverbs

import (
	"errors"
	"fmt"
	"time"

	"github.com/rpcrdma/rpcrdma/rdmaio/providers/ibverbs/internal/abi"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// cause says how much is known of the reason why a queue pair ends. A better one replaces a worse.
type cause uint8

const (
	causeUnknown cause = iota // requests were flushed, or a call of the library has failed
	causePeer                 // the peer is gone; a device may report why by another event
	causeEvent                // an asynchronous event has said why
	causeKnown                // a request has failed, or this side closes the connection
)

// ending is the end of a queue pair. The queue pair's lock guards it, except the channels.
type ending struct {
	qp      *queuePair
	begun   bool
	why     error
	cause   cause
	better  chan struct{} // signaled when a better cause is known; capacity 1
	cleaned bool          // the device has no objects of the queue pair any more
	ended   chan struct{} // closed when the state is verbs.StateError
}

const (
	// unknownWait is the time for which the end waits for the event that says why requests were
	// flushed, and eventWait for one that says why the peer is gone, where a device reports that by
	// events.
	unknownWait = 50 * time.Millisecond
	eventWait   = 10 * time.Millisecond

	// flushWait is the longest wait for the completions of outstanding requests.
	flushWait = time.Second
)

// beginBy begins to end the queue pair because a request has failed. The caller holds q.mu.
func (q *queuePair) beginBy(status verbs.Status, what string) {
	why, c := error(verbs.ErrConnectionBroken), causeUnknown
	if status != verbs.StatusFlushed {
		why, c = fmt.Errorf("ibverbs: queue pair %d: %s: %w: %w", q.Num(), what, verbs.StatusError{Status: status}, verbs.ErrConnectionBroken), causeKnown
	}
	q.begin(why, c)
}

// callFailed begins the end because a call of the library has failed: the device may be gone, and
// the event that says so may not be read yet. The caller holds q.mu.
func (end *ending) callFailed(what string, err error) {
	q := end.qp
	q.begin(fmt.Errorf("ibverbs: queue pair %d: %s: %w: %w: %w", q.Num(), what, err,
		verbs.StatusError{Status: verbs.StatusFatal}, verbs.ErrConnectionBroken), causeUnknown)
}

// begin begins the end of the queue pair, or improves the reason of an end that has begun. The
// caller holds q.mu.
func (q *queuePair) begin(why error, c cause) {
	switch {
	case q.State() >= verbs.StateError:
		return
	case !q.end.begun:
		q.end.begun, q.end.why, q.end.cause = true, why, c
		q.opening.stop()
		q.held.drop()
		q.life.stop()
		q.prog.stop()
		q.dev.ends.Add(1)
		go q.end.finish()
	case c <= q.end.cause:
		return
	default:
		q.end.why, q.end.cause = why, c
	}
	if q.conn != nil {
		q.conn.abort()
	}
	select {
	case q.end.better <- struct{}{}:
	default:
	}
}

// finish is the end: it makes the device stop, collects the completions of outstanding requests,
// and enters verbs.StateError. Nothing in it waits for the peer. It runs the notifications of the
// completions last: one that calls Disconnect or Close waits for the end.
func (end *ending) finish() {
	q := end.qp
	defer q.dev.ends.Done()
	q.end.awaitCause()
	q.mu.Lock()
	conn := q.conn
	// The DISCONNECTED event of this side's own call below says nothing of the peer.
	q.end.cause = max(q.end.cause, causePeer)
	q.mu.Unlock()
	late := conn != nil && !conn.call.settled(q.dev.waits.call)
	if conn != nil && !late {
		conn.disconnect()
	}
	var errs []error
	if err := q.dev.lib.ModifyQP(q.hw, abi.QPAttr{State: abi.QPErr}, abi.MaskState); err != nil && conn != nil && !q.dev.gone() {
		errs = append(errs, fmt.Errorf("move to the state ERR: %w", err))
	}
	q.end.collect()
	q.mu.Lock()
	q.end.cleaned = true // the device's objects must not be used from here on
	q.mu.Unlock()
	if late {
		q.end.destroyLater(conn)
	} else {
		errs = append(errs, q.end.destroy(conn))
	}

	silent := q.end.explain()
	q.mu.Lock()
	q.end.flush()
	if q.dev.gone() && q.end.cause < causeKnown {
		q.end.why = verbs.ErrDeviceRemoved
	}
	if silent != nil {
		q.end.why = fmt.Errorf("%w: %w", q.end.why, silent)
	}
	q.SetState(verbs.StateError)
	q.mu.Notify(q.Cfg.Notify)
	q.end.failed(errors.Join(errs...))
	if errors.Is(q.end.why, verbs.ErrConnectionBroken) {
		q.dev.cfg.Logger.Warn("ibverbs: connection broken", "device", q.dev.attrs.Name, "qp", q.Num(), "err", q.end.why)
	}
	close(q.end.ended)
	q.mu.UnlockNotify()
}

// explain returns the likely cause of an end because the peer does not acknowledge, and nil for
// another end. It reads the state of the port, and must be called without the lock.
func (end *ending) explain() error {
	q := end.qp
	q.mu.Lock()
	silent := q.end.cause == causeKnown && errors.Is(q.end.why, verbs.StatusError{Status: verbs.StatusRetryExceeded})
	way := q.life.path
	q.mu.Unlock()
	if !silent || !way.remote.IsValid() {
		return nil
	}
	return q.dev.tree.RetriesExceeded(way.remote.String(), q.dev.attrs.Name, way.port)
}

// destroy destroys the objects of the device. conn is nil if the queue pair was never connected.
func (end *ending) destroy(conn *connection) error {
	q := end.qp
	if conn != nil {
		conn.forget() // the connection manager must not use the queue pair any more
	}
	errs := []error{q.win.deallocate(), q.dev.lib.DestroyQP(q.hw)}
	q.dev.objects.dropQueue(q)
	errs = append(errs, q.dev.lib.DestroyCQ(q.cq))
	if conn != nil {
		errs = append(errs, conn.close())
	}
	return errors.Join(append(errs, q.area.close())...)
}

// failed logs what the device has failed to do for the end.
func (end *ending) failed(err error) {
	q := end.qp
	if err != nil && !q.dev.gone() {
		q.dev.cfg.Logger.Error("ibverbs: the device failed to end a queue pair", "device", q.dev.attrs.Name, "qp", q.Num(), "err", err)
	}
}

// awaitCause waits until the reason of the end is known, but not long.
func (end *ending) awaitCause() {
	q := end.qp
	limit := time.NewTimer(unknownWait)
	defer limit.Stop()
	events := false
	for {
		q.mu.Lock()
		q.poll()
		c := q.end.cause
		q.mu.Unlock() // without notifications: finish runs them
		if c >= causeEvent || c == causePeer && !q.dev.quirks.LateCause {
			return
		}
		if c == causePeer && !events {
			events = true
			limit.Reset(q.dev.waits.event)
		}
		select {
		case <-q.end.better:
		case <-limit.C:
			return
		}
	}
}

// collect waits for the completions of outstanding requests, up to a limit: some devices never
// complete some of them. A last request, which completes after all others, proves that the requests
// before it which are not signaled are complete.
func (end *ending) collect() {
	q := end.qp
	start := time.Now()
	q.mu.Lock()
	q.poll()
	last := q.sq.tail
	if q.sq.len() > 0 && !q.sq.barred && q.sq.batch == 0 {
		seq := q.sq.push()
		e := q.sq.at(seq)
		*e = request{kind: kindLast, signaled: true, sgl: e.sgl[:0]}
		if q.post(seq, abi.SendWR{Opcode: abi.OpSend}) == nil {
			last = q.sq.tail
		}
	}
	for n := 0; ; n++ {
		q.poll()
		open := q.end.outstanding(last)
		q.mu.Unlock() // without notifications: finish runs them
		if !open || time.Since(start) > q.dev.waits.flush {
			return
		}
		time.Sleep(waitStep(n))
		q.mu.Lock()
	}
}

// outstanding reports whether the device has requests that will complete. last is one past the send
// queue's last request. The caller holds q.mu.
func (end *ending) outstanding(last uint64) bool {
	q := end.qp
	if q.rq.len() > 0 {
		return true
	}
	for i := q.sq.head; i < last; i++ {
		e := q.sq.at(i)
		if e.status == verbs.StatusLocalProtection && e.done {
			return false // it bars the queue: the later ones were not posted to the device
		}
		if e.signaled && !e.done {
			return true
		}
	}
	return false
}

// flush completes all requests that are left, as flushed. The device will not complete them any
// more. The caller holds q.mu.
func (end *ending) flush() {
	q := end.qp
	for q.sq.len() > 0 {
		e := q.sq.at(q.sq.head)
		if !e.done {
			e.done, e.status = true, verbs.StatusFlushed
		}
		q.completeSend(e)
	}
	for q.rq.len() > 0 {
		e := q.rq.at(q.rq.head)
		if !e.done {
			e.done, e.wc = true, verbs.WC{Status: verbs.StatusFlushed}
		}
		q.rq.complete(e)
	}
	q.sq.ring, q.rq.ring = ring[request]{}, ring[receive]{}
	for _, w := range q.win.all {
		if len(w.waiting) > 0 {
			q.win.invalidated(w)
		} else if w.region != nil {
			w.region.detach(w)
		}
	}
	q.win.all, q.win.free, q.win.bound = nil, nil, nil
}

// detach takes from a region its window, which is destroyed with its queue pair. The region stays
// valid for requests of this side.
func (r *region) detach(w *window) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.window == w {
		r.window = nil
	}
}
