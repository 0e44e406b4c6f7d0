package carriers

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
)

// state is the state of an address: see Client.
type state int

const (
	untried state = iota
	trying        // for the first time
	up
	down
)

// address is an address with its state, which source.mu guards.
type address struct {
	Address
	state   state
	reason  error // why it is down
	tended  bool  // a goroutine tends it
	pause   time.Duration
	replied atomic.Bool // a Call had a reply since it went up

	inFlight      int
	calls, losses uint64 // losses is also the number by which a lease knows that it is over
}

// source gives Calls their addresses, and tends those that are not up. It is a resend.Source.
type source struct {
	cfg    ClientConfig
	xids   *oncrpc.XIDs
	ctx    context.Context // ends with close
	cancel context.CancelFunc
	wg     sync.WaitGroup // the goroutines that tend addresses
	last   atomic.Uint64  // program and version of the last Call

	mu      sync.Mutex
	list    []*address
	turn    int           // where the search for the next address begins
	begun   time.Time     // when the last first try began
	was     bool          // an address was up
	changed chan struct{} // closed when the state of an address changes
	closing sync.Once
	failed  error // of close
}

func newSource(cfg ClientConfig, addrs []Address, xids *oncrpc.XIDs) *source {
	s := &source{cfg: cfg, xids: xids, changed: make(chan struct{})}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	s.last.Store(100000<<32 | 2) // rpcbind: a server that does not have it says so
	for _, a := range addrs {
		s.list = append(s.list, &address{Address: a})
	}
	return s
}

// lease is the use of an address by a Call. It is over when the address goes down.
type lease struct {
	of     *source
	addr   *address
	losses uint64 // address.losses when it began
}

// XID implements oncrpc.Carrier.
func (l lease) XID() uint32 { return l.of.xids.Next() }

// Call implements oncrpc.Carrier.
func (l lease) Call(ctx context.Context, call *oncrpc.Call) (*oncrpc.Reply, error) {
	return l.addr.Carrier.Call(ctx, call)
}

// Submit implements oncrpc.Submitter.
func (l lease) Submit(ctx context.Context, call *oncrpc.Call, done func(*oncrpc.Reply, error)) error {
	return oncrpc.Submit(ctx, l.addr.Carrier, call, done)
}

// Err returns why the address went down since the lease began, or nil.
func (l lease) Err() error {
	l.of.mu.Lock()
	defer l.of.mu.Unlock()
	if l.addr.losses == l.losses {
		return nil
	}
	return errLost
}

var errLost = errors.New("carriers: the address went down")

// noteProgram keeps the program of a Call for probes.
func (s *source) noteProgram(call *oncrpc.Call) {
	if call == nil {
		return
	}
	if program, version, _, ok := oncrpc.Procedure(call.Inline); ok {
		s.last.Store(uint64(program)<<32 | uint64(version))
	}
}

// Acquire implements resend.Source.
func (s *source) Acquire(ctx context.Context, _ bool) (lease, error) {
	var w waiting
	for {
		s.mu.Lock()
		if l, ok := s.take(); ok {
			s.mu.Unlock()
			return l, nil
		}
		now := time.Now()
		if w.patience == 0 {
			w = s.waitFrom(ctx, now)
		}
		next := s.begin(now, w.patience)
		why, changed := s.givesUp(ctx, now, w.until), s.changed
		s.mu.Unlock()
		if why != nil {
			return lease{}, why
		}
		w.wait(ctx, changed, now, next)
	}
}

// TryAcquire implements resend.Source.
func (s *source) TryAcquire() (l lease, ok bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if l, ok = s.take(); !ok && s.ctx.Err() != nil {
		err = oncrpc.ErrClosed
	}
	return l, ok, err
}

// Release implements resend.Source.
func (s *source) Release(l lease) {
	s.mu.Lock()
	l.addr.inFlight--
	s.mu.Unlock()
}

// returned takes back a lease that no Call has used.
func (s *source) returned(l lease) {
	s.mu.Lock()
	l.addr.inFlight--
	l.addr.calls--
	s.mu.Unlock()
}

// take gives a Call an address that is up. mu must be held.
func (s *source) take() (l lease, ok bool) {
	if s.ctx.Err() != nil {
		return lease{}, false
	}
	var best *address
	n, turn := len(s.list), 0
	if s.cfg.Order == LeastInFlight {
		turn = s.turn
	}
	for i := range n {
		if a := s.list[(turn+i)%n]; a.state == up && (best == nil || s.cfg.Order == LeastInFlight && a.inFlight < best.inFlight) {
			best = a
		}
	}
	if best == nil {
		return lease{}, false
	}
	s.turn = (slices.Index(s.list, best) + 1) % n
	best.inFlight++
	best.calls++
	return lease{s, best, best.losses}, true
}

// begin begins the first try of addresses: of all, or with InOrder of the next one when the one
// before has failed or has taken all the patience of a Call. It returns when the next one is due,
// or zero. mu must be held.
func (s *source) begin(now time.Time, patience time.Duration) (next time.Time) {
	for _, a := range s.list {
		if a.state != untried || s.ctx.Err() != nil {
			continue
		}
		if s.cfg.Order == InOrder && slices.ContainsFunc(s.list, func(a *address) bool { return a.state == trying }) {
			if due := s.begun.Add(patience); now.Before(due) {
				return due
			}
		}
		s.begun, a.state = now, trying
		s.tend(a, 0)
	}
	return time.Time{}
}

// givesUp returns why a Call no longer waits for an address, or nil. mu must be held.
func (s *source) givesUp(ctx context.Context, now, until time.Time) error {
	if s.ctx.Err() != nil {
		return oncrpc.ErrClosed
	}
	if ctx.Err() != nil {
		return s.downError(ctx.Err())
	}
	if slices.ContainsFunc(s.list, func(a *address) bool { return a.state != down }) {
		return nil // one is tried for the first time
	}
	if s.cfg.MaxWait < 0 || !s.was && !s.cfg.WaitForServer || !until.IsZero() && !now.Before(until) {
		return s.downError(nil)
	}
	return nil
}

// waiting is a Call that waits for an address.
type waiting struct {
	patience time.Duration // with the first connection to an address; not zero
	until    time.Time     // the end of MaxWait, or zero
}

// waitFrom returns the limits of a Call that begins to wait. mu must be held.
func (s *source) waitFrom(ctx context.Context, now time.Time) waiting {
	w := waiting{patience: s.cfg.Patience}
	if end, ok := ctx.Deadline(); ok {
		n := 1
		for _, a := range s.list {
			if a.state == untried {
				n++
			}
		}
		w.patience = min(w.patience, end.Sub(now)/time.Duration(n))
	}
	w.patience = max(w.patience, 1)
	if s.cfg.MaxWait > 0 {
		w.until = now.Add(s.cfg.MaxWait)
	}
	return w
}

// wait waits for a change, for the end of ctx, for the time of the next try, or for w.until.
func (w *waiting) wait(ctx context.Context, changed <-chan struct{}, now, next time.Time) {
	if next.IsZero() || !w.until.IsZero() && now.Before(w.until) && w.until.Before(next) {
		next = w.until
	}
	var tick <-chan time.Time
	if !next.IsZero() && now.Before(next) {
		timer := time.NewTimer(next.Sub(now))
		defer timer.Stop()
		tick = timer.C
	}
	select {
	case <-changed:
	case <-ctx.Done():
	case <-tick:
	}
}

// stats describes the addresses.
func (s *source) stats() (list []AddressStats) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, a := range s.list {
		list = append(list, AddressStats{a.Name, a.state == up, a.reason, a.inFlight, a.calls, a.losses})
	}
	return list
}

// close closes the Carriers.
func (s *source) close() error {
	s.closing.Do(func() {
		s.mu.Lock() // no goroutine begins afterwards
		s.cancel()
		s.change()
		s.mu.Unlock()
		errs := make([]error, len(s.list))
		for i, a := range s.list {
			s.wg.Go(func() {
				if err := a.Carrier.Close(); err != nil {
					errs[i] = &AddressError{a.Name, err}
				}
			})
		}
		s.wg.Wait()
		s.failed = errors.Join(errs...)
	})
	return s.failed
}
