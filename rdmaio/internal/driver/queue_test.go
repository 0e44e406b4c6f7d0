package driver

import (
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rpcrdma/rpcrdma/rdmaio/internal/engine"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// Queue returns before the engine runs, so that its caller may hold locks of the owner. Events
// before Start wait for it, and those that come while the engine runs wait for the runner.
func TestQueueRunsOnAnotherGoroutine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.alone = false
		r.d.Queue(engine.Event{XID: 1})
		synctest.Wait()
		if len(r.steps) != 0 {
			t.Fatal("the engine ran before Start")
		}
		r.d.Start(fakeEngine{r})
		lock := make(chan struct{}, 1)
		r.effects = func(*engine.Effects) {
			lock <- struct{}{}
			<-lock
		}
		lock <- struct{}{}
		r.d.Queue(engine.Event{XID: 2})
		synctest.Wait() // the runner waits for the lock
		r.d.Queue(engine.Event{XID: 3})
		r.d.Queue(engine.Event{XID: 4})
		synctest.Wait()
		if diff := cmp.Diff([][]uint32{{1, 0}, {2}}, r.xids()); diff != "" {
			t.Errorf("steps while the lock is held (-want +got):\n%s", diff)
		}
		<-lock
		synctest.Wait()
		if diff := cmp.Diff([][]uint32{{1, 0}, {2}, {3, 4}}, r.xids()); diff != "" {
			t.Errorf("steps (-want +got):\n%s", diff)
		}
		r.d.Stop()
	})
}

// kept returns the number of events in memory that the Driver has for later ones.
func (d *Driver) kept() (n int) {
	for _, events := range [][]engine.Event{d.queue, d.spare, d.events} {
		for _, ev := range events[:cap(events)] {
			if ev != (engine.Event{}) {
				n++
			}
		}
	}
	return n
}

// A Driver without a runner keeps memory for the next events, but no event, and no memory for
// completions. When the timer has fired without events, it keeps none.
func TestMemoryBetweenRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.d.Start(fakeEngine{r})
		for n := range 3 {
			r.effects = func(*engine.Effects) {
				r.effects = nil
				for range n {
					r.d.Post(engine.Event{Kind: engine.EventTerms, XID: 1})
				}
			}
			r.d.look = true // gathers, so that events are copied
			r.sends.wcs = append(r.sends.wcs, make([]verbs.WC, n)...)
			r.d.Post(engine.Event{Kind: engine.EventTerms, XID: 1})
			if k := r.d.kept(); k != 0 || r.d.wcs != nil {
				t.Errorf("%d events are kept, and memory for completions: %v", k, r.d.wcs != nil)
			}
			if cap(r.d.spare) == 0 {
				t.Error("no memory is kept for the next events")
			}
		}
		r.d.alarm.wake(time.Second, r.d.start)
		time.Sleep(time.Minute)
		synctest.Wait()
		r.d.Stop()
		if r.d.queue != nil || r.d.spare != nil || r.d.events != nil {
			t.Errorf("after the timer memory for %d, %d and %d events is kept", cap(r.d.queue), cap(r.d.spare), cap(r.d.events))
		}
	})
}

// A runner that hands over after the timer fired loses no event.
func TestHandOverAfterTimer(t *testing.T) {
	const all = 2 * rounds
	r := newRig(t)
	r.d.Start(fakeEngine{r})
	r.alone = false
	n := 0
	r.effects = func(*engine.Effects) {
		if n++; n < all {
			r.d.Post(engine.Event{XID: uint32(n)})
		}
	}
	r.d.fired()
	r.d.Stop()
	if n != all {
		t.Errorf("%d steps, want %d", n, all)
	}
}

// Answers of several goroutines are served together while more are expected, and the last one at
// once.
func TestRepliesTogether(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	const requests = 8
	longest, last := 0, false
	// The system may take the processor away, so the best of five tries is judged.
	for try := 0; try < 5 && (longest < requests/2 || !last); try++ {
		r := newRig(t)
		r.d.Start(fakeEngine{r})
		r.begin(requests)
		if n := r.d.Unanswered(); n != requests {
			t.Fatalf("%d Requests are unanswered, want %d", n, requests)
		}
		r.alone = false
		done := make(chan bool)
		for range requests - 1 {
			go func() { r.d.PostReply(new(engine.Request), false); done <- true }()
		}
		for range requests - 1 {
			<-done
		}
		if n := r.d.Unanswered(); n != 1 {
			t.Fatalf("%d Requests are unanswered, want 1", n)
		}
		for _, events := range r.steps {
			longest = max(longest, len(events))
		}
		var ran atomic.Bool
		go func() { ran.Store(true); done <- true }()
		r.d.PostReply(new(engine.Request), false)
		last = last || !ran.Load()
		<-done
	}
	if longest < requests/2 || !last {
		t.Errorf("at most %d of %d answers together; the last one was posted at once: %v", longest, requests, last)
	}
}

// A goroutine that has more answers posts them all before another one runs the engine, which serves
// them together.
func TestRepliesOfOneGoroutineGoTogether(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	const requests = 8
	longest := 0
	// The system may take the processor away, so the best of five tries is judged.
	for try := 0; try < 5 && longest < requests-1; try++ {
		r := newRig(t)
		r.d.Start(fakeEngine{r})
		r.begin(requests)
		r.alone = false
		for range requests - 1 {
			r.d.PostReply(new(engine.Request), true)
		}
		r.d.PostReply(new(engine.Request), false)
		r.d.mu.Lock()
		for r.d.running {
			r.d.idle.Wait()
		}
		r.d.mu.Unlock()
		for _, events := range r.steps {
			longest = max(longest, len(events))
		}
	}
	if longest < requests-1 {
		t.Errorf("at most %d of %d answers together", longest, requests)
	}
}

// Each count of the peer's faults is reported when it has increased, with the increase.
func TestFaultsUpdate(t *testing.T) {
	for name, at := range map[string]func(*engine.Stats, *Faults) (count, more *uint64){
		"dropped":     func(s *engine.Stats, f *Faults) (_, _ *uint64) { return &s.DroppedMessages, &f.DroppedMessages },
		"over credit": func(s *engine.Stats, f *Faults) (_, _ *uint64) { return &s.CallsOverCredit, &f.CallsOverCredit },
		"faulty":      func(s *engine.Stats, f *Faults) (_, _ *uint64) { return &s.FaultyMessages, &f.FaultyMessages },
		"zero grants": func(s *engine.Stats, f *Faults) (_, _ *uint64) { return &s.ZeroGrants, &f.ZeroGrants },
		"over grants": func(s *engine.Stats, f *Faults) (_, _ *uint64) { return &s.OverGrants, &f.OverGrants },
	} {
		var known, want Faults
		var s engine.Stats
		count, more := at(&s, &want)
		for _, increase := range []uint64{5, 0, 7} {
			*count += increase
			*more = increase
			got := known.update(&s)
			if increase == 0 && got != nil || increase > 0 && (got == nil || *got != want) {
				t.Errorf("%s: reported %+v, want %+v", name, got, want)
			}
		}
	}
}
