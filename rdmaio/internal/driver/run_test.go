package driver

import (
	"runtime"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rpcrdma/rpcrdma/rdmaio/internal/engine"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// xids returns the numbers that the test gave the events of all steps, by step.
func (r *rig) xids() (all [][]uint32) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, events := range r.steps {
		var xids []uint32
		for _, ev := range events {
			xids = append(xids, ev.XID)
		}
		all = append(all, xids)
	}
	return all
}

// Events that other goroutines, or the owner, post while one runs the engine wait for it. The
// runner serves all of them in one step, in their order, and no poster waits.
func TestRunnerServesAll(t *testing.T) {
	for _, tt := range []struct {
		name string
		post func(*Driver, engine.Event)
	}{{"Post", (*Driver).Post}, {"PostTogether", (*Driver).PostTogether}} {
		t.Run(tt.name, func(t *testing.T) {
			r := newRig(t)
			r.d.Start(fakeEngine{r})
			r.alone = false
			inStep, leave := make(chan struct{}), make(chan struct{})
			r.step = func(events []engine.Event, _ *engine.Effects) {
				if events[0].XID == 1 {
					close(inStep)
					<-leave
				}
			}
			done := make(chan struct{})
			go func() {
				r.d.Post(engine.Event{XID: 1})
				close(done)
			}()
			<-inStep
			for xid := range uint32(5) {
				tt.post(r.d, engine.Event{XID: 2 + xid}) // returns although the runner does not
			}
			close(leave)
			<-done
			if diff := cmp.Diff([][]uint32{{0}, {1}, {2, 3, 4, 5, 6}}, r.xids()); diff != "" {
				t.Errorf("steps (-want +got):\n%s", diff)
			}
		})
	}
}

// Events before Start wait for it.
func TestEventsBeforeStart(t *testing.T) {
	r := newRig(t)
	r.d.Post(engine.Event{Kind: engine.EventTerms})
	if len(r.steps) != 0 {
		t.Fatal("the engine ran before Start")
	}
	r.d.Start(fakeEngine{r})
	if diff := cmp.Diff([][]engine.EventKind{{engine.EventTerms, engine.EventStart}}, r.kinds()); diff != "" {
		t.Errorf("steps (-want +got):\n%s", diff)
	}
}

// Each call of the provider, the engine and the owner may post events on the same goroutine, and
// may notify: nothing deadlocks, no Step runs inside another, and no event is lost.
func TestCallsMayPostEvents(t *testing.T) {
	calls := []string{
		"step", "post receives", "post sends", "fault", "ending", "disconnect", "effects", "peer faults",
		"arm receives", "armed receives", "poll receives", "polled receives",
		"arm sends", "armed sends", "poll sends", "polled sends",
	}
	for _, during := range calls {
		t.Run(during, func(t *testing.T) {
			r := newRig(t)
			r.step = func(events []engine.Event, f *engine.Effects) {
				f.Await = true
				if with(events, engine.EventCall) {
					f.Recvs, f.Sends = make([]verbs.RecvWR, 1), make([]verbs.SendWR, 1)
					f.Fail, f.Fault = verbs.ErrClosed, newFault()
					r.stats.FaultyMessages++
				}
			}
			r.d.Start(fakeEngine{r})
			once := false
			r.during = func(call string) {
				if call == during && !once {
					once = true
					r.d.Post(engine.Event{Kind: engine.EventTerms, XID: 9})
					r.d.PostTogether(engine.Event{Kind: engine.EventTerms, XID: 9})
					r.recvs.complete(verbs.WC{WRID: 9})
					r.sends.complete(verbs.WC{WRID: 9})
				}
			}
			r.recvs.complete(verbs.WC{}) // the queue is armed again
			r.sends.complete(verbs.WC{})
			r.d.Post(engine.Event{Kind: engine.EventCall})
			if !once {
				t.Fatalf("no such call in %q", r.calls)
			}
			if a, b := len(r.events(engine.EventTerms)), len(r.events(engine.EventCompletion)); a != 2 || b != 4 {
				t.Errorf("the engine got %d events, want 2, and %d completions, want 4", a, b)
			}
		})
	}
}

// A runner hands over after some rounds, although there are more events: its caller returns. The
// goroutine that continues serves them all, and Stop waits for it.
func TestHandOver(t *testing.T) {
	const all = 5 * rounds
	r := newRig(t)
	r.d.Start(fakeEngine{r})
	r.alone = false
	returned := make(chan struct{})
	n := 0
	r.effects = func(*engine.Effects) {
		n++
		if n < all {
			r.d.Post(engine.Event{XID: uint32(n)})
		}
		if n == rounds+1 {
			select {
			case <-returned:
			case <-time.After(20 * time.Second):
				t.Errorf("the caller was kept for more than %d rounds", rounds)
			}
		}
	}
	r.d.Post(engine.Event{})
	close(returned)
	r.d.Stop()
	if n != all {
		t.Errorf("%d steps, want %d", n, all)
	}
	if got := len(r.steps); got != 1+all {
		t.Errorf("%d steps with the first, want %d", got, 1+all)
	}
}

// A runner whose last round empties the queue does not hand over.
func TestNoHandOver(t *testing.T) {
	r := newRig(t)
	r.d.Start(fakeEngine{r})
	n := 0
	r.effects = func(*engine.Effects) {
		if n++; n < rounds {
			r.d.Post(engine.Event{})
		}
	}
	r.d.Post(engine.Event{})
	if r.d.mu.Lock(); r.d.running || n != rounds {
		t.Errorf("after Post returned: running %t, %d of %d rounds", r.d.running, n, rounds)
	}
	r.d.mu.Unlock()
}

// Events of PostTogether are served in few steps: with one processor all goroutines have posted
// theirs before the first one returns, unless the system takes the processor away. So the best of
// five tries counts.
func TestPostTogether(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	const posters = 8
	r := newRig(t)
	r.d.Start(fakeEngine{r})
	r.alone = false
	longest := 0
	for try := 0; try < 5 && longest < posters/2; try++ {
		var wg sync.WaitGroup
		for range posters {
			wg.Go(func() { r.d.PostTogether(engine.Event{XID: 1}) })
		}
		wg.Wait()
		r.d.Post(engine.Event{}) // the queue is empty when it returns, or another goroutine runs
		for _, xids := range r.xids() {
			longest = max(longest, len(xids))
		}
	}
	if longest < posters/2 {
		t.Errorf("at most %d events of %d were served together", longest, posters)
	}
}

// An event of PostTogether that no runner takes is served when it returns.
func TestPostTogetherAlone(t *testing.T) {
	r := newRig(t)
	r.d.Start(fakeEngine{r})
	before := len(r.xids())
	r.d.PostTogether(engine.Event{XID: 5})
	if steps := r.xids()[before:]; len(steps) != 1 || !slices.Equal(steps[0], []uint32{5}) {
		t.Errorf("steps %v, want one with 5", steps)
	}
}

// A poster whose event a runner has taken leaves the events of others alone: those wait for more.
// With one processor the poster comes back last, unless the system takes the processor away from
// the test before. Such a try does not count.
func TestPostTogetherTaken(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	for range 20 {
		r := newRig(t)
		r.d.Start(fakeEngine{r})
		r.alone = false
		before := len(r.xids())
		left := make(chan struct{})
		go func() {
			r.d.PostTogether(engine.Event{XID: 1})
			close(left)
		}()
		runtime.Gosched()              // it has posted, and waits
		r.d.Post(engine.Event{XID: 2}) // takes its event along
		r.d.mu.Lock()                  // as a third one does
		taken := slices.Equal(r.xids()[before], []uint32{1, 2})
		r.d.queue = append(r.d.queue, engine.Event{XID: 3})
		r.d.mu.Unlock()
		<-left
		steps := r.xids()[before:]
		r.d.Post(engine.Event{XID: 4})
		if !taken {
			continue
		}
		if len(steps) != 1 {
			t.Fatalf("steps %v, want the first only", steps)
		}
		if last := r.xids()[before:]; len(last) != 2 || !slices.Equal(last[1], []uint32{3, 4}) {
			t.Fatalf("steps %v, want 3 and 4 in the second", last)
		}
		return
	}
	t.Error("no event was taken by another poster in 20 tries")
}

// Stop waits for the runner. Afterwards no event, notification or timer runs the engine.
func TestStopWaitsForTheRunner(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.alone = false
		leave := make(chan struct{})
		r.step = func(events []engine.Event, f *engine.Effects) {
			f.Deadline = time.Minute
			if with(events, engine.EventClose) {
				<-leave
			}
		}
		r.d.Start(fakeEngine{r})
		go r.d.Post(engine.Event{Kind: engine.EventClose})
		synctest.Wait()
		stopped := false
		go func() {
			r.d.Stop()
			stopped = true
		}()
		synctest.Wait()
		if stopped {
			t.Error("Stop did not wait for the runner")
		}
		close(leave)
		synctest.Wait()
		if !stopped {
			t.Fatal("Stop waits although there is no runner")
		}
		if r.d.alarm.timer.Stop() {
			t.Error("the timer runs after Stop")
		}
		before := len(r.steps)
		r.d.Post(engine.Event{})
		r.d.PostTogether(engine.Event{})
		r.recvs.notify()
		r.sends.notify()
		r.d.lost()
		r.d.fired() // a timer that fired just before
		r.d.Queue(engine.Event{})
		time.Sleep(time.Hour)
		if n := len(r.steps) - before; n != 0 {
			t.Errorf("%d steps after Stop", n)
		}
	})
}
