package carriers

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/reconnect/machine"
	"github.com/rpcrdma/rpcrdma/internal/resend"
	"github.com/rpcrdma/rpcrdma/rdmaio"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/tcp"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/udp"
)

// AddressError is the error of a Call, or of a try, at one address. It unwraps to the reason.
type AddressError struct {
	Address string // its name
	Err     error  // the reason
}

// Error returns the address and the reason.
func (e *AddressError) Error() string { return fmt.Sprintf("%s: %v", e.Address, e.Err) }

// Unwrap returns the reason.
func (e *AddressError) Unwrap() error { return e.Err }

// DownError says that no address is up. It unwraps to the errors of the addresses, and to the
// context's error if that is done.
type DownError struct {
	// Addresses has the last error of each address that was tried, in the order of the list.
	Addresses []*AddressError

	// Err is the error of the context that is done, or nil.
	Err error
}

// Error returns the reason of each address.
func (e *DownError) Error() string {
	text := "carriers: no address is up"
	if e.Err != nil {
		text += " (" + e.Err.Error() + ")"
	}
	separator := ": "
	for _, a := range e.Addresses {
		text += separator + a.Error()
		separator = "; "
	}
	return text
}

// Unwrap returns the errors.
func (e *DownError) Unwrap() []error {
	var errs []error
	if e.Err != nil {
		errs = append(errs, e.Err)
	}
	for _, a := range e.Addresses {
		errs = append(errs, a)
	}
	return errs
}

// downError returns a DownError. mu must be held.
func (s *source) downError(why error) error {
	e := &DownError{Err: why}
	for _, a := range s.list {
		switch {
		case a.reason != nil:
			e.Addresses = append(e.Addresses, &AddressError{a.Name, a.reason})
		case a.state == trying:
			e.Addresses = append(e.Addresses, &AddressError{a.Name, errTrying})
		}
	}
	return e
}

// errTrying is the reason of an address whose first try is in progress.
var errTrying = errors.New("it has not answered yet")

// tried is called after each try of a Call: see resend.Config.
func (s *source) tried(ctx context.Context, l lease, call *oncrpc.Call, err *oncrpc.CallError) {
	if err == nil {
		if !l.addr.replied.Load() {
			l.addr.replied.Store(true)
		}
		return
	}
	switch {
	case errors.Is(err.Err, context.DeadlineExceeded) && (ctx.Err() != nil || resend.Late(call, err.Err)):
		if err.MayHaveRun {
			s.suspect(l)
		}
	case ctx.Err() != nil, ofCall(err.Err):
	default:
		s.lose(l, err.Err)
	}
	err.Err = &AddressError{l.addr.Name, err.Err}
}

// final reports whether a Call that failed must not be made on another address, or would fail there
// in the same way.
func final(ctx context.Context, call *oncrpc.Call, err error) bool {
	failed, ok := errors.AsType[*oncrpc.CallError](err)
	return ctx.Err() != nil || resend.Late(call, err) || ofCall(err) || ok && failed.MayHaveRun && !call.Idempotent
}

// ofCall reports whether an error is about one Call, and says nothing about its address.
func ofCall(err error) bool {
	var (
		size  *rdmaio.SizeError
		peer  *rdmaio.PeerError
		fault *rdmaio.Fault
	)
	if errors.As(err, &size) || errors.As(err, &peer) || errors.As(err, &fault) {
		return true
	}
	for _, e := range []error{
		oncrpc.ErrMessage, oncrpc.ErrXIDInUse, oncrpc.ErrNoDone, oncrpc.ErrReverse,
		tcp.ErrRecord, udp.ErrSize,
	} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// lose marks an address as down, unless that has happened since the lease began.
func (s *source) lose(l lease, why error) {
	s.mu.Lock()
	if s.ctx.Err() != nil || l.addr.losses != l.losses {
		s.mu.Unlock()
		return
	}
	pause := s.fail(l.addr, why)
	s.tend(l.addr, pause)
	s.mu.Unlock()
	s.report(Event{Address: l.addr.Name, Reason: why, Pause: pause})
}

// suspect probes an address that did not answer a Call in time.
func (s *source) suspect(l lease) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if l.addr.losses == l.losses {
		s.tend(l.addr, 0)
	}
}

// fail marks an address as down, and returns the pause before the next try. mu must be held.
func (s *source) fail(a *address, why error) (pause time.Duration) {
	if a.state == up {
		a.losses++
	}
	if a.replied.Swap(false) {
		a.pause = 0
	}
	a.state, a.reason = down, why
	a.pause, pause = machine.NextPause(a.pause, s.cfg.MinBackoff, s.cfg.MaxBackoff, func(n time.Duration) time.Duration { return rand.N(n + 1) })
	s.change()
	return pause
}

// change wakes the Calls that wait. mu must be held.
func (s *source) change() {
	close(s.changed)
	s.changed = make(chan struct{})
}

// tend probes an address after a pause, and again until it is up, unless a goroutine does. mu must
// be held.
func (s *source) tend(a *address, pause time.Duration) {
	if a.tended || s.ctx.Err() != nil {
		return
	}
	a.tended = true
	s.wg.Go(func() {
		for sleep(s.ctx, pause) {
			var goOn bool
			if pause, goOn = s.try(a); !goOn {
				return
			}
		}
	})
}

// sleep waits, and returns false if ctx is done.
func sleep(ctx context.Context, d time.Duration) bool {
	if d > 0 {
		timer := time.NewTimer(d)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
		}
	}
	return ctx.Err() == nil
}

// try probes an address once. If it does not answer, goOn is true, and pause the time until the
// next try.
func (s *source) try(a *address) (pause time.Duration, goOn bool) {
	s.mu.Lock()
	before := a.losses
	s.mu.Unlock()
	err := s.probe(a)
	s.mu.Lock()
	if s.ctx.Err() != nil {
		s.mu.Unlock()
		return 0, false
	}
	was := a.state
	switch {
	case err != nil:
		pause = s.fail(a, err)
	case a.losses != before: // it went down after the probe had begun
		pause = a.pause
		s.mu.Unlock()
		return pause, true
	default:
		a.state, a.reason, a.tended, s.was = up, nil, false, true
		s.change()
	}
	s.mu.Unlock()
	if err != nil || was != up {
		s.report(Event{Address: a.Name, Up: err == nil, Reason: err, Pause: pause})
	}
	return pause, err != nil
}

// probe finds out whether an address is up.
func (s *source) probe(a *address) error {
	ctx := s.ctx
	if s.cfg.ProbeTimeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, s.cfg.ProbeTimeout)
		defer cancel()
	}
	if s.cfg.Probe != nil {
		return s.cfg.Probe(ctx, a.Carrier)
	}
	last := s.last.Load()
	header, err := oncrpc.NewCall(s.xids.Next(), uint32(last>>32), uint32(last), 0, oncrpc.OpaqueAuth{}).AppendBinary(nil)
	if err != nil {
		return err
	}
	_, err = a.Carrier.Call(ctx, &oncrpc.Call{Message: oncrpc.Message{Inline: header}, Idempotent: true})
	if failed, ok := errors.AsType[*oncrpc.CallError](err); ok {
		err = failed.Err // without the XID of the probe
	}
	return err
}

// report emits an event.
func (s *source) report(e Event) {
	if s.cfg.Events != nil {
		s.cfg.Events(e)
	}
	if e.Up {
		s.cfg.Logger.Info("carriers: an address is up", "address", e.Address)
		return
	}
	s.cfg.Logger.Warn("carriers: an address is down", "address", e.Address, "reason", e.Reason, "pause", e.Pause)
}
