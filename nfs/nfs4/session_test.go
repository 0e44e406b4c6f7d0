package nfs4_test

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/nfs/gen/nfs42"
	"github.com/rpcrdma/rpcrdma/nfs/gen/nfs42ext"
	"github.com/rpcrdma/rpcrdma/nfs/nfs4"
)

// remove removes a name of the root.
func remove(ctx context.Context, s nfs4.Doer, name string) error {
	var c nfs4.Compound
	c.PutRootFH()
	c.Remove(name)
	return s.Do(ctx, &c)
}

// handle returns the root's handle.
func handle(ctx context.Context, s nfs4.Doer) (string, error) {
	var c nfs4.Compound
	c.PutRootFH()
	fh := c.GetFH()
	err := s.Do(ctx, &c)
	return string(fh.OK.Object), err
}

// A session is made, used and ended by the operations of RFC 8881 §2.10.
func TestSessionBeginsAndEnds(t *testing.T) {
	s := newFake()
	got := s.session(t, nfs4.Config{})
	if fh, err := handle(t.Context(), got); fh != "handle" || err != nil {
		t.Errorf("%q, %v", fh, err)
	}
	if l := got.Limits(); l.Slots != 8 || l.MaxOperations != 64 {
		t.Errorf("%+v", l)
	}
	check(t, got.Close())
	want := []string{
		"OP_EXCHANGE_ID", "OP_CREATE_SESSION", "OP_SEQUENCE", "OP_RECLAIM_COMPLETE", "OP_SEQUENCE", "OP_PUTROOTFH", "OP_GETATTR",
		"OP_SEQUENCE", "OP_PUTROOTFH", "OP_GETFH", "OP_DESTROY_SESSION", "OP_DESTROY_CLIENTID",
	}
	if log := s.executed(0); !slices.Equal(log, want) {
		t.Errorf("found %v", log)
	}
	if _, err := handle(t.Context(), got); !errors.Is(err, nfs4.ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
}

// An operation that is refused is named, and the results before it are there.
func TestRefusalNamesTheOperation(t *testing.T) {
	s := newFake()
	got := s.session(t, nfs4.Config{})
	s.set(func(s *fake) {
		s.status = func(op *nfs42.ArgOp) nfs42.Status {
			if op.Op == nfs42.OpRemove {
				return nfs42.StatusNoent
			}
			return nfs42.StatusOK
		}
	})
	var c nfs4.Compound
	c.PutRootFH()
	fh := c.GetFH()
	c.Remove("x")
	c.GetFH()
	err := got.Do(t.Context(), &c)
	var refused *nfs4.StatusError
	if !errors.As(err, &refused) || *refused != (nfs4.StatusError{Op: nfs42ext.OpRemove, Index: 2, Status: nfs42ext.StatusNoent}) || !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("found %v", err)
	}
	if c.Succeeded() != 2 || string(fh.OK.Object) != "handle" {
		t.Errorf("%d succeeded, the handle is %q", c.Succeeded(), fh.OK.Object)
	}
}

// NFS4ERR_DELAY of SEQUENCE keeps the sequence ID, any other operation's takes the next one. A
// COMPOUND that has changed something is not made again.
func TestDelayIsWaitedFor(t *testing.T) {
	s := newFake()
	got := s.session(t, nfs4.Config{})
	for _, tt := range []struct {
		op    nfs42.Op
		again bool
	}{{nfs42.OpSequence, true}, {nfs42.OpPutRootFH, true}, {nfs42.OpRemove, true}, {nfs42.OpGetFH, false}} {
		left := 3
		s.set(func(s *fake) {
			s.status = func(op *nfs42.ArgOp) nfs42.Status {
				if op.Op == tt.op && left > 0 {
					left--
					return nfs42.StatusDelay
				}
				return nfs42.StatusOK
			}
		})
		var c nfs4.Compound
		c.PutRootFH()
		c.Remove(tt.op.String())
		c.GetFH()
		err := got.Do(t.Context(), &c)
		s.set(func(s *fake) {
			if n := s.removed[tt.op.String()]; tt.again != (err == nil) || n != 1 || tt.again != (left == 0) {
				t.Errorf("%v: %v, removed %d times, %d answers left", tt.op, err, n, left)
			}
		})
		if !tt.again && !nfs4.Refused(err, nfs42ext.StatusDelay) {
			t.Errorf("%v: %v", tt.op, err)
		}
	}
	if n := slices.Index(s.executed(0), nfs42.OpCreateSession.String()); slices.Contains(s.executed(n+1), nfs42.OpCreateSession.String()) {
		t.Error("the session was given up")
	}
}

// A server that answers NFS4ERR_DELAY without a limit is given up after MaxWait, or by the context.
func TestWaitsEnd(t *testing.T) {
	s := newFake()
	got := s.session(t, nfs4.Config{MaxWait: 50 * time.Millisecond})
	s.set(func(s *fake) { s.status = func(*nfs42.ArgOp) nfs42.Status { return nfs42.StatusDelay } })
	if err := remove(t.Context(), got, "x"); !nfs4.Refused(err, nfs42ext.StatusDelay) {
		t.Errorf("after MaxWait: %v", err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	gone := errors.New("gone")
	cancel(gone)
	if err := remove(ctx, got, "x"); err == nil {
		t.Error("with a context that is done: no error")
	}
	s.set(func(s *fake) { s.status = nil })
	check(t, remove(t.Context(), got, "x"))
}

// COMPOUNDs in flight have the slots that the server allows, and wait for more.
func TestSlotsBoundCompounds(t *testing.T) {
	s := newFake()
	s.slots = 3
	got := s.session(t, nfs4.Config{})
	var mu sync.Mutex
	running, most := 0, 0
	full, goOn := make(chan struct{}), make(chan struct{})
	s.set(func(s *fake) {
		s.wait = func(ctx context.Context, _ *nfs42.CompoundArgs) {
			mu.Lock()
			if running++; running == 3 {
				close(full)
			}
			most = max(most, running)
			mu.Unlock()
			select {
			case <-goOn:
			case <-ctx.Done():
			}
			mu.Lock()
			running--
			mu.Unlock()
		}
	})
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			if _, err := handle(t.Context(), got); err != nil {
				t.Error(err)
			}
		})
	}
	<-full
	close(goOn)
	wg.Wait()
	mu.Lock()
	defer mu.Unlock()
	if most != 3 {
		t.Errorf("%d COMPOUNDs at a time, want 3", most)
	}
}

// A caller that gives up leaves its slot to the session, which finds out what became of the call:
// the next COMPOUND on the slot is executed.
func TestCallerGivesUp(t *testing.T) {
	s := newFake()
	s.slots = 1
	got := s.session(t, nfs4.Config{})
	arrived, goOn := make(chan struct{}), make(chan struct{})
	s.set(func(s *fake) {
		s.wait = func(ctx context.Context, args *nfs42.CompoundArgs) {
			if len(args.ArgArray) == 3 {
				close(arrived)
				<-goOn
			}
		}
	})
	ctx, cancel := context.WithCancel(t.Context())
	over := make(chan error)
	go func() { over <- remove(ctx, got, "x") }()
	<-arrived
	cancel()
	if err := <-over; !errors.Is(err, context.Canceled) {
		t.Errorf("found %v", err)
	}
	s.set(func(s *fake) { s.wait = nil })
	close(goOn)
	check(t, remove(t.Context(), got, "y"))
	s.set(func(s *fake) {
		if s.removed["x"] != 1 || s.removed["y"] != 1 || s.boot != 1 || len(s.sessions) != 1 {
			t.Errorf("removed %v, %d sessions", s.removed, len(s.sessions))
		}
	})
}

// A connection that is cut costs nothing: the reply comes from the slot's cache.
func TestLostReplyComesFromTheCache(t *testing.T) {
	s := newFake()
	got := s.session(t, nfs4.Config{})
	cut := true
	s.set(func(s *fake) {
		s.lie = func(args *nfs42.CompoundArgs, _ *nfs42.CompoundRes) bool {
			if last := args.ArgArray[len(args.ArgArray)-1].Op; last != nfs42.OpRemove {
				return false
			}
			cut = !cut
			return !cut
		}
	})
	before := len(s.executed(0))
	for _, name := range []string{"a", "b", "c"} {
		check(t, remove(t.Context(), got, name))
	}
	s.set(func(s *fake) {
		if s.removed["a"] != 1 || s.removed["b"] != 1 || s.removed["c"] != 1 || len(s.sessions) != 1 {
			t.Errorf("removed %v", s.removed)
		}
	})
	if log := s.executed(before); !slices.Contains(log, "OP_BIND_CONN_TO_SESSION") {
		t.Errorf("the new connections were not bound: %v", log)
	}
}

// The lease is renewed while there are no calls.
func TestLeaseIsRenewed(t *testing.T) {
	s := newFake()
	s.lease = 1
	renewed := make(chan struct{}, 10)
	s.wait = func(_ context.Context, args *nfs42.CompoundArgs) {
		if len(args.ArgArray) == 1 {
			renewed <- struct{}{}
		}
	}
	s.session(t, nfs4.Config{})
	for range 2 {
		<-renewed
	}
}
