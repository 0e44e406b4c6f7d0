package driver

import (
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/leak"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/engine"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

func TestMain(m *testing.M) { os.Exit(leak.Run(m)) }

// rig is a Driver over a scripted engine, owner and provider. It records the calls of the Driver in
// order, and reports two Steps at the same time. If alone is set, only one goroutine uses the
// Driver at a time, and calls with its lock held are reported, too.
type rig struct {
	t     *testing.T
	d     *Driver
	alone bool

	mu      sync.Mutex
	calls   []string
	steps   [][]engine.Event // copies, as are their completions
	times   []time.Duration  // of steps
	faults  []Faults
	usable  int   // credits, of the engine
	credits []int // Driver.Credits at each call of CreditsChanged

	inStep       atomic.Bool
	recvs, sends *fakeCQ
	qpErr        error // of the queue pair
	stats        engine.Stats

	// The script. Functions may be nil.
	step    func(events []engine.Event, f *engine.Effects)
	effects func(f *engine.Effects) // the Owner's
	serve   func(f *engine.Effects)
	post    func(call string) error // "post receives" or "post sends"
	during  func(call string)       // during any call
	fail    func(call string) error // of making and closing objects
	reason  verbs.DisconnectReason  // of Ending

	due       atomic.Bool // the Owner has functions
	functions func()      // they are called
	polling   atomic.Bool // a caller of the Owner polls
	reads     bool        // DeviceAttributes.ReaderNotifies

	reported verbs.DisconnectReason // by DisconnectFor
}

// newRig makes a Driver for the goroutine of the test alone.
func newRig(t *testing.T) *rig {
	t.Helper()
	r := &rig{t: t, alone: true}
	if err := r.open(); err != nil {
		t.Fatal(err)
	}
	return r
}

func (r *rig) open() (err error) {
	r.d, err = New(fakeDevice{r: r}, fakePD{r: r}, fakeOwner{r}, 8, 16, 1)
	return err
}

// call records a call of the Driver.
func (r *rig) call(name string) {
	if d := r.d; r.alone && d != nil {
		if d.mu.TryLock() {
			d.mu.Unlock()
		} else {
			r.t.Errorf("the lock is held across %q", name)
		}
	}
	r.mu.Lock()
	r.calls = append(r.calls, name)
	r.mu.Unlock()
	if r.during != nil {
		r.during(name)
	}
}

// has reports whether the calls have these, in this order, among others.
func (r *rig) has(calls ...string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range r.calls {
		if len(calls) > 0 && c == calls[0] {
			calls = calls[1:]
		}
	}
	return len(calls) == 0
}

// count returns how often the function of that name was called.
func (r *rig) count(name string) (n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range r.calls {
		if c == name {
			n++
		}
	}
	return n
}

// kinds returns the event kinds of each step.
func (r *rig) kinds() (all [][]engine.EventKind) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, events := range r.steps {
		var kinds []engine.EventKind
		for _, ev := range events {
			kinds = append(kinds, ev.Kind)
		}
		all = append(all, kinds)
	}
	return all
}

// events returns the events of all steps that have the kind.
func (r *rig) events(kind engine.EventKind) (all []engine.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, events := range r.steps {
		for _, ev := range events {
			if ev.Kind == kind {
				all = append(all, ev)
			}
		}
	}
	return all
}

// with reports whether events contain one of the kind.
func with(events []engine.Event, kind engine.EventKind) bool {
	return slices.ContainsFunc(events, func(ev engine.Event) bool { return ev.Kind == kind })
}

type fakeEngine struct{ r *rig }

func (e fakeEngine) Step(now time.Duration, events []engine.Event) *engine.Effects {
	r := e.r
	if r.inStep.Swap(true) {
		r.t.Error("two Steps at the same time")
	}
	defer r.inStep.Store(false)
	r.call("step")
	kept := slices.Clone(events)
	for i := range kept {
		if wc := kept[i].WC; wc != nil {
			c := *wc
			kept[i].WC = &c
		}
	}
	r.mu.Lock()
	r.steps, r.times = append(r.steps, kept), append(r.times, now)
	r.mu.Unlock()
	f := new(engine.Effects)
	if r.step != nil {
		r.step(events, f)
	}
	return f
}

func (e fakeEngine) ReadStats(s *engine.Stats) { *s = e.r.stats }
func (e fakeEngine) Delivered() uint64         { return 7 }
func (e fakeEngine) Credits() int              { return e.r.usable }

type fakeOwner struct{ r *rig }

func (o fakeOwner) Fault(error) { o.r.call("fault") }

func (o fakeOwner) Ending(error) verbs.DisconnectReason {
	o.r.call("ending")
	return o.r.reason
}

func (o fakeOwner) Effects(f *engine.Effects) {
	o.r.call("effects")
	if o.r.effects != nil {
		o.r.effects(f)
	}
}

func (o fakeOwner) Serve(f *engine.Effects) {
	if o.r.serve != nil {
		o.r.serve(f)
	}
}

func (o fakeOwner) PeerFaults(more Faults) {
	o.r.call("peer faults")
	o.r.faults = append(o.r.faults, more)
}

func (o fakeOwner) CreditsChanged() { o.r.credits = append(o.r.credits, o.r.d.Credits()) }

func (o fakeOwner) Due() bool { return o.r.due.Load() }

func (o fakeOwner) Polling() bool { return o.r.polling.Load() }

func (o fakeOwner) Run() {
	o.r.call("run")
	o.r.functions()
}

// object records the making and closing of an object.
func (r *rig) object(call string) error {
	r.call(call)
	if r.fail != nil {
		return r.fail(call)
	}
	return nil
}

type fakeDevice struct {
	verbs.Device
	r *rig
}

func (v fakeDevice) Attributes() verbs.DeviceAttributes {
	return verbs.DeviceAttributes{ReaderNotifies: v.r.reads}
}

func (v fakeDevice) CreateCQ(entries int, notify func()) (verbs.CompletionQueue, error) {
	q := &fakeCQ{r: v.r, notify: notify, name: "sends"}
	if entries == 8 {
		q.name = "receives"
		v.r.recvs = q
	} else {
		v.r.sends = q
	}
	if err := v.r.object("create " + q.name); err != nil {
		return nil, err
	}
	return q, nil
}

type fakePD struct {
	verbs.ProtectionDomain
	r *rig
}

func (p fakePD) CreateQP(cfg verbs.QPConfig) (verbs.QueuePair, error) {
	if cfg.RecvCQ != p.r.recvs || cfg.SendCQ != p.r.sends || cfg.MaxRecvWR != 8 || cfg.MaxSendWR != 16 || cfg.MaxSendSGE != 1 || cfg.MaxRecvSGE != 1 {
		p.r.t.Errorf("the queue pair has %d and %d entries of %d and %d elements, or other queues", cfg.MaxRecvWR, cfg.MaxSendWR, cfg.MaxRecvSGE, cfg.MaxSendSGE)
	}
	if err := p.r.object("create queue pair"); err != nil {
		return nil, err
	}
	return &fakeQP{r: p.r, notify: cfg.Notify}, nil
}

// fakeCQ notifies on the goroutine that completes a request, as providers may.
type fakeCQ struct {
	r      *rig
	name   string
	notify func()

	mu    sync.Mutex
	wcs   []verbs.WC
	armed bool
}

func (q *fakeCQ) Arm(bool) error {
	q.r.call("arm " + q.name)
	q.mu.Lock()
	q.armed = true
	q.mu.Unlock()
	q.r.call("armed " + q.name)
	return nil
}

func (q *fakeCQ) Poll(wcs []verbs.WC) (int, error) {
	q.r.call("poll " + q.name)
	q.mu.Lock()
	n := copy(wcs, q.wcs)
	q.wcs = q.wcs[n:]
	q.mu.Unlock()
	q.r.call("polled " + q.name)
	return n, nil
}

func (q *fakeCQ) Cap() int     { return 64 }
func (q *fakeCQ) Close() error { return q.r.object("close " + q.name) }

// complete adds a completion.
func (q *fakeCQ) complete(wc verbs.WC) {
	q.mu.Lock()
	q.wcs = append(q.wcs, wc)
	armed := q.armed
	q.armed = false
	q.mu.Unlock()
	if armed {
		q.notify()
	}
}

type fakeQP struct {
	verbs.QueuePair
	r      *rig
	notify func()
	gone   sync.Once
}

func (q *fakeQP) posted(call string) error {
	q.r.call(call)
	if q.r.post != nil {
		return q.r.post(call)
	}
	return nil
}

func (q *fakeQP) PostRecv(wrs []verbs.RecvWR) (int, error) {
	return len(wrs), q.posted("post receives")
}

func (q *fakeQP) PostSend(wrs []verbs.SendWR) (int, error) {
	return len(wrs), q.posted("post sends")
}

// Disconnect notifies before it returns, as providers may.
func (q *fakeQP) Disconnect() error {
	q.r.call("disconnect")
	q.gone.Do(func() {
		if q.r.qpErr == nil {
			q.r.qpErr = verbs.ErrDisconnected
		}
		q.notify()
	})
	return nil
}

func (q *fakeQP) DisconnectFor(reason verbs.DisconnectReason) error {
	q.r.reported = reason
	return q.Disconnect()
}

func (q *fakeQP) Err() error   { return q.r.qpErr }
func (q *fakeQP) Close() error { return q.r.object("close queue pair") }
