package nfs4_test

import (
	"context"
	"errors"
	"io/fs"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/nfs/gen/nfs42"
	"github.com/rpcrdma/rpcrdma/nfs/nfs4"
)

// submitted is a COMPOUND that was submitted, with its end.
type submitted struct {
	c    nfs4.Compound
	over chan error
}

// submit submits the removal of a name.
func submit(ctx context.Context, s *nfs4.Session, name string) *submitted {
	x := &submitted{over: make(chan error, 1)}
	x.c.PutRootFH()
	x.c.Remove(name)
	s.Submit(ctx, &x.c, func(err error) { x.over <- err })
	return x
}

// COMPOUNDs that are submitted are executed, more than there are slots, and used again.
func TestSubmittedCompounds(t *testing.T) {
	s := newFake()
	got := s.session(t, nfs4.Config{})
	const each = 10
	over := make(chan error)
	for i := range 20 { // the server has 8 slots
		var c nfs4.Compound
		n := 0
		var next func(error)
		next = func(err error) {
			if n++; err != nil || n > each {
				over <- err
				return
			}
			c.Reset()
			c.PutRootFH()
			c.Remove(string(rune('a' + i)))
			got.Submit(t.Context(), &c, func(err error) { go next(err) })
		}
		go next(nil)
	}
	for range 20 {
		check(t, <-over)
	}
	for i := range 20 {
		if n := s.removals(string(rune('a' + i))); n != each {
			t.Errorf("%c was removed %d times, expected %d", 'a'+i, n, each)
		}
	}
}

// A COMPOUND that is submitted while the server waits is made again later.
func TestSubmittedCompoundIsDelayed(t *testing.T) {
	for _, op := range []nfs42.Op{nfs42.OpSequence, nfs42.OpPutRootFH} {
		s := newFake()
		got := s.session(t, nfs4.Config{RetryPause: time.Millisecond})
		n := 0
		s.set(func(s *fake) {
			s.status = func(a *nfs42.ArgOp) nfs42.Status {
				if a.Op == op {
					if n++; n <= 3 {
						return nfs42.StatusDelay
					}
				}
				return nfs42.StatusOK
			}
		})
		check(t, <-submit(t.Context(), got, "x").over)
		if m := s.removals("x"); m != 1 {
			t.Errorf("%v: removed %d times", op, m)
		}
	}
}

// The session is lost, the connection is cut, an operation is refused: as for Do.
func TestSubmittedCompoundOutlivesItsSession(t *testing.T) {
	s := newFake()
	got := s.session(t, nfs4.Config{RetryPause: time.Millisecond})
	s.restart()
	check(t, <-submit(t.Context(), got, "x").over)
	cuts := 0
	s.set(func(s *fake) {
		s.lie = func(args *nfs42.CompoundArgs, _ *nfs42.CompoundRes) bool {
			if len(args.ArgArray) < 3 || args.ArgArray[2].Op != nfs42.OpRemove {
				return false
			}
			cuts++
			return cuts == 1
		}
	})
	check(t, <-submit(t.Context(), got, "y").over)
	if x, y := s.removals("x"), s.removals("y"); x != 1 || y != 1 {
		t.Errorf("removed %d and %d times", x, y)
	}
	s.set(func(s *fake) {
		s.lie = nil
		s.status = func(op *nfs42.ArgOp) nfs42.Status {
			if op.Op == nfs42.OpRemove {
				return nfs42.StatusNoent
			}
			return nfs42.StatusOK
		}
	})
	x := submit(t.Context(), got, "z")
	if err := <-x.over; !errors.Is(err, fs.ErrNotExist) || x.c.Succeeded() != 1 {
		t.Errorf("%v after %d operations", err, x.c.Succeeded())
	}
	check(t, got.Close())
	if err := <-submit(t.Context(), got, "z").over; !errors.Is(err, nfs4.ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
}

// A COMPOUND whose reply is lost with its session, and that may have run, is not made again.
func TestSubmittedCompoundRunsOnce(t *testing.T) {
	s := newFake()
	got := s.session(t, nfs4.Config{RetryPause: time.Millisecond})
	s.set(func(s *fake) {
		s.lie = func(args *nfs42.CompoundArgs, _ *nfs42.CompoundRes) bool {
			if len(args.ArgArray) < 3 || args.ArgArray[2].Op != nfs42.OpRemove {
				return false
			}
			s.lie, s.sessions = nil, map[nfs42.SessionID]*fakeSession{}
			return true
		}
	})
	if err := <-submit(t.Context(), got, "x").over; !errors.Is(err, nfs4.ErrReplyLost) {
		t.Error(err)
	}
	if n := s.removals("x"); n != 1 {
		t.Errorf("removed %d times", n)
	}
}

// A caller that gives up gets its error at once, and the slot is used again.
func TestSubmittedCompoundIsGivenUp(t *testing.T) {
	s := newFake()
	s.set(func(s *fake) { s.slots = 1 })
	got := s.session(t, nfs4.Config{RetryPause: time.Millisecond})
	held := make(chan struct{})
	arrived := make(chan struct{}, 10)
	s.set(func(s *fake) {
		s.wait = func(ctx context.Context, args *nfs42.CompoundArgs) {
			arrived <- struct{}{}
			select {
			case <-held:
			case <-t.Context().Done():
			}
		}
	})
	ctx, cancel := context.WithCancel(t.Context())
	x := submit(ctx, got, "x")
	<-arrived
	waits := submit(t.Context(), got, "y")
	cancel()
	if err := <-x.over; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	close(held)
	check(t, <-waits.over)
	if y := s.removals("y"); y != 1 {
		t.Errorf("removed %d times", y)
	}
}

// Config.MaxWait limits the time of a COMPOUND that is submitted.
func TestSubmittedCompoundTakesTooLong(t *testing.T) {
	s := newFake()
	got := s.session(t, nfs4.Config{MaxWait: 50 * time.Millisecond})
	s.set(func(s *fake) {
		s.wait = func(ctx context.Context, _ *nfs42.CompoundArgs) {
			select {
			case <-ctx.Done():
			case <-t.Context().Done():
			}
		}
	})
	if err := <-submit(t.Context(), got, "x").over; err == nil || !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
	s.cut()
}

// removals returns how often a name was removed.
func (s *fake) removals(name string) (n int) {
	s.set(func(s *fake) { n = s.removed[name] })
	return n
}
