package driver

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rpcrdma/rpcrdma/rdmaio/internal/engine"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/header"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

func newFault() *header.Fault { return &header.Fault{Where: "a test"} }

// R133, R285: Receives are posted before the messages that grant credits for them, and the queue
// pair is disconnected before the owner gets memory back.
func TestOrderOfEffects(t *testing.T) {
	r := newRig(t)
	r.d.Start(fakeEngine{r})
	r.reason = verbs.ReasonRule
	r.step = func(events []engine.Event, f *engine.Effects) {
		if with(events, engine.EventCall) {
			f.Recvs, f.Sends = make([]verbs.RecvWR, 2), make([]verbs.SendWR, 3)
			f.Fault, f.Fail = newFault(), verbs.ErrClosed
		}
	}
	n := len(r.calls)
	r.d.Post(engine.Event{Kind: engine.EventCall})
	want := []string{
		"step", "post receives", "post sends", "fault", "ending", "disconnect", "effects",
		"step", "effects", // EventBroken, from the queue pair
	}
	if diff := cmp.Diff(want, r.calls[n:]); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
	if r.reported != verbs.ReasonRule {
		t.Errorf("the peer is given the reason %v, want %v", r.reported, verbs.ReasonRule)
	}
	n = len(r.calls)
	r.step = nil
	r.d.Post(engine.Event{Kind: engine.EventCall})
	if diff := cmp.Diff([]string{"step", "effects"}, r.calls[n:]); diff != "" {
		t.Errorf("calls of a step without effects (-want +got):\n%s", diff)
	}
}

// A post that the provider refuses closes the connection with the queue pair's cause, or with the
// refusal if the queue pair is without one. Requests that are released with a refused Send were not
// answered.
func TestRefusedPost(t *testing.T) {
	refusal := fmt.Errorf("refused: %w", verbs.ErrInvalidState)
	broken := fmt.Errorf("%w: by the peer", verbs.ErrConnectionBroken)
	own := errors.New("an error of its own")
	for _, tt := range []struct {
		call string
		qp   error
		want error
	}{
		{"post sends", broken, broken},
		{"post sends", nil, refusal},
		{"post sends", verbs.ErrDisconnected, refusal},
		{"post receives", broken, broken},
		{"post receives", nil, refusal},
	} {
		t.Run(fmt.Sprintf("%s %v", tt.call, tt.qp), func(t *testing.T) {
			r := newRig(t)
			r.d.Start(fakeEngine{r})
			released := []*engine.Request{{}, {Err: own}}
			r.step = func(events []engine.Event, f *engine.Effects) {
				if with(events, engine.EventCall) {
					f.Recvs, f.Sends, f.Release = make([]verbs.RecvWR, 1), make([]verbs.SendWR, 1), released
				}
			}
			r.post = func(call string) error {
				if call == tt.call {
					r.qpErr = tt.qp
					return refusal
				}
				return nil
			}
			var seen []error
			r.effects = func(f *engine.Effects) {
				for _, q := range f.Release {
					seen = append(seen, q.Err)
				}
			}
			r.d.Post(engine.Event{Kind: engine.EventCall})
			if !r.has(tt.call, "disconnect", "effects", "step") {
				t.Errorf("calls %q", r.calls)
			}
			found := r.events(engine.EventBroken)
			if !slices.ContainsFunc(found, func(ev engine.Event) bool { return ev.Err == tt.want && ev.WC == nil }) {
				t.Errorf("events %v, want one with %v", found, tt.want)
			}
			want := []error{tt.want, own}
			if tt.call != "post sends" {
				want[0] = nil
			}
			if !slices.Equal(seen, want) {
				t.Errorf("Requests were released with %v, want %v", seen, want)
			}
		})
	}
}

// The queue pair's failure comes as an event with its cause.
func TestFailureOfTheQueuePairIsAnEvent(t *testing.T) {
	r := newRig(t)
	r.d.Start(fakeEngine{r})
	r.qpErr = verbs.ErrPeerDisconnected
	if err := r.d.QP().Disconnect(); err != nil {
		t.Fatal(err)
	}
	if got := r.events(engine.EventBroken); len(got) != 1 || got[0].Err != verbs.ErrPeerDisconnected {
		t.Errorf("events %v, want one with %v", got, verbs.ErrPeerDisconnected)
	}
}

// The timer fires at the earliest deadline. One that moves to a later time does not set it: the
// engine gets EventTimer at the earlier time, and asks for the later one then.
func TestTimerFiresAtTheEarliestDeadline(t *testing.T) {
	const s = time.Second
	for _, tt := range []struct {
		name      string
		deadlines []time.Duration // of the steps, from time 0 on
		then      time.Duration   // of the step with the first EventTimer; 0: none
		want      []time.Duration // of EventTimer
	}{
		{"none", []time.Duration{0, 0}, 0, nil},
		{"one", []time.Duration{5 * s}, 0, []time.Duration{5 * s}},
		{"none after one", []time.Duration{5 * s, 0}, 0, []time.Duration{5 * s}},
		{"later", []time.Duration{5 * s, 8 * s}, 8 * s, []time.Duration{5 * s, 8 * s}},
		{"earlier", []time.Duration{5 * s, 2 * s}, 0, []time.Duration{2 * s}},
		{"earlier, then later", []time.Duration{5 * s, 2 * s, 9 * s}, 9 * s, []time.Duration{2 * s, 9 * s}},
		{"the same", []time.Duration{5 * s, 5 * s}, 0, []time.Duration{5 * s}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t)
				left, then := tt.deadlines, tt.then
				var got []time.Duration
				r.step = func(events []engine.Event, f *engine.Effects) {
					switch {
					case with(events, engine.EventTimer):
						got = append(got, r.times[len(r.times)-1])
						f.Deadline, then = then, 0
					case len(left) > 0:
						f.Deadline, left = left[0], left[1:]
					}
				}
				r.d.Start(fakeEngine{r})
				for len(left) > 0 {
					r.d.Post(engine.Event{Kind: engine.EventTerms})
				}
				time.Sleep(time.Minute)
				r.d.Stop()
				if diff := cmp.Diff(tt.want, got); diff != "" {
					t.Errorf("times of EventTimer (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// Completions that wait for a Receive come with the timer, before it in the same step: completed
// work is not late.
func TestTimerPolls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.step = func(events []engine.Event, f *engine.Effects) {
			if with(events, engine.EventStart) {
				f.Deadline = time.Second
			}
		}
		r.d.Start(fakeEngine{r})
		r.sends.complete(verbs.WC{WRID: 1})
		time.Sleep(time.Minute)
		r.d.Stop()
		want := [][]engine.EventKind{{engine.EventStart}, {engine.EventCompletion, engine.EventTimer}}
		if diff := cmp.Diff(want, r.kinds()); diff != "" {
			t.Errorf("events (-want +got):\n%s", diff)
		}
	})
}
