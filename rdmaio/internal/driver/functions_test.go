package driver

import (
	"runtime"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/rpcrdma/rpcrdma/rdmaio/internal/engine"
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
