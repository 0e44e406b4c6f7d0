package nlm

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/nfs/gen/nlm4"
	"github.com/rpcrdma/rpcrdma/nfs/gen/nlm4/nlm4rpc"
	"github.com/rpcrdma/rpcrdma/nfs/internal/locks"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/mem"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/rpc"
)

// failing is a carrier whose calls fail.
type failing struct {
	oncrpc.Carrier
	err error
}

func (f failing) Call(context.Context, *oncrpc.Call) (*oncrpc.Reply, error) { return nil, f.err }
func (failing) XID() uint32                                                 { return 1 }
func (failing) Close() error                                                { return nil }

// waits returns a request of a process that waits for a lock of another one.
func waits(t *testing.T, s *Server, process int32) *locks.Request {
	t.Helper()
	q := &locks.Request{
		Client: locks.Client{Host: "192.0.2.1"}, Source: "192.0.2.1", File: "f", SVID: process, Range: locks.Range{Last: 9}, Exclusive: true,
	}
	tag := &granted{at: Address{Host: q.Host}}
	if res, _, err := s.table.Lock(q, tag); res != locks.Waiting || err != nil {
		t.Fatal(process, res, err)
	}
	return q
}

// A client that cannot be called locks by LOCK what it was granted, and unlocks. The calls for it
// are forgotten, except a few.
func TestCallsForClientsThatAskAgainAreForgotten(t *testing.T) {
	s, err := New(Config{Reach: func(ctx context.Context, _ Address, _, _ uint32) (Carrier, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}, Limits: locks.Limits{SourceWaiters: 4}})
	if err != nil {
		t.Fatal(err)
	}
	q := &locks.Request{Client: locks.Client{Host: "192.0.2.1"}, Source: "192.0.2.1", File: "f", Range: locks.Range{Last: 9}, Exclusive: true}
	if res, _, err := s.table.Lock(q, nil); res != locks.Granted || err != nil {
		t.Fatal(res, err)
	}
	for i := range int32(1000) {
		next := waits(t, s, (i+1)%2)
		woken, err := s.table.Unlock(q) // accepts what the process was granted
		if err != nil || len(woken) != 1 {
			t.Fatal(err, woken)
		}
		s.calls.grant(woken)
		q = next
	}
	s.calls.mu.Lock()
	n := len(s.calls.callees[Address{Host: q.Host}].jobs)
	s.calls.mu.Unlock()
	if n > 2*4 {
		t.Errorf("%d calls are kept for a source with 4 requests", n)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// After a failure the next call of a client has its turn, and the one that failed comes last. Calls
// whose time is over are given up.
func TestFailedCallComesLast(t *testing.T) {
	s, err := New(Config{})
	if err != nil {
		t.Fatal(err)
	}
	_, late := woken(t, s)
	late.until = time.Now().Add(-time.Second)
	var jobs []*job
	for range 3 {
		jobs = append(jobs, &job{waiter: late.waiter, until: time.Now().Add(time.Hour)})
	}
	e := &callee{jobs: []*job{jobs[0], late, jobs[1], {proc: nlm4.ProcLockRes}, jobs[2]}}
	s.calls.expire(e)
	if want := []*job{jobs[1], jobs[2], jobs[0]}; !slices.Equal(e.jobs, want) {
		t.Errorf("the calls are %v, want %v", e.jobs, want)
	}
	if s.table.Pending(late.waiter) {
		t.Error("a lock whose client cannot be called is kept")
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// A request whose client has unlocked a part needs no GRANTED, which would be about all of it. The
// rest is free if the client was not called yet, and stays if it may have the lock.
func TestGrantsThatAreCutAreNotCalled(t *testing.T) {
	for _, sent := range []bool{false, true} {
		s, err := New(Config{})
		if err != nil {
			t.Fatal(err)
		}
		other, j := woken(t, s)
		j.sent = sent
		if s.calls.over(j) {
			t.Error("a grant needs no call")
		}
		part := j.waiter.Request
		part.Range.First = 5
		if _, err := s.table.Unlock(&part); err != nil {
			t.Fatal(err)
		}
		if !s.calls.over(j) || s.table.Pending(j.waiter) {
			t.Error("a grant that is cut needs a call")
		}
		if _, conflict := s.table.Test(other); conflict != sent {
			t.Errorf("sent %v: the rest is locked: %v", sent, conflict)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

// GRANTED that failed is sent again. A client that has taken the lock by the first one waits for
// nothing, and answers DENIED: the lock stays. It is released if the first one has not run.
func TestLostReplyOfGranted(t *testing.T) {
	for _, ran := range []bool{false, true} {
		s, err := New(Config{})
		if err != nil {
			t.Fatal(err)
		}
		other, j := woken(t, s)
		over := failing{err: &oncrpc.CallError{MayHaveRun: ran, Err: oncrpc.ErrClosed}}
		if _, err := s.calls.call(Address{}, over, j); err == nil || !s.table.Pending(j.waiter) {
			t.Errorf("a call that fails: %v", err)
		}
		denies := mem.New(rpc.NewHandler(nil, nlm4rpc.NewService(s)), nil) // waits for nothing
		if _, err := s.calls.call(Address{}, denies, j); err != nil || s.table.Pending(j.waiter) {
			t.Errorf("a call that is answered: %v", err)
		}
		if _, conflict := s.table.Test(other); conflict != ran {
			t.Errorf("the first call has run %v, and the client has the lock %v", ran, conflict)
		}
		if err := errors.Join(denies.Close(), s.Close()); err != nil {
			t.Error(err)
		}
	}
}

// woken returns the call for a request whose lock another owner has released, and the request of
// that one.
func woken(t *testing.T, s *Server) (other *locks.Request, j *job) {
	t.Helper()
	other = &locks.Request{Client: locks.Client{Host: "other"}, Source: "other", File: "f", Range: locks.Range{Last: 9}, Exclusive: true}
	if res, _, err := s.table.Lock(other, nil); res != locks.Granted || err != nil {
		t.Fatal(res, err)
	}
	waits(t, s, 1)
	all, err := s.table.Unlock(other)
	if err != nil || len(all) != 1 {
		t.Fatal(all, err)
	}
	return other, &job{waiter: all[0], proc: nlm4.ProcGranted, args: &nlm4.TestArgs{}}
}

// Hosts that send messages and cannot be reached take no turns of GRANTED. A network of hosts has
// results for few of them.
func TestResultsTakeNoTurnsOfGranted(t *testing.T) {
	honest, results := make(chan struct{}, 100), make(chan struct{}, maxCallees)
	s, err := New(Config{Reach: func(ctx context.Context, at Address, _, _ uint32) (Carrier, error) {
		if at.Host == "192.0.2.1" {
			honest <- struct{}{}
		} else {
			results <- struct{}{}
		}
		<-ctx.Done()
		return nil, ctx.Err()
	}})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 100 {
		s.calls.answer(Address{Host: fmt.Sprintf("2001:db8::%x", i)}, nlm4.ProcLockRes, &nlm4.Res{})
	}
	if n := len(s.calls.list()); n != maxSourceCallees {
		t.Errorf("a network has results for %d hosts, expected %d", n, maxSourceCallees)
	}
	for i := range 2 * maxCalls {
		s.calls.answer(Address{Host: fmt.Sprintf("198.51.100.%d", i)}, nlm4.ProcLockRes, &nlm4.Res{})
	}
	for range maxResults {
		<-results
	}
	_, j := woken(t, s)
	s.calls.add(Address{Host: "192.0.2.1"}, j)
	<-honest
	if len(s.calls.results) != maxResults || len(s.calls.turns) != 1 {
		t.Errorf("%d calls with results and %d of GRANTED", len(s.calls.results), len(s.calls.turns))
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

func (c *calls) list() (all []Address) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Collect(maps.Keys(c.callees))
}
