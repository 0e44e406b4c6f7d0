package driver

import (
	"errors"
	"runtime"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/rpcrdma/rpcrdma/rdmaio/internal/engine"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// Functions of the Owner run on a goroutine of the Driver, between steps: never on the goroutine of
// a Post. Events that they post are in one step.
func TestFunctionsRunOnAGoroutineOfTheDriver(t *testing.T) {
	for name, post := range map[string]func(*Driver, engine.Event){
		"Post": (*Driver).Post, "Queue": (*Driver).Queue, "PostTogether": (*Driver).PostTogether,
	} {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t)
			r.alone = false
			r.d.Start(fakeEngine{r})
			synctest.Wait()
			gate, within := make(chan struct{}), false
			r.effects = func(*engine.Effects) { r.due.Store(len(r.xids()) == 2) }
			r.functions = func() {
				<-gate
				within = r.inStep.Load()
				for xid := range uint32(3) {
					r.d.Queue(engine.Event{XID: 10 + xid})
				}
				r.due.Store(false)
			}
			post(r.d, engine.Event{XID: 1}) // returns before gate is open
			synctest.Wait()
			r.d.Post(engine.Event{XID: 2})
			if got := r.xids(); len(got) != 2 {
				t.Errorf("%s: steps %v while a function runs", name, got)
			}
			close(gate)
			synctest.Wait()
			if diff := cmp.Diff([][]uint32{{0}, {1}, {2, 10, 11, 12}}, r.xids()); diff != "" || within {
				t.Errorf("%s: a function ran within a step %v; steps (-want +got):\n%s", name, within, diff)
			}
			if n := r.count("run"); n != 1 {
				t.Errorf("%s: functions ran %d times", name, n)
			}
			r.d.Stop()
		})
	}
}

// Functions that a completion makes due run on the goroutine that notifies, if that handles what
// one peer sends, and is not a caller that polls.
func TestFunctionsRunOnTheReader(t *testing.T) {
	for _, tt := range []struct{ reads, polling, here bool }{
		{false, false, false}, {true, false, true}, {true, true, false}, {false, true, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			r, gate := newRigOf(t, tt.reads), make(chan struct{})
			r.polling.Store(tt.polling)
			r.effects = func(*engine.Effects) { r.due.Store(len(r.events(engine.EventCompletion)) == 1 && r.count("run") == 0) }
			within := false
			r.functions = func() {
				<-gate
				within = r.inStep.Load()
				for xid := range uint32(3) {
					r.d.Queue(engine.Event{XID: 10 + xid})
				}
				r.due.Store(false)
			}
			notified := make(chan struct{})
			go func() {
				defer close(notified)
				r.recvs.complete(verbs.WC{})
			}()
			synctest.Wait()
			select {
			case <-notified:
				if tt.here {
					t.Errorf("%+v: the function runs on another goroutine", tt)
				}
			default:
				if !tt.here {
					t.Errorf("%+v: the function runs on the goroutine that notifies", tt)
				}
			}
			close(gate)
			synctest.Wait()
			if diff := cmp.Diff([][]uint32{{0}, {0}, {10, 11, 12}}, r.xids()); diff != "" || within || r.count("run") != 1 {
				t.Errorf("%+v: functions ran %d times, within a step %v; steps (-want +got):\n%s", tt, r.count("run"), within, diff)
			}
			r.d.Stop()
		})
	}
}

// The reader hands over when functions are due again and again, and when one exits it.
func TestReaderHandsOver(t *testing.T) {
	for _, exits := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			r, gate := newRigOf(t, true), make(chan struct{})
			last := rounds + 1
			if exits {
				last = 2
			}
			r.effects = func(*engine.Effects) { r.due.Store(r.count("run") < last) }
			r.functions = func() {
				n := r.count("run")
				if n == last {
					<-gate
				}
				r.d.Queue(engine.Event{XID: 1})
				if exits && n == 1 {
					runtime.Goexit()
				}
				r.due.Store(false)
			}
			notified := make(chan struct{})
			go func() {
				defer close(notified)
				r.recvs.complete(verbs.WC{})
			}()
			synctest.Wait()
			select {
			case <-notified:
			default:
				t.Errorf("exits %v: after %d functions the goroutine that notifies runs another", exits, r.count("run"))
			}
			close(gate)
			synctest.Wait()
			if n := r.count("run"); n != last {
				t.Errorf("exits %v: functions ran %d times, want %d", exits, n, last)
			}
			r.d.Stop()
		})
	}
}

// newRigOf returns the rig of a Driver that was started and is idle. reads is
// DeviceAttributes.ReaderNotifies.
func newRigOf(t *testing.T, reads bool) *rig {
	t.Helper()
	r := &rig{t: t, reads: reads}
	if err := r.open(); err != nil {
		t.Fatal(err)
	}
	r.d.Start(fakeEngine{r})
	synctest.Wait()
	return r
}

// A function that exits the goroutine does not stop the runner: another one runs the functions that
// are left, and the engine.
func TestFunctionExitsTheGoroutine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.alone = false
		r.d.Start(fakeEngine{r})
		synctest.Wait()
		left := 3
		r.effects = func(*engine.Effects) { r.due.Store(left > 0) }
		r.functions = func() {
			if left--; left > 0 {
				runtime.Goexit()
			}
			r.due.Store(false)
		}
		r.d.Post(engine.Event{XID: 1})
		synctest.Wait()
		r.d.Post(engine.Event{XID: 2})
		synctest.Wait()
		if want := [][]uint32{{0}, {1}, {2}}; left != 0 || !slices.EqualFunc(r.xids(), want, slices.Equal) {
			t.Errorf("%d functions are left, steps %v, want %v", left, r.xids(), want)
		}
		r.d.Stop()
	})
}

// The counts are current while functions run without end.
func TestStatsWhileFunctionsRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.alone = false
		r.d.Start(fakeEngine{r})
		synctest.Wait()
		r.step = func([]engine.Event, *engine.Effects) { r.stats.Received++ }
		r.effects = func(*engine.Effects) { r.due.Store(r.stats.Received < 10) }
		r.functions = func() {
			if got := r.d.Stats().Received; got != r.stats.Received {
				t.Errorf("%d messages counted of %d", got, r.stats.Received)
			}
			r.d.Queue(engine.Event{XID: 1})
			r.due.Store(false)
		}
		r.d.Post(engine.Event{XID: 1})
		synctest.Wait()
		r.d.Stop()
	})
}

// A handler that exits the goroutine of the runner, in a post of a step or in its effects, leaves
// the rest of the step to another goroutine: each post is made once, a Disconnect returns before
// the effects are carried out, and the runner continues.
func TestHandlerExitsTheGoroutine(t *testing.T) {
	for _, where := range []string{"post receives", "post sends", "disconnect", "serve"} {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t)
			r.alone = false
			r.d.Start(fakeEngine{r})
			synctest.Wait()
			exits := 1
			r.step = func(events []engine.Event, f *engine.Effects) {
				if len(events) == 1 && events[0].XID == 1 {
					f.Recvs, f.Sends = make([]verbs.RecvWR, 1), make([]verbs.SendWR, 1)
					f.Fail = errors.New("over")
				}
			}
			r.during = func(name string) {
				if name == where && exits > 0 {
					exits--
					runtime.Goexit()
				}
			}
			r.serve = func(*engine.Effects) { r.call("serve") }
			over := make(chan bool)
			go func() {
				defer close(over)
				r.d.Post(engine.Event{XID: 1})
			}()
			<-over
			synctest.Wait()
			if exits != 0 {
				t.Fatalf("%s: no handler ran there", where)
			}
			r.d.Post(engine.Event{XID: 2})
			synctest.Wait()
			if want := [][]uint32{{0}, {1}, {0}, {2}}; !slices.EqualFunc(r.xids(), want, slices.Equal) {
				t.Errorf("%s: steps %v, want %v", where, r.xids(), want)
			}
			want := map[string]int{"post receives": 1, "post sends": 1, "disconnect": 1, "effects": 4, "serve": 3}
			if where == "disconnect" || where == "serve" {
				want[where]++
			}
			for name, n := range want {
				if got := r.count(name); got != n {
					t.Errorf("%s exits: %d calls of %q, want %d", where, got, name, n)
				}
			}
			if !r.has("post receives", "post sends", "disconnect", "effects", "serve") {
				t.Errorf("%s: calls %v", where, r.calls)
			}
			r.d.Stop()
		})
	}
}

// A handler that exits the goroutine during a step leaves no completion in the queues: the step had
// a full batch, and there are more.
func TestHandlerExitsBeforeTheLastCompletion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.alone = false
		r.d.Start(fakeEngine{r})
		synctest.Wait()
		r.step = func(events []engine.Event, f *engine.Effects) {
			if with(events, engine.EventCompletion) {
				f.Sends = make([]verbs.SendWR, 1)
			}
		}
		exits := 1
		r.during = func(name string) {
			if name == "post sends" && exits > 0 {
				exits--
				runtime.Goexit()
			}
		}
		r.recvs.mu.Lock()
		r.recvs.wcs = make([]verbs.WC, polled)
		r.recvs.mu.Unlock()
		go r.recvs.complete(verbs.WC{})
		synctest.Wait()
		if got := len(r.events(engine.EventCompletion)); exits != 0 || got != polled+1 {
			t.Errorf("%d completions, want %d", got, polled+1)
		}
		r.d.Stop()
	})
}

// A function of the user that exits the goroutine after the runner has left starts no second one.
func TestEventFunctionExitsTheGoroutine(t *testing.T) {
	for _, own := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t)
			r.alone = false
			r.d.Start(fakeEngine{r})
			synctest.Wait()
			begun, gate := make(chan struct{}), make(chan struct{})
			r.step = func(events []engine.Event, _ *engine.Effects) {
				switch events[0].XID {
				case 1:
					r.stats.FaultyMessages++
				case 2:
					close(begun)
					<-gate
				}
			}
			r.during = func(name string) {
				if name == "peer faults" {
					go r.d.Post(engine.Event{XID: 2})
					<-begun
					r.d.Post(engine.Event{XID: 3}) // the runner, in a step, takes it
					runtime.Goexit()
				}
			}
			if own {
				r.d.Queue(engine.Event{XID: 1})
			} else {
				go r.d.Post(engine.Event{XID: 1})
			}
			synctest.Wait()
			close(gate)
			synctest.Wait()
			if want := [][]uint32{{0}, {1}, {2}, {3}}; !slices.EqualFunc(r.xids(), want, slices.Equal) {
				t.Errorf("steps %v, want %v", r.xids(), want)
			}
			r.d.Stop()
		})
	}
}
