package nfs4_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/nfs/gen/nfs42"
	"github.com/rpcrdma/rpcrdma/nfs/nfs4"
)

// A server that restarts gets the state back before any other COMPOUND, and RECLAIM_COMPLETE.
func TestRestartReclaimsFirst(t *testing.T) {
	s := newFake()
	reclaims := 0
	got := s.session(t, nfs4.Config{Reclaim: func(ctx context.Context, do nfs4.Doer) error {
		reclaims++ // one goroutine at a time
		_, err := handle(ctx, do)
		return err
	}})
	check(t, remove(t.Context(), got, "before"))
	before := len(s.executed(0))
	s.restart()
	s.set(func(s *fake) { s.grace = true })
	check(t, remove(t.Context(), got, "after"))
	want := []string{
		"OP_EXCHANGE_ID", "OP_CREATE_SESSION", "OP_SEQUENCE", "OP_PUTROOTFH", "OP_GETFH", "OP_SEQUENCE", "OP_RECLAIM_COMPLETE",
		"OP_SEQUENCE", "OP_PUTROOTFH", "OP_GETATTR", "OP_SEQUENCE", "OP_PUTROOTFH", "OP_REMOVE",
	}
	if log := s.executed(before); !slices.Equal(log, want) || reclaims != 1 {
		t.Errorf("%d times reclaimed: %v", reclaims, log)
	}
}

// State that is not reclaimed is made after RECLAIM_COMPLETE, before any other COMPOUND, and again
// if that fails.
func TestReopenAfterReclaimComplete(t *testing.T) {
	s := newFake()
	broken, calls := errors.New("broken"), 0
	got := s.session(t, nfs4.Config{Reopen: func(ctx context.Context, do nfs4.Doer) error {
		if calls++; calls == 1 { // one goroutine at a time
			return broken
		}
		return remove(ctx, do, "reopened") // refused within the grace period
	}})
	before := len(s.executed(0))
	s.restart()
	s.set(func(s *fake) { s.grace = true })
	if err := remove(t.Context(), got, "x"); !errors.Is(err, broken) {
		t.Errorf("found %v", err)
	}
	check(t, remove(t.Context(), got, "after"))
	var log []string
	for _, op := range s.executed(before) {
		if op == "OP_RECLAIM_COMPLETE" || op == "OP_REMOVE" {
			log = append(log, op)
		}
	}
	want := []string{"OP_RECLAIM_COMPLETE", "OP_RECLAIM_COMPLETE", "OP_REMOVE", "OP_REMOVE"}
	if !slices.Equal(log, want) || calls != 2 {
		t.Errorf("%d times reopened: %v", calls, log)
	}
}

// A session that is lost with the client's state intact is replaced, and nothing is reclaimed.
func TestLostSessionAlone(t *testing.T) {
	for _, status := range []nfs42.Status{
		nfs42.StatusBadsession, nfs42.StatusDeadsession, nfs42.StatusSeqMisordered, nfs42.StatusBadslot, nfs42.StatusConnNotBoundToSession,
		nfs42.StatusExpired,
	} {
		s := newFake()
		got := s.session(t, nfs4.Config{Reclaim: func(context.Context, nfs4.Doer) error {
			t.Errorf("%v: the state was reclaimed", status)
			return nil
		}})
		left := 1
		s.set(func(s *fake) {
			s.status = func(op *nfs42.ArgOp) nfs42.Status {
				if op.Op == nfs42.OpSequence && left > 0 {
					left--
					return status
				}
				return nfs42.StatusOK
			}
		})
		check(t, remove(t.Context(), got, "x"))
		s.set(func(s *fake) {
			if len(s.sessions) != 1 || s.removed["x"] != 1 || left != 0 {
				t.Errorf("%v: %d sessions, removed %v", status, len(s.sessions), s.removed)
			}
		})
	}
}

// A COMPOUND that was sent, and whose session is then lost, may have run: it is not made again.
func TestLostWithItsSession(t *testing.T) {
	s := newFake()
	got := s.session(t, nfs4.Config{})
	for _, name := range []string{"x", ""} {
		s.set(func(s *fake) {
			s.lie = func(args *nfs42.CompoundArgs, _ *nfs42.CompoundRes) bool {
				if len(args.ArgArray) != 3 {
					return false
				}
				s.lie, s.sessions = nil, make(map[nfs42.SessionID]*fakeSession)
				return true
			}
		})
		if name == "" { // it only reads
			if fh, err := handle(t.Context(), got); fh != "handle" || err != nil {
				t.Errorf("%q, %v", fh, err)
			}
		} else if err := remove(t.Context(), got, name); !errors.Is(err, nfs4.ErrReplyLost) {
			t.Errorf("found %v", err)
		}
	}
	s.set(func(s *fake) {
		if s.removed["x"] != 1 {
			t.Errorf("removed %v", s.removed)
		}
	})
}

// A reclaim that fails fails the COMPOUNDs that wait, and the next one tries again.
func TestReclaimFails(t *testing.T) {
	s := newFake()
	broken := errors.New("broken")
	var fails atomic.Bool
	fails.Store(true)
	got := s.session(t, nfs4.Config{MaxWait: 10 * time.Second, Reclaim: func(context.Context, nfs4.Doer) error {
		if fails.Load() {
			return broken
		}
		return nil
	}})
	s.restart()
	if err := remove(t.Context(), got, "x"); !errors.Is(err, broken) {
		t.Errorf("found %v", err)
	}
	fails.Store(false)
	check(t, remove(t.Context(), got, "x"))
}

// A server that restarts in the middle of the reclaim gets all of it again.
func TestRestartWhileReclaiming(t *testing.T) {
	s := newFake()
	var times atomic.Int32
	got := s.session(t, nfs4.Config{Reclaim: func(ctx context.Context, do nfs4.Doer) error {
		if times.Add(1) == 1 {
			s.restart()
		}
		_, err := handle(ctx, do)
		return err
	}})
	s.restart()
	check(t, remove(t.Context(), got, "x"))
	if n := times.Load(); n != 2 {
		t.Errorf("reclaimed %d times, want 2", n)
	}
}

// Connections are cut at random, and the server restarts, under COMPOUNDs of many goroutines. Each
// name is removed once, or its caller knows that it may have been.
func TestCutsAndRestarts(t *testing.T) {
	s := newFake()
	got := s.session(t, nfs4.Config{})
	random := rand.New(rand.NewPCG(1, 2))
	cuts := 0
	s.set(func(s *fake) {
		s.lie = func(args *nfs42.CompoundArgs, _ *nfs42.CompoundRes) bool {
			if random.IntN(20) == 0 && args.ArgArray[len(args.ArgArray)-1].Op == nfs42.OpRemove {
				cuts++
				return true
			}
			return false
		}
	})
	const goroutines, each = 8, 40
	var wg sync.WaitGroup
	var mu sync.Mutex
	lost := make(map[string]bool)
	for g := range goroutines {
		wg.Go(func() {
			for i := range each {
				name := fmt.Sprintf("%d/%d", g, i)
				err := remove(t.Context(), got, name)
				if g == 0 && i%20 == 10 {
					s.restart()
				}
				if errors.Is(err, nfs4.ErrReplyLost) {
					mu.Lock()
					lost[name] = true
					mu.Unlock()
				} else if err != nil {
					t.Errorf("%s: %v", name, err)
				}
			}
		})
	}
	wg.Wait()
	s.set(func(s *fake) {
		if cuts == 0 {
			t.Error("no connection was cut")
		}
		for g := range goroutines {
			for i := range each {
				name := fmt.Sprintf("%d/%d", g, i)
				if n := s.removed[name]; n > 1 || n == 0 && !lost[name] {
					t.Errorf("%s was removed %d times, lost: %v", name, n, lost[name])
				}
			}
		}
	})
}

// SEQUENCE says that state was revoked: the holder hears it once for each change.
func TestRevokedStateIsReported(t *testing.T) {
	s := newFake()
	heard := make(chan uint32, 10)
	got := s.session(t, nfs4.Config{Revoked: func(flags uint32) { heard <- flags }})
	for _, flags := range []uint32{
		nfs42.SeqStatusAdminStateRevoked | nfs42.SeqStatusLeaseMoved, nfs42.SeqStatusAdminStateRevoked, nfs42.SeqStatusExpiredAllStateRevoked, 0,
		nfs42.SeqStatusAdminStateRevoked,
	} {
		s.set(func(s *fake) { s.flags = flags })
		check(t, remove(t.Context(), got, "x"))
	}
	close(heard)
	var all []uint32
	for flags := range heard {
		all = append(all, flags)
	}
	if want := []uint32{nfs42.SeqStatusAdminStateRevoked, nfs42.SeqStatusExpiredAllStateRevoked, nfs42.SeqStatusAdminStateRevoked}; !slices.Equal(all, want) {
		t.Errorf("heard %v, want %v", all, want)
	}
}

// A server without callbacks' way to the client says so, and gets the connection bound again.
func TestBackchannelIsRepaired(t *testing.T) {
	s := newFake()
	got := s.session(t, nfs4.Config{})
	bound := make(chan bool, 1)
	s.set(func(s *fake) {
		s.flags = nfs42.SeqStatusCBPathDown
		s.lie = func(args *nfs42.CompoundArgs, _ *nfs42.CompoundRes) bool {
			if args.ArgArray[0].Op == nfs42.OpBindConnToSession {
				s.flags = 0
				bound <- true
			}
			return false
		}
	})
	check(t, remove(t.Context(), got, "x"))
	<-bound
}

// A server that has lost the answer to a callback asks for another session at once, however young
// this one is (RFC 8881 §18.46.3). COMPOUNDs in flight keep theirs until they are answered. If the
// server says the same of the next session, that one stays for a lease.
func TestFaultOfTheBackchannel(t *testing.T) {
	s := newFake()
	got := s.session(t, nfs4.Config{Reclaim: func(context.Context, nfs4.Doer) error {
		t.Error("state that the server has was reclaimed")
		return nil
	}})
	entered, leave := make(chan struct{}), make(chan struct{})
	s.set(func(s *fake) {
		s.wait = func(_ context.Context, args *nfs42.CompoundArgs) {
			if last := args.ArgArray[len(args.ArgArray)-1]; last.Op == nfs42.OpRemove && string(last.Remove.Target) == "slow" {
				close(entered)
				<-leave
			}
		}
	})
	slow := make(chan error)
	go func() { slow <- remove(t.Context(), got, "slow") }()
	<-entered
	s.set(func(s *fake) { s.flags = nfs42.SeqStatusBackchannelFault })
	for _, name := range []string{"sees it", "on the next session", "on the same"} {
		check(t, remove(t.Context(), got, name))
	}
	s.set(func(s *fake) {
		if n := count(s.log, "OP_CREATE_SESSION"); n != 2 || len(s.sessions) != 2 {
			t.Errorf("%d sessions were made, expected 2, and %d are there, expected both", n, len(s.sessions))
		}
	})
	close(leave)
	check(t, <-slow)
	for count(s.executed(0), "OP_DESTROY_SESSION") == 0 {
		time.Sleep(time.Millisecond)
	}
}

// count returns how many elements of list are want.
func count(list []string, want string) (n int) {
	for _, e := range list {
		if e == want {
			n++
		}
	}
	return n
}
