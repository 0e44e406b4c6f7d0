package inflight

import (
	"context"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// record is a Call in flight.
type record struct {
	n   int
	ctx Watched[record]
	due Due[record]
}

// ended collects the records that were given up.
type ended struct {
	mu       sync.Mutex
	contexts Contexts[record]
	times    Deadlines[record]
	numbers  []int
	whys     []error
	at       []time.Time
}

func newEnded() *ended {
	e := new(ended)
	e.contexts.Done = func(of *Context[record]) {
		e.mu.Lock()
		defer e.mu.Unlock()
		for r := of.First(); r != nil; r = of.First() {
			e.contexts.Forget(&r.ctx)
			e.numbers, e.whys = append(e.numbers, r.n), append(e.whys, of.Err())
		}
	}
	e.times.Due = func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		for r := e.times.Expired(time.Now()); r != nil; r = e.times.Expired(time.Now()) {
			e.numbers, e.at = append(e.numbers, r.n), append(e.at, time.Now())
		}
	}
	return e
}

// watch makes a new record end with ctx.
func (e *ended) watch(ctx context.Context, n int) *record {
	e.mu.Lock()
	defer e.mu.Unlock()
	r := &record{n: n}
	e.contexts.Watch(ctx, r, &r.ctx)
	return r
}

func (e *ended) forget(r *record) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.contexts.Forget(&r.ctx)
}

// A record is given up with its context, and no other is, nor one that was forgotten.
func TestRecordsEndWithTheirContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEnded()
		first, cancel := context.WithCancel(t.Context())
		second, cancelSecond := context.WithTimeout(t.Context(), time.Second)
		defer cancelSecond()
		var forgotten []*record
		for n := range 9 {
			ctx := []context.Context{first, second, context.WithValue(first, t, n)}[n%3]
			if r := e.watch(ctx, n); n >= 6 {
				forgotten = append(forgotten, r)
			}
		}
		e.watch(context.Background(), 100)
		for _, r := range forgotten {
			e.forget(r)
			e.forget(r) // does nothing
		}
		if n := len(e.contexts.known); n != 2 {
			t.Errorf("%d registrations for contexts of two Done channels", n)
		}
		cancel()
		synctest.Wait()
		if slices.Sort(e.numbers); !slices.Equal(e.numbers, []int{0, 2, 3, 5}) || e.whys[0] != context.Canceled {
			t.Errorf("records %v were given up, with %v", e.numbers, e.whys)
		}
		e.mu.Lock()
		e.numbers, e.whys = nil, nil
		e.mu.Unlock()
		time.Sleep(time.Second)
		synctest.Wait()
		if slices.Sort(e.numbers); !slices.Equal(e.numbers, []int{1, 4}) || e.whys[0] != context.DeadlineExceeded {
			t.Errorf("records %v were given up, with %v", e.numbers, e.whys)
		}
	})
}

// The last context without records stays registered, and no other one.
func TestOneIdleContextStaysRegistered(t *testing.T) {
	e := newEnded()
	var contexts []context.Context
	for n := range 5 {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		contexts = append(contexts, ctx)
		e.forget(e.watch(ctx, n))
	}
	if len(e.contexts.known) != 1 || e.contexts.idle != e.contexts.known[contexts[4].Done()] {
		t.Fatalf("%d contexts are registered", len(e.contexts.known))
	}
	r := new(record)
	if n := testing.AllocsPerRun(100, func() {
		e.contexts.Watch(contexts[4], r, &r.ctx)
		e.contexts.Forget(&r.ctx)
	}); n != 0 {
		t.Errorf("%v allocations for a context that is registered", n)
	}
	e.contexts.Watch(contexts[4], r, &r.ctx) // it is not idle any more
	e.forget(e.watch(contexts[0], 7))
	if e.contexts.known[contexts[4].Done()] == nil || r.ctx.in.first != &r.ctx {
		t.Error("a context with a record lost its registration")
	}
	e.contexts.Forget(&r.ctx)
	e.contexts.Close()
	if len(e.contexts.known) != 0 || e.contexts.idle != nil {
		t.Error("a context is registered after Close")
	}
}

// A record that is watched after its context is done is given up, too.
func TestDoneContextEndsItsRecord(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEnded()
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		e.watch(ctx, 1)
		synctest.Wait()
		if !slices.Equal(e.numbers, []int{1}) {
			t.Errorf("records %v were given up", e.numbers)
		}
		e.watch(ctx, 2) // the registration of an idle context that has fired
		synctest.Wait()
		if !slices.Equal(e.numbers, []int{1, 2}) {
			t.Errorf("records %v were given up after a second one", e.numbers)
		}
	})
}

// Records are due at their deadlines, in order, and not after they were removed.
func TestRecordsEndAtTheirDeadlines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEnded()
		random := rand.New(rand.NewPCG(1, 2))
		start := time.Now()
		records := make([]*record, 300)
		due := make(map[int]time.Time)
		for n := range records {
			r := &record{n: n}
			records[n] = r
			at := start.Add(time.Duration(random.IntN(100)) * time.Second)
			e.mu.Lock()
			e.times.Add(at, r, &r.due)
			if n%4 == 3 { // of an earlier one
				if gone := records[random.IntN(n+1)]; gone.due.place > 0 {
					e.times.Remove(&gone.due)
					delete(due, gone.n)
					if gone == r {
						e.mu.Unlock()
						continue
					}
				}
			}
			e.mu.Unlock()
			due[n] = at
		}
		time.Sleep(50 * time.Second)
		e.mu.Lock()
		late := &record{n: 1000}
		e.times.Add(time.Now(), late, &late.due)
		due[1000] = time.Now()
		e.mu.Unlock()
		time.Sleep(100 * time.Second)
		synctest.Wait()
		for i, n := range e.numbers {
			if !e.at[i].Equal(due[n]) {
				t.Errorf("record %d ended after %v, expected %v", n, e.at[i].Sub(start), due[n].Sub(start))
			}
		}
		if len(e.numbers) != len(due) {
			t.Errorf("%d records were given up, expected %d", len(e.numbers), len(due))
		}
		if !e.times.set.IsZero() || len(e.times.heap) != 0 {
			t.Error("the timer is set without a record")
		}
	})
}

// A record that is over in time costs no allocation and leaves the timer alone.
func TestDeadlinesAllocateNothing(t *testing.T) {
	e := newEnded()
	at := time.Now().Add(time.Hour)
	r, other := new(record), new(record)
	e.times.Add(at, other, &other.due)
	set := e.times.set
	if n := testing.AllocsPerRun(100, func() {
		e.times.Add(at.Add(time.Second), r, &r.due)
		e.times.Remove(&r.due)
	}); n != 0 || !e.times.set.Equal(set) {
		t.Errorf("%v allocations, and the timer set for %v in place of %v", n, e.times.set, set)
	}
	e.times.Remove(&r.due) // does nothing
	e.times.Close()
}
