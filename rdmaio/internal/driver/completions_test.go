package driver

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rpcrdma/rpcrdma/rdmaio/internal/engine"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// A completion between a Poll of a queue and its Arm would wait for the next one, so queues are
// armed first. More completions may follow a full batch.
func TestQueuesAreArmedBeforeTheyArePolled(t *testing.T) {
	for _, tt := range []struct{ sends, receives, first, second int }{
		{0, 0, 0, 0}, {3, 4, 7, 0}, {0, polled - 1, polled - 1, 0}, {0, polled, polled, 0},
		{polled, 8, polled, 8}, {polled/2 + 4, polled/2 + 4, polled, 8}, {0, polled + 8, polled, 8},
	} {
		r := newRig(t)
		r.sends.wcs, r.recvs.wcs = make([]verbs.WC, tt.sends), make([]verbs.WC, tt.receives)
		events, again := r.d.gather(nil, true, true)
		if len(events) != tt.first || again != (tt.first == len(r.d.wcs)) {
			t.Errorf("%d and %d completions: %d taken, again %t", tt.sends, tt.receives, len(events), again)
		}
		for _, q := range []string{"sends", "receives"} {
			arm, poll := slices.Index(r.calls, "arm "+q), slices.Index(r.calls, "poll "+q)
			if arm < 0 || poll >= 0 && poll < arm {
				t.Errorf("%d and %d completions: %q", tt.sends, tt.receives, r.calls)
			}
		}
		if !again {
			continue
		}
		if events, again = r.d.gather([]engine.Event{}, false, false); len(events) != tt.second || again {
			t.Errorf("%d and %d completions: %d taken the second time, again %t", tt.sends, tt.receives, len(events), again)
		}
	}
}

// Whenever two completions come, before, between and after the calls of the completion queues, the
// engine gets both: completed Receives always, completed sends only while it awaits them.
func TestNoCompletionMissed(t *testing.T) {
	const points = 24 // more than there are calls
	for _, await := range []bool{false, true} {
		for first := range points {
			for second := first; second < points; second++ {
				for queues := range 4 {
					if !await && queues != 0 {
						continue
					}
					r := newRig(t)
					r.step = func(_ []engine.Event, f *engine.Effects) { f.Await = await }
					at := [2]int{first, second}
					var sent [2]bool
					complete := func(k int) {
						sent[k] = true
						q := r.recvs
						if queues>>k&1 == 1 {
							q = r.sends
						}
						q.complete(verbs.WC{WRID: uint64(k)})
					}
					n := -1
					r.during = func(string) {
						n++
						for k, point := range at {
							if !sent[k] && point == n {
								complete(k)
							}
						}
					}
					r.d.Start(fakeEngine{r})
					for k := range at {
						if !sent[k] {
							complete(k) // the Driver is idle
						}
					}
					var got [2]int
					for _, ev := range r.events(engine.EventCompletion) {
						got[ev.WC.WRID]++
					}
					if got != [2]int{1, 1} {
						t.Fatalf("await %t, queues %02b, completions at calls %d and %d: the engine got %v of them, want one each; calls %q",
							await, queues, first, second, got, r.calls)
					}
				}
			}
		}
	}
}

// The completion queue of the send queue is armed only while the engine awaits its completions.
// Otherwise they come with the next Receive, before it.
func TestSendsArmedWhileAwaited(t *testing.T) {
	r := newRig(t)
	var await bool
	r.step = func(_ []engine.Event, f *engine.Effects) { f.Await = await }
	r.d.Start(fakeEngine{r})
	r.sends.complete(verbs.WC{WRID: 1})
	if n := len(r.events(engine.EventCompletion)); n != 0 || r.sends.armed {
		t.Fatalf("%d completions of the send queue came at once, armed %t", n, r.sends.armed)
	}
	r.recvs.complete(verbs.WC{WRID: 2})
	if got := r.events(engine.EventCompletion); len(got) != 2 || got[0].WC.WRID != 1 || got[1].WC.WRID != 2 {
		t.Fatalf("events %v, want the completion of the Send before that of the Receive", got)
	}
	await = true
	r.d.Post(engine.Event{Kind: engine.EventTerms})
	if !r.sends.armed {
		t.Error("the engine awaits completions of Sends, and their queue is not armed")
	}
	await = false
	for id := range uint64(2) { // the Step with the first one says that no more are awaited
		r.sends.complete(verbs.WC{WRID: 3 + id})
	}
	if n := len(r.events(engine.EventCompletion)); n != 4 || r.sends.armed {
		t.Errorf("%d completions, want 4; armed %t, want not", n, r.sends.armed)
	}
	// Receives are armed again after each notification, and only then.
	if n := r.count("arm receives"); n != 2 {
		t.Errorf("the queue of Receives was armed %d times for one notification, want 2", n)
	}
}

// A failed completion closes the connection. The reason is the queue pair's cause, because it says
// more than a status. A failed Send also names its request, which a Receive does not. Flushed
// completions are not reasons, because an earlier failure caused them.
func TestFailedCompletion(t *testing.T) {
	broken := fmt.Errorf("%w: by the peer", verbs.ErrConnectionBroken)
	status := verbs.StatusError{Status: verbs.StatusRemoteAccess}
	for _, tt := range []struct {
		name  string
		sends bool
		qp    error
		want  error
	}{
		{"Send, cause known", true, broken, broken},
		{"Receive, cause known", false, broken, broken},
		{"Send, cause unknown", true, nil, status},
		{"Receive, cause unknown", false, nil, status},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newRig(t)
			r.step = func(_ []engine.Event, f *engine.Effects) { f.Await = true }
			r.d.Start(fakeEngine{r})
			r.qpErr = tt.qp
			q := r.recvs
			if tt.sends {
				q = r.sends
			}
			q.complete(verbs.WC{WRID: 3, Status: verbs.StatusRemoteAccess})
			all := r.events(engine.EventBroken)
			if len(all) == 0 || !errors.Is(all[0].Err, tt.want) || (all[0].WC != nil) != tt.sends {
				t.Errorf("events %v, want the cause %v, with the request %t", all, tt.want, tt.sends)
			}
			q.complete(verbs.WC{WRID: 4, Status: verbs.StatusFlushed})
			if again := r.events(engine.EventBroken); len(again) != len(all) || len(r.events(engine.EventCompletion)) != 1 {
				t.Errorf("a flushed completion: events %v", again)
			}
		})
	}
}

// An error of a completion queue closes the connection.
func TestClosedQueue(t *testing.T) {
	r := newRig(t)
	r.d.recvs.cq = closedCQ{}
	r.d.Start(fakeEngine{r})
	want := [][]engine.EventKind{{engine.EventBroken, engine.EventStart}}
	if diff := cmp.Diff(want, r.kinds()); diff != "" || !errors.Is(r.steps[0][0].Err, verbs.ErrClosed) {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

// An error of the send queue's completion queue closes the connection, though the other queue can
// be armed.
func TestClosedSendQueue(t *testing.T) {
	r := newRig(t)
	r.d.sends.cq = closedCQ{}
	r.step = func(events []engine.Event, f *engine.Effects) { f.Await = with(events, engine.EventStart) }
	r.effects = func(*engine.Effects) { r.d.recvs.armed = false } // as if it had notified
	r.d.Start(fakeEngine{r})
	want := [][]engine.EventKind{{engine.EventStart}, {engine.EventBroken}}
	if diff := cmp.Diff(want, r.kinds()); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

// The completions of as many Calls as a busy connection has at a time are one step.
func TestBatchOfCompletionsIsOneStep(t *testing.T) {
	r := newRig(t)
	r.d.Start(fakeEngine{r})
	const batch = 60
	r.recvs.wcs = make([]verbs.WC, batch)
	r.recvs.notify()
	for _, step := range r.kinds() {
		if n := len(step); n != batch && step[0] == engine.EventCompletion {
			t.Errorf("a step has %d completions, want all %d", n, batch)
		}
	}
	if n := len(r.events(engine.EventCompletion)); n != batch {
		t.Errorf("%d completions were served, want %d", n, batch)
	}
}

// All completions are served after one notification, also if they are more than one batch.
func TestMoreCompletionsThanABatch(t *testing.T) {
	r := newRig(t)
	r.d.Start(fakeEngine{r})
	r.recvs.wcs = make([]verbs.WC, 2*polled+1)
	r.recvs.notify()
	if n := len(r.events(engine.EventCompletion)); n != 2*polled+1 {
		t.Errorf("%d completions were served, want %d", n, 2*polled+1)
	}
}

// A completion queue that is armed and has not notified is not armed again.
func TestArmedOnce(t *testing.T) {
	r := newRig(t)
	r.step = func(_ []engine.Event, f *engine.Effects) { f.Await = true }
	r.d.Start(fakeEngine{r})
	for range 5 {
		r.recvs.notify()
	}
	if n := r.count("arm sends"); n != 1 {
		t.Errorf("the completion queue of the send queue was armed %d times, want once", n)
	}
}

type closedCQ struct{ verbs.CompletionQueue }

func (closedCQ) Arm(bool) error               { return verbs.ErrClosed }
func (closedCQ) Poll([]verbs.WC) (int, error) { return 0, nil }
