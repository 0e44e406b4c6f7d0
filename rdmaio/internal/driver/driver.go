package driver

import (
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rpcrdma/rpcrdma/rdmaio/internal/engine"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// polled is the number of completions that a runner takes at a time, for one step of the engine and
// one list of posts.
const polled = 64

// wcPool has the memory for completions that no runner uses.
var wcPool = sync.Pool{New: func() any { return new([polled]verbs.WC) }}

// Driver runs the engine of a connection. All methods are safe for concurrent use, except where
// they say otherwise.
type Driver struct {
	owner Owner
	qp    verbs.QueuePair
	recvs completions // of Receives
	sends completions // of the send queue
	start time.Time   // zero of the engine's clock

	mu      sync.Mutex
	idle    sync.Cond // running became false
	queue   []engine.Event
	taken   atomic.Uint64  // rounds that took the queue; changed with mu locked
	spare   []engine.Event // the last batch, empty again: the next queue
	look    bool           // completions may be waiting
	trim    bool           // free the memory of spare and events
	running bool
	stopped bool
	stats   engine.Stats
	faults  Faults       // in stats
	credits atomic.Int64 // see Credits; written by the runner

	requests requests

	// The runner's.
	engine Engine
	wcs    *[polled]verbs.WC // while there is a runner
	events []engine.Event
	left   left
	due    bool   // Owner.Run is to be called
	own    func() // runOwn, bound once
	alarm  alarm
}

// New creates the completion queues and the queue pair of a connection, with the given numbers of
// entries in the receive queue and the send queue. bound is the usual number of regions that the
// peer may access at a time. Events wait until Start.
func New(dev verbs.Device, pd verbs.ProtectionDomain, owner Owner, recvs, sends, bound int) (_ *Driver, err error) {
	d := &Driver{owner: owner, start: time.Now()}
	d.recvs.reads = dev.Attributes().ReaderNotifies
	d.sends.reads = d.recvs.reads
	d.idle.L = &d.mu
	d.alarm.fired, d.own = d.fired, d.runOwn
	defer func() {
		if err != nil {
			err = errors.Join(err, d.Close())
		}
	}()
	if d.recvs.cq, err = dev.CreateCQ(recvs, func() { d.arrived(&d.recvs) }); err != nil {
		return nil, err
	}
	if d.sends.cq, err = dev.CreateCQ(sends, func() { d.arrived(&d.sends) }); err != nil {
		return nil, err
	}
	d.qp, err = pd.CreateQP(verbs.QPConfig{
		SendCQ: d.sends.cq, RecvCQ: d.recvs.cq, MaxSendWR: sends, MaxRecvWR: recvs,
		MaxSendSGE: 1, MaxRecvSGE: 1, MaxBoundMRs: bound, Notify: d.lost,
	})
	if err != nil {
		return nil, err
	}
	return d, nil
}

// QP returns the queue pair.
func (d *Driver) QP() verbs.QueuePair { return d.qp }

// Began returns the time at which the engine's clock began.
func (d *Driver) Began() time.Time { return d.start }

// Start begins to run the engine, with EventStart. It is called once.
func (d *Driver) Start(e Engine) {
	d.mu.Lock()
	d.engine = e
	d.look = true // arms the completion queue
	d.mu.Unlock()
	d.Post(engine.Event{Kind: engine.EventStart})
}

// Stats returns the counts of the engine when its queue of events was last empty.
func (d *Driver) Stats() engine.Stats {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.stats
}

// Credits returns what Engine.Credits returned after the last step, before its effects were carried
// out.
func (d *Driver) Credits() int { return int(d.credits.Load()) }

// Delivered returns the number of bytes that the peer has delivered. Only the Owner may call it,
// from Effects.
func (d *Driver) Delivered() uint64 { return d.engine.Delivered() }

// Stop prevents further runs of the engine, which must be closed. It waits until the runner has
// left and all Requests are released.
func (d *Driver) Stop() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for d.running || d.requests.busy > 0 {
		d.idle.Wait()
	}
	d.stopped = true
	d.alarm.stop()
}

// Close closes the queue pair and the completion queues. A Driver that was started must be stopped
// first.
func (d *Driver) Close() error {
	var errs []error
	if d.qp != nil {
		errs = append(errs, d.qp.Close())
	}
	for _, cq := range []verbs.CompletionQueue{d.sends.cq, d.recvs.cq} {
		if cq != nil {
			errs = append(errs, cq.Close())
		}
	}
	return errors.Join(errs...)
}
