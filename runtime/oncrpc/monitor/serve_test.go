package monitor_test

import (
	"errors"
	"maps"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/monitor"
)

// A look begins a recording, which lasts Config.Keep after the last one.
func TestRecordingLastsWhileSomebodyLooks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := monitor.New(&monitor.Config{Programs: []oncrpc.Program{program}})
		get := func() {
			serve(m, &responder{addr: "192.0.2.1:9"}, callOf(7, 400, 2, 1), func(r *oncrpc.Request) { r.Reply(replyOf(7, oncrpc.Success), nil) })
		}
		get() // before the first look
		if s := m.Look(monitor.Query{}); len(s.Procedures) != 0 {
			t.Fatalf("before the first look: %+v", s.Procedures)
		}
		began := time.Now()
		get()
		for range 3 {
			time.Sleep(monitor.DefaultKeep - 1)
			m.Look(monitor.Query{})
		}
		get()
		time.Sleep(monitor.DefaultKeep)
		synctest.Wait()
		get() // the recording is over
		if s := m.Look(monitor.Query{}); len(s.Procedures) != 1 || s.Procedures[0].Times.Count != 2 || !s.Since.After(began) {
			t.Errorf("procedures %+v since %v, want 2 calls, and a second recording", s.Procedures, s.Since)
		}
		time.Sleep(monitor.DefaultKeep)
	})
}

// A look at the moment at which the recording stops prolongs it.
func TestLookAtTheEndOfARecording(t *testing.T) {
	for range 50 {
		synctest.Test(t, func(t *testing.T) {
			m := monitor.New(nil)
			m.Look(monitor.Query{})
			time.Sleep(monitor.DefaultKeep)
			m.Look(monitor.Query{})
			synctest.Wait()
			serve(m, &responder{}, callOf(7, 400, 2, 1), func(r *oncrpc.Request) { r.Reply(replyOf(7, oncrpc.Success), nil) })
			if p := only(t, m); p.Times.Count != 1 {
				t.Errorf("%+v", p)
			}
			time.Sleep(2 * monitor.DefaultKeep)
		})
	}
}

// Two answers at once, and one after a panic, are counted once. The race detector looks on.
func TestAnswersAtOnce(t *testing.T) {
	m := monitor.New(&monitor.Config{Keep: -1})
	var wg sync.WaitGroup
	for range 100 {
		serve(m, &idleResponder{}, callOf(7, 400, 2, 1), func(r *oncrpc.Request) {
			for range 2 {
				wg.Go(func() { r.Reply(replyOf(7, oncrpc.Success), nil) })
			}
		})
		func() {
			defer func() { _ = recover() }()
			serve(m, &idleResponder{}, callOf(7, 400, 2, 1), func(r *oncrpc.Request) {
				wg.Go(func() { r.Reply(replyOf(7, oncrpc.Success), nil) })
				panic("planned")
			})
		}()
	}
	wg.Wait()
	if p := only(t, m); p.Times.Count != 200 || p.Outcomes["SUCCESS"] < 100 {
		t.Errorf("%+v", p.Outcomes)
	}
}

// idleResponder takes answers from any number of goroutines.
type idleResponder struct{ oncrpc.Responder }

func (*idleResponder) Conn() oncrpc.Conn                 { return peer{} }
func (*idleResponder) Reply(oncrpc.Message, func(error)) {}

// With a negative Keep all Calls are recorded.
func TestRecordingWithoutAnEnd(t *testing.T) {
	m := monitor.New(&monitor.Config{Keep: -1})
	serve(m, &responder{}, callOf(7, 9, 8, 7), func(r *oncrpc.Request) { r.Reply(replyOf(7, oncrpc.Success), nil) })
	if p := only(t, m); p.Name != "9 v8 procedure 7" || p.Made || p.Times.Count != 1 {
		t.Errorf("%+v", p)
	}
}

// A Request is counted once, by the first answer.
func TestOutcomesOfRequests(t *testing.T) {
	denied, _ := (&oncrpc.ReplyError{Reply: oncrpc.Denied, Reject: oncrpc.AuthError, Auth: oncrpc.AuthStatTooWeak}).Header(7).AppendBinary(nil)
	mismatch, _ := (&oncrpc.ReplyError{Reply: oncrpc.Denied, Reject: oncrpc.RPCMismatch}).Header(7).AppendBinary(nil)
	for name, tt := range map[string]struct {
		serve          func(*oncrpc.Request)
		replies, drops int
	}{
		"SUCCESS":      {func(r *oncrpc.Request) { r.Reply(replyOf(7, oncrpc.Success), nil) }, 1, 0},
		"PROC_UNAVAIL": {func(r *oncrpc.Request) { r.Reply(replyOf(7, oncrpc.ProcUnavail), nil) }, 1, 0},
		"AUTH_TOOWEAK": {func(r *oncrpc.Request) { r.Reply(oncrpc.Message{Inline: denied}, nil) }, 1, 0},
		"RPC_MISMATCH": {func(r *oncrpc.Request) { r.Reply(oncrpc.Message{Inline: mismatch}, nil) }, 1, 0},
		"malformed":    {func(r *oncrpc.Request) { r.Reply(oncrpc.Message{Inline: []byte{1, 2}}, nil) }, 1, 0},
		"dropped":      {func(r *oncrpc.Request) { r.Drop(nil) }, 0, 1},
		"SYSTEM_ERR": {func(r *oncrpc.Request) {
			r.Reply(replyOf(7, oncrpc.SystemErr), nil)
			r.Reply(replyOf(7, oncrpc.Success), nil)
			r.Drop(nil)
		}, 2, 1},
		"panic": {func(r *oncrpc.Request) { panic("at the disco") }, 0, 0},
	} {
		m, r := monitor.New(&monitor.Config{Programs: []oncrpc.Program{program}, Keep: -1}), &responder{addr: "192.0.2.1:9"}
		func() {
			defer func() {
				if v := recover(); (v != nil) != (name == "panic") {
					t.Errorf("%s: panic %v", name, v)
				}
			}()
			serve(m, r, callOf(7, 400, 2, 2), tt.serve)
		}()
		if p := only(t, m); !maps.Equal(p.Outcomes, map[string]uint64{name: 1}) || p.Name != "STORE2 PUT" || p.Received != 40 || p.Peer != "" {
			t.Errorf("%s: %+v", name, p)
		}
		if r.replies != tt.replies || r.drops != tt.drops {
			t.Errorf("%s: the carrier got %d replies and %d drops, want %d and %d", name, r.replies, r.drops, tt.replies, tt.drops)
		}
		if s := m.Look(monitor.Query{}); s.Total != 0 {
			t.Errorf("%s: %d calls are in progress", name, s.Total)
		}
	}
}

// The time until a reply is sent is counted apart, and its done function runs once.
func TestSendingIsCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, r, n := monitor.New(&monitor.Config{Keep: -1}), &responder{}, 0
		for _, err := range []error{nil, errors.New("lost")} {
			serve(m, r, callOf(7, 400, 2, 1), func(q *oncrpc.Request) {
				time.Sleep(time.Second)
				q.Reply(replyOf(7, oncrpc.Success), func(got error) {
					if n++; got != err {
						t.Errorf("done gets %v, want %v", got, err)
					}
				})
			})
			time.Sleep(time.Minute)
			r.done(err)
		}
		p := only(t, m)
		if p.Sending.Count != 1 || p.Sending.Max != time.Minute || p.Times.Count != 2 || p.Times.Sum != 2*time.Second || n != 2 {
			t.Errorf("%+v, done ran %d times", p, n)
		}
	})
}

// Calls in progress are shown with their ages, oldest first.
func TestCallsInProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := monitor.New(&monitor.Config{Programs: []oncrpc.Program{program}, Keep: -1})
		var held []*oncrpc.Request
		for xid := range uint32(300) {
			serve(m, &responder{addr: "192.0.2.1:9"}, callOf(xid, 400, 2, 1), func(r *oncrpc.Request) { held = append(held, r) })
			time.Sleep(time.Second)
		}
		s := m.Look(monitor.Query{})
		first := monitor.InProgress{Peer: "192.0.2.1:9", Name: "STORE2 GET", Age: 300 * time.Second}
		if s.Total != 300 || len(s.InProgress) != 200 || s.InProgress[0] != first || s.InProgress[199].XID != 199 {
			t.Errorf("%d of %d, first %+v", len(s.InProgress), s.Total, s.InProgress[0])
		}
		for _, i := range []int{299, 0, 150} { // last, first, and one between
			held[i].Reply(replyOf(uint32(i), oncrpc.Success), nil)
		}
		if s := m.Look(monitor.Query{}); s.Total != 297 || s.InProgress[0].XID != 1 || s.InProgress[149].XID != 151 {
			t.Errorf("%d, first %+v", s.Total, s.InProgress[0])
		}
	})
}

// What a Handler says of its procedures, and what a Request says of its caller, stays.
func TestHandlerIsTransparent(t *testing.T) {
	m := monitor.New(&monitor.Config{Keep: -1})
	h := m.Handler(talker{})
	if oncrpc.BoundOf(h, 1, 2, 3) != 6 || !oncrpc.IsNull(h, 1, 2) || !oncrpc.NonBlocking(h, 1, 2, 3) || !oncrpc.ForgetsRequests(h) {
		t.Error("a Handler that says something of its procedures says it no more")
	}
	h = m.Handler(oncrpc.HandlerFunc(func(*oncrpc.Request) {}))
	if oncrpc.BoundOf(h, 1, 2, 3) >= 0 || oncrpc.IsNull(h, 1, 2) || oncrpc.NonBlocking(h, 1, 2, 3) || oncrpc.ForgetsRequests(h) {
		t.Error("a Handler that says nothing of its procedures says something")
	}
	serve(m, known{&responder{}}, callOf(7, 1, 1, 1), func(r *oncrpc.Request) {
		if a, ok := r.Responder.(oncrpc.Authenticated); !ok || a.Principal() != "alice" {
			t.Error("the caller's name is lost")
		}
		r.Drop(nil)
	})
	serve(m, &responder{}, callOf(7, 1, 1, 1), func(r *oncrpc.Request) {
		if _, ok := r.Responder.(oncrpc.Authenticated); ok {
			t.Error("a caller without a name has one")
		}
		r.Drop(nil)
	})
}

// talker is a Handler that says something of its procedures.
type talker struct{ oncrpc.HandlerFunc }

func (talker) ReplyBound(a, b, c uint32) int   { return int(a + b + c) }
func (talker) IsNull(a, b uint32) bool         { return a == 1 && b == 2 }
func (talker) NonBlocking(a, b, c uint32) bool { return a == 1 && b == 2 && c == 3 }
func (talker) ForgetsRequests() bool           { return true }

// Without a look, a Call costs no memory.
func TestCallsCostNothingWithoutALook(t *testing.T) {
	m := monitor.New(nil)
	r := &oncrpc.Request{Message: callOf(7, 400, 2, 1), Responder: &responder{}}
	reply := replyOf(7, oncrpc.Success)
	h := m.Handler(oncrpc.HandlerFunc(func(r *oncrpc.Request) { r.Reply(reply, nil) }))
	answer := new(oncrpc.Reply)
	c := m.Carrier(peer{call: func(*oncrpc.Call) (*oncrpc.Reply, error) { return answer, nil }})
	call := &oncrpc.Call{Message: oncrpc.Message{Inline: r.Message}}
	if n := testing.AllocsPerRun(100, func() {
		h.ServeRPC(r)
		_, _ = c.Call(t.Context(), call)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// A peer that calls every procedure there is does not fill the memory.
func TestProceduresAreLimited(t *testing.T) {
	m := monitor.New(&monitor.Config{Keep: -1, MaxProcedures: 10, ByPeer: true})
	for proc := range uint32(1000) {
		serve(m, &responder{addr: "192.0.2.1:9"}, callOf(7, 400, 2, proc/2), func(r *oncrpc.Request) { r.Drop(nil) })
	}
	s := m.Look(monitor.Query{})
	if len(s.Procedures) != 11 {
		t.Fatalf("%d procedures, want 10 and others", len(s.Procedures))
	}
	if o := s.Procedures[0]; o.Name != "others" || o.Peer != "" || o.Times.Count != 980 {
		t.Errorf("%+v", o)
	}
	if p := s.Procedures[1]; p.Peer != "192.0.2.1" || p.Times.Count != 2 {
		t.Errorf("%+v", p)
	}
	answer := &oncrpc.Reply{Message: replyOf(7, oncrpc.Success).Inline}
	c := m.Carrier(peer{call: func(*oncrpc.Call) (*oncrpc.Reply, error) { return answer, nil }})
	if _, err := c.Call(t.Context(), &oncrpc.Call{Message: oncrpc.Message{Inline: callOf(7, 400, 2, 1)}}); err != nil {
		t.Fatal(err)
	}
	others := 0
	for _, p := range m.Look(monitor.Query{}).Procedures {
		if p.Name == "others" && p.Made {
			others += int(p.Times.Count)
		}
	}
	if others != 1 {
		t.Errorf("others that a client made are %d, want 1, apart from those that a server got", others)
	}
}
