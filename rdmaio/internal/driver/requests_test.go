package driver

import (
	"errors"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/rpcrdma/rpcrdma/rdmaio/internal/engine"
)

// begin makes the owner begin n Requests, in a step.
func (r *rig) begin(n int) (begun int) {
	r.effects = func(*engine.Effects) {
		for range n {
			if r.d.BeginRequest() {
				begun++
			}
		}
		n = 0
	}
	r.d.Post(engine.Event{Kind: engine.EventTerms})
	return begun
}

// endOnReply makes the owner end a Request for each answer.
func (r *rig) endOnReply() {
	replies := 0
	r.step = func(events []engine.Event, _ *engine.Effects) {
		for _, ev := range events {
			if ev.Kind == engine.EventReply {
				replies++
			}
		}
	}
	r.effects = func(*engine.Effects) {
		for ; replies > 0; replies-- {
			r.d.EndRequest()
		}
	}
}

// A connection drains when all Requests are done: EventDrain comes once, with the reason, and no
// further Request begins.
func TestConnectionDrainsWithTheLastRequest(t *testing.T) {
	why := errors.New("shutdown")
	r := newRig(t)
	r.d.Start(fakeEngine{r})
	if r.d.HadRequest() {
		t.Error("there was a Request before the first")
	}
	if n := r.begin(2); n != 2 || !r.d.HadRequest() {
		t.Fatalf("%d Requests of 2 begun, had one %t", n, r.d.HadRequest())
	}
	r.endOnReply()
	if r.d.StartDrain(why) {
		t.Error("idle with two Requests")
	}
	r.d.PostReply(new(engine.Request), false)
	if n := len(r.events(engine.EventDrain)); n != 0 {
		t.Errorf("%d times EventDrain with a Request that has not ended", n)
	}
	r.d.PostReply(new(engine.Request), false)
	got := r.events(engine.EventDrain)
	if len(got) != 1 || got[0].Err != why {
		t.Fatalf("EventDrain: %v, want one with %v", got, why)
	}
	if n := r.begin(1); n != 0 {
		t.Error("a Request began on a connection that drains")
	}
	if n := len(r.events(engine.EventDrain)); n != 1 {
		t.Errorf("%d times EventDrain, want once", n)
	}
}

// Without Requests the caller of StartDrain posts EventDrain, unless a goroutine runs the engine,
// which may begin a Request just then. That one does.
func TestDrainIdle(t *testing.T) {
	why := errors.New("shutdown")
	r := newRig(t)
	r.d.Start(fakeEngine{r})
	if !r.d.StartDrain(why) {
		t.Fatal("not idle without a Request")
	}
	if len(r.events(engine.EventDrain)) != 0 {
		t.Error("EventDrain before PostDrain")
	}
	r.d.PostDrain()
	if got := r.events(engine.EventDrain); len(got) != 1 || got[0].Err != why {
		t.Errorf("EventDrain: %v, want one with %v", got, why)
	}

	r = newRig(t)
	r.d.Start(fakeEngine{r})
	idle := true
	r.effects = func(*engine.Effects) {
		r.effects = nil
		idle = r.d.StartDrain(why)
	}
	r.d.Post(engine.Event{})
	if got := r.events(engine.EventDrain); idle || len(got) != 1 || got[0].Err != why {
		t.Errorf("during a step: idle %t; EventDrain: %v, want one with %v", idle, got, why)
	}
}

// Stop waits for Requests that have not ended.
func TestStopWaitsForRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.d.Start(fakeEngine{r})
		r.begin(1)
		r.endOnReply()
		r.alone = false
		stopped := false
		go func() {
			r.d.Stop()
			stopped = true
		}()
		synctest.Wait()
		if stopped {
			t.Error("Stop did not wait for a Request")
		}
		r.d.PostReply(new(engine.Request), false)
		synctest.Wait()
		if !stopped {
			t.Error("Stop waits although all Requests have ended")
		}
	})
}

// The counts are those when the queue was last empty. PeerFaults gets what increased.
func TestStatsAreThoseOfTheEmptyQueue(t *testing.T) {
	r := newRig(t)
	r.step = func([]engine.Event, *engine.Effects) {
		r.stats.Sent++
		if r.stats.Sent == 2 || r.stats.Sent == 4 {
			r.stats.FaultyMessages += 2
			r.stats.OverGrants++
		}
	}
	r.effects = func(*engine.Effects) {
		if r.d.Delivered() != 7 {
			t.Error("Delivered is not the engine's")
		}
		if n := r.d.Stats().Sent; n != r.stats.Sent-1 {
			t.Errorf("during step %d: %d steps counted", r.stats.Sent, n)
		}
	}
	r.d.Start(fakeEngine{r})
	for range 4 {
		r.d.Post(engine.Event{})
	}
	if n := r.d.Stats().Sent; n != 5 {
		t.Errorf("%d steps counted, want 5", n)
	}
	want := []Faults{{FaultyMessages: 2, OverGrants: 1}, {FaultyMessages: 2, OverGrants: 1}}
	if diff := cmp.Diff(want, r.faults); diff != "" {
		t.Errorf("faults (-want +got):\n%s", diff)
	}
}

// Credits returns the engine's count before the step's effects. CreditsChanged is called for each
// change.
func TestChangesOfCreditsAreReported(t *testing.T) {
	r := newRig(t)
	r.d.Start(fakeEngine{r})
	for _, n := range []int{1, 32, 32, 29, 0, 0, 8} {
		r.step = func([]engine.Event, *engine.Effects) { r.usable = n }
		r.effects = func(*engine.Effects) {
			if got := r.d.Credits(); got != n {
				t.Errorf("%d credits while the effects are carried out, want %d", got, n)
			}
		}
		r.d.Post(engine.Event{})
	}
	if want := []int{1, 32, 29, 0, 8}; !slices.Equal(r.credits, want) {
		t.Errorf("credits %v, want %v", r.credits, want)
	}
}
