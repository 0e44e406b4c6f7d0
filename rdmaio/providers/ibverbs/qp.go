package ibverbs

import (
	"errors"
	"fmt"
	"time"

	"github.com/rpcrdma/rpcrdma/rdmaio/providers/ibverbs/internal/abi"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/ibverbs/internal/lib"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/internal/soft"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// queuePair implements verbs.QueuePair. Its life at the device:
//
//	CreateQP ── Dial, Accept ──> connecting ──> connected
//	    └──────────────────────────────┴───────────┴── begin ──> ending ── finish ──> ended
//
// begin is called with the lock held, by whoever sees the end first: a failed completion, an event,
// Disconnect. finish runs on a separate goroutine, because calls of the library block. It flushes
// the requests in the state ending, and enters verbs.StateError when it is done.
type queuePair struct {
	soft.QueuePair
	dev *Device
	pd  *domain

	hw   lib.QP
	cq   lib.CQ
	user uintptr // of cq: the queue pair's number in Device.queues
	area *area   // memory for the library: work requests and completions

	mu    soft.Mutex
	conn  *connection // nil until Dial or Accept
	depth int         // negotiated initiator depth
	armed bool        // the completion queue makes an event for the next completion

	// Posted requests, by number. The identifier of a request at the device is its number twice,
	// and 1 for a Receive.
	sq sendQueue
	rq recvQueue

	win     windows
	prog    progress
	opening opening
	held    withheld
	life    life
	end     ending
	calls   reports
}

// sendQueue holds the posted requests of the send queue. The queue pair's lock guards it.
type sendQueue struct {
	ring[request]
	reached  uint64 // one past the last request with a completion
	internal int    // requests that are the provider's own
	limit    int    // most such requests
	batch    int    // the last requests, which are in the area and not posted yet
	barred   bool   // a request that is sure to fail waits in the queue; nothing is posted
	failed   bool   // a request has failed: the later ones are flushed
}

var (
	_ verbs.QueuePair  = (*queuePair)(nil)
	_ verbs.Progresser = (*queuePair)(nil)
	_ verbs.Revoker    = (*queuePair)(nil)
)

const (
	defaultBound = 64 // regions that may be bound at once
	pollBatch    = 16 // completions of a poll
	postBatch    = 16 // requests of a post
)

// CreateQP implements verbs.ProtectionDomain.
func (pd *domain) CreateQP(cfg verbs.QPConfig) (verbs.QueuePair, error) {
	d := pd.dev
	q := &queuePair{
		dev: d, pd: pd,
		end: ending{better: make(chan struct{}, 1), ended: make(chan struct{})},
	}
	user := d.objects.nextUser()
	if err := q.Configure(pd.soft, uint32(user), cfg); err != nil {
		return nil, err
	}
	q.user = user
	q.rq.qp, q.held.qp, q.end.qp, q.life.qp = q, q, q, q
	q.win = windows{qp: q, limit: d.bound(q.Cfg), bound: make(map[uint32]*window)}
	d.tellFewWindows(q)
	q.sq.limit = 2*q.win.limit + extraSends // a bind and a revocation each
	if n := q.Cfg.MaxSendWR + q.sq.limit; n > d.limits.MaxQPWR {
		return nil, fmt.Errorf("ibverbs: create queue pair: %d send requests and %d for memory windows, limit of the device is %d: %w",
			q.Cfg.MaxSendWR, q.sq.limit, d.limits.MaxQPWR, verbs.ErrTooLarge)
	}
	if err := q.Register(q); err != nil {
		return nil, err
	}
	if err := q.create(); err != nil {
		q.ReleaseCQs()
		q.Unregister()
		return nil, err
	}
	pd.addQueue(q)
	return q, nil
}

// create makes the objects of the device.
func (q *queuePair) create() (err error) {
	d, l := q.dev, q.dev.lib
	q.pd.mu.Lock()
	err = q.pd.usable("create queue pair")
	q.pd.mu.Unlock()
	if err != nil {
		return err
	}
	if q.area, err = newArea(max(q.Cfg.MaxSendSGE, q.Cfg.MaxRecvSGE, 1)); err != nil {
		return fmt.Errorf("ibverbs: create queue pair: map memory for requests: %w", err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, q.area.close())
		}
	}()
	sends := q.Cfg.MaxSendWR + q.sq.limit
	entries := sends + q.Cfg.MaxRecvWR
	if entries > d.limits.MaxCQE {
		return fmt.Errorf("ibverbs: create queue pair: %d send requests and %d Receives need a completion queue of %d entries, limit of the device is %d: %w",
			sends, q.Cfg.MaxRecvWR, entries, d.limits.MaxCQE, verbs.ErrTooLarge)
	}
	d.objects.addQueue(q)
	defer func() {
		if err != nil {
			d.objects.dropQueue(q)
		}
	}()
	if q.cq, err = l.CreateCQ(d.ctx, entries, q.user, d.channel, d.cfg.CompletionVector); err != nil {
		return d.memoryError(fmt.Sprintf("create a completion queue of %d entries", entries), 64*entries, err)
	}
	attr := abi.QPInitAttr{
		SendCQ: uintptr(q.cq), RecvCQ: uintptr(q.cq), MaxSendWR: sends, MaxRecvWR: q.Cfg.MaxRecvWR,
		MaxSendSGE: q.Cfg.MaxSendSGE, MaxRecvSGE: q.Cfg.MaxRecvSGE,
	}
	if q.hw, err = l.CreateQP(q.pd.pd, &attr); err != nil {
		err = d.queuePairError(&attr, err)
		return errors.Join(err, l.DestroyCQ(q.cq))
	}
	if err = q.init(); err != nil {
		return errors.Join(err, l.DestroyQP(q.hw), l.DestroyCQ(q.cq))
	}
	d.objects.nameQueue(q)
	return nil
}

// init arms the completion queue, and moves the queue pair to a state in which Receives can be
// posted. The connection manager sets the port and the partition key again.
func (q *queuePair) init() error {
	if q.dev.transport == abi.TransportIB {
		attr := abi.QPAttr{State: abi.QPInit, Port: 1}
		if err := q.dev.lib.ModifyQP(q.hw, attr, abi.MaskState|abi.MaskPort|abi.MaskPKey|abi.MaskAccess); err != nil {
			return q.dev.fail("move a queue pair to the state INIT", err)
		}
	}
	q.mu.Lock() // an event can come at once
	q.armed = true
	q.mu.Unlock()
	if err := q.dev.lib.ReqNotify(q.cq, false); err != nil {
		return q.dev.fail("arm a completion queue", err)
	}
	return nil
}

// extraSends are the entries of the send queue that a ping and the last request take.
const extraSends = 3

// bound returns how many windows a queue pair has: fewer than asked for, but at least one, if the
// device has no space for a bind and a revocation of each in addition to the caller's requests.
func (d *hardware) bound(cfg verbs.QPConfig) int {
	if !d.windows {
		return 0
	}
	n := d.defaultBound
	if cfg.MaxBoundMRs > 0 {
		n = cfg.MaxBoundMRs
	}
	space := min(d.limits.MaxQPWR, d.limits.MaxCQE-cfg.MaxRecvWR) - cfg.MaxSendWR - extraSends
	return max(1, min(n, space/2))
}

// tellFewWindows logs, once for a device, that a queue pair has fewer windows than asked for.
func (d *Device) tellFewWindows(q *queuePair) {
	if asked := q.Cfg.MaxBoundMRs; d.windows && q.win.limit < asked && !d.fewWindows.Swap(true) {
		d.cfg.Logger.Warn("ibverbs: queue pairs have fewer memory windows than asked for, so registrations with remote rights may wait or fail: a smaller send queue leaves more",
			"device", d.attrs.Name, "windows", q.win.limit, "asked", asked, "send_requests", q.Cfg.MaxSendWR, "most_send_requests", d.limits.MaxQPWR)
	}
}

// Err implements verbs.QueuePair.
func (q *queuePair) Err() error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.State() < verbs.StateError {
		return nil
	}
	return q.end.why
}

// Disconnect implements verbs.QueuePair.
func (q *queuePair) Disconnect() error {
	q.disconnect(verbs.ErrDisconnected)
	return nil
}

func (q *queuePair) disconnect(why error) {
	q.mu.Lock()
	q.begin(why, causeKnown)
	q.mu.UnlockNotify()
	<-q.end.ended
}

// Close implements verbs.QueuePair.
func (q *queuePair) Close() error {
	q.disconnect(verbs.ErrDisconnected)
	q.mu.Lock()
	for q.calls.n > 0 {
		idle := q.calls.idle
		q.mu.Unlock()
		<-idle
		q.mu.Lock()
	}
	if q.State() == verbs.StateClosed {
		q.mu.Unlock()
		return nil
	}
	q.SetState(verbs.StateClosed)
	q.ReleaseCQs()
	q.mu.UnlockNotify()
	q.pd.dropQueue(q)
	q.Unregister()
	return nil
}

// Removed implements soft.Owner.
func (q *queuePair) Removed() { q.disconnect(verbs.ErrDeviceRemoved) }

// Interrupt implements soft.Owner. It does nothing: no goroutine of the provider accesses memory.
func (q *queuePair) Interrupt() {}

// evict makes the queue pair fail if posted requests name the region. Those complete with
// verbs.StatusLocalProtection. It returns when the device no longer uses the memory.
func (q *queuePair) evict(r *region) {
	q.mu.Lock()
	q.poll()
	named := false
	for i := q.sq.head; i < q.sq.tail; i++ {
		if e := q.sq.at(i); !e.done && names(e.sgl, r) {
			named, e.doomed = true, true
		}
	}
	for i := q.rq.head; i < q.rq.tail; i++ {
		if e := q.rq.at(i); !e.done && names(e.sgl, r) {
			named, e.doomed = true, true
		}
	}
	if named {
		q.begin(fmt.Errorf("ibverbs: queue pair %d: a region was invalidated while requests were posted that name it: %w: %w",
			q.Num(), verbs.StatusError{Status: verbs.StatusLocalProtection}, verbs.ErrConnectionBroken), causeKnown)
	}
	q.mu.UnlockNotify()
	if named {
		<-q.end.ended
	}
}

func names(sgl []element, r *region) bool {
	for i := range sgl {
		if sgl[i].region == r {
			return true
		}
	}
	return false
}

// waitStep returns how long a loop that polls pauses in step n. The first steps do not pause, and
// later ones pause up to a millisecond.
func waitStep(n int) time.Duration {
	if n < 10 {
		return 0
	}
	return min(time.Duration(n)*5*time.Microsecond, time.Millisecond)
}
