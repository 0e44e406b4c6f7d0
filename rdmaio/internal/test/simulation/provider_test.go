package simulation

import (
	"context"
	"sync"
	"time"

	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// device is a device in memory whose completions and losses come late. Its queue pairs let callers
// handle input (verbs.Progresser).
type device struct {
	verbs.Device
	w    *world
	name string
}

func (d device) AllocPD() (verbs.ProtectionDomain, error) {
	pd, err := d.Device.AllocPD()
	return domain{pd, d}, err
}

func (d device) CreateCQ(n int, notify func()) (verbs.CompletionQueue, error) {
	c := &cq{w: d.w, source: d.w.newSource(d.name + " queue"), notify: notify}
	var err error
	if c.CompletionQueue, err = d.Device.CreateCQ(n, c.take); err != nil {
		return nil, err
	}
	return c, c.CompletionQueue.Arm(false)
}

func (d device) Dial(ctx context.Context, addr string, qp verbs.QueuePair, params *verbs.ConnParams) (*verbs.ConnInfo, error) {
	return d.Device.Dial(ctx, addr, qp.(*queuePair).QueuePair, params)
}

func (d device) Listen(ctx context.Context, addr string) (verbs.Listener, error) {
	ln, err := d.Device.Listen(ctx, addr)
	return listener{ln}, err
}

type listener struct{ verbs.Listener }

func (l listener) Accept(ctx context.Context) (verbs.ConnRequest, error) {
	r, err := l.Listener.Accept(ctx)
	return request{r}, err
}

type request struct{ verbs.ConnRequest }

func (r request) Accept(ctx context.Context, qp verbs.QueuePair, params *verbs.ConnParams) (*verbs.ConnInfo, error) {
	return r.ConnRequest.Accept(ctx, qp.(*queuePair).QueuePair, params)
}

type domain struct {
	verbs.ProtectionDomain
	of device
}

func (p domain) CreateQP(cfg verbs.QPConfig) (verbs.QueuePair, error) {
	q := &queuePair{w: p.of.w, source: p.of.w.newSource(p.of.name + " pair"), woken: make(chan struct{}, 1)}
	send, recv, lost := cfg.SendCQ.(*cq), cfg.RecvCQ.(*cq), cfg.Notify
	cfg.SendCQ, cfg.RecvCQ = send.CompletionQueue, recv.CompletionQueue
	cfg.Notify = func() { q.w.after(q.delay(), func() { q.deliver(lost) }) }
	var err error
	q.QueuePair, err = p.ProtectionDomain.CreateQP(cfg)
	send.qp, recv.qp = q, q
	q.w.mu.Lock()
	q.w.pairs = append(q.w.pairs, q.QueuePair)
	q.w.mu.Unlock()
	return q, err
}

// cq holds completions back until their time has come, in their order.
type cq struct {
	verbs.CompletionQueue
	*source
	w      *world
	notify func()
	qp     *queuePair

	mu     sync.Mutex
	ready  []verbs.WC
	last   time.Duration // when the last one held back is released
	armed  bool
	closed bool
}

// take takes completions from the provider. It runs where they come to be.
func (c *cq) take() {
	var wcs [8]verbs.WC
	for c.CompletionQueue.Arm(false) == nil {
		n, err := c.CompletionQueue.Poll(wcs[:])
		if n == 0 || err != nil {
			return
		}
		for _, wc := range wcs[:n] {
			c.mu.Lock()
			wait := max(c.delay(), c.last-c.w.now())
			c.last = c.w.after(wait, func() { c.release(wc) })
			c.mu.Unlock()
		}
	}
}

// release gives a completion to the owner of the queue.
func (c *cq) release(wc verbs.WC) {
	c.qp.deliver(func() {
		c.mu.Lock()
		c.ready = append(c.ready, wc)
		tell := c.armed && !c.closed
		c.armed = c.armed && !tell
		c.mu.Unlock()
		if tell {
			c.notify()
		}
	})
}

func (c *cq) Poll(wcs []verbs.WC) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return 0, verbs.ErrClosed
	}
	n := copy(wcs, c.ready)
	c.ready = c.ready[n:]
	return n, nil
}

func (c *cq) Arm(bool) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return verbs.ErrClosed
	}
	c.armed = true
	return nil
}

func (c *cq) Close() error {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	return c.CompletionQueue.Close()
}

// queuePair brings input to a caller in Progress. When that is done it leaves input for longer than
// any Call may take, unless Resume is called.
//
//	own goroutine ── Progress ──> caller ── done ──> left ── Progress ──> caller
//	     ^                          │ early           │ Resume, or leaves
//	     └──────────────────────────┴─────────────────┘
type queuePair struct {
	verbs.QueuePair
	*source
	w     *world
	woken chan struct{}

	mu      sync.Mutex
	polls   bool // a caller is in Progress
	left    bool // input waits for the next caller
	turns   int  // times that left became true
	waiting []func()
}

// leaves is the time for which input is left after Progress.
const leaves = 5 * limit

// deliver does what input leads to, on the goroutine that is due.
func (q *queuePair) deliver(do func()) {
	q.mu.Lock()
	if q.polls || q.left {
		q.waiting = append(q.waiting, do)
		q.mu.Unlock()
		q.Wake()
		return
	}
	q.mu.Unlock()
	do()
}

// next returns input that waits, or nil.
func (q *queuePair) next() func() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.waiting) == 0 {
		return nil
	}
	do := q.waiting[0]
	q.waiting = q.waiting[1:]
	return do
}

func (q *queuePair) Progress(done func() bool) {
	if q.chance(q.w.early) {
		q.w.count(&q.w.seen.early)
		q.resume()
		return
	}
	q.mu.Lock()
	if q.polls {
		q.mu.Unlock()
		return
	}
	q.polls, q.left = true, false
	q.mu.Unlock()
	q.w.count(&q.w.seen.progressed)
	early := time.NewTimer(q.delay() * 20)
	defer early.Stop()
	for !done() {
		if do := q.next(); do != nil {
			do()
			continue
		}
		select {
		case <-q.woken:
		case <-early.C:
			q.w.count(&q.w.seen.early)
			q.mu.Lock()
			q.polls, q.left = false, true
			q.mu.Unlock()
			q.resume()
			return
		}
	}
	q.mu.Lock()
	q.polls, q.left = false, true
	q.turns++
	turn := q.turns
	q.mu.Unlock()
	q.w.after(leaves, func() {
		q.mu.Lock()
		same := q.turns == turn
		q.mu.Unlock()
		if same {
			q.resume()
		}
	})
}

func (q *queuePair) Wake() {
	select {
	case q.woken <- struct{}{}:
	default:
	}
}

// Resume implements verbs.Progresser.
func (q *queuePair) Resume() {
	if !q.w.bugs.deafAfterProgress {
		q.resume()
	}
}

func (q *queuePair) resume() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.left {
		return
	}
	q.left = false
	if list := q.waiting; len(list) > 0 {
		q.waiting = nil
		q.w.after(q.delay(), func() {
			for _, do := range list {
				q.deliver(do)
			}
		})
	}
}
