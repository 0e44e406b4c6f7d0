package monitor_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rpcrdma/rpcrdma/rdmaio"
	verbsmem "github.com/rpcrdma/rpcrdma/rdmaio/providers/mem"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/monitor"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/tcp"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/udp"
)

// The parts of a Call's time are from one step of its carrier to the next.
func TestPartsOfCalls(t *testing.T) {
	for _, late := range []bool{false, true} { // Sent comes after the reply
		synctest.Test(t, func(t *testing.T) {
			m := monitor.New(&monitor.Config{Keep: -1})
			c := m.Carrier(peer{call: func(call *oncrpc.Call) (*oncrpc.Reply, error) {
				s := call.Steps
				time.Sleep(1 * time.Second)
				s.Placed = time.Now()
				time.Sleep(2 * time.Second)
				s.Sent = time.Now()
				time.Sleep(3 * time.Second)
				s.Answered = time.Now()
				time.Sleep(4 * time.Second)
				if late {
					s.Sent = time.Now()
				}
				return &oncrpc.Reply{Message: replyOf(7, oncrpc.Success).Inline}, nil
			}})
			own := new(oncrpc.Steps)
			for _, steps := range []*oncrpc.Steps{nil, own} {
				call := &oncrpc.Call{Message: oncrpc.Message{Inline: callOf(7, 400, 2, 1)}, Steps: steps}
				if _, err := c.Call(t.Context(), call); err != nil {
					t.Fatal(err)
				}
				if call.Steps != steps {
					t.Error("a Call keeps the memory of the monitor")
				}
			}
			if own.Answered.IsZero() {
				t.Error("the caller's own Steps are not filled")
			}
			p := only(t, m).Parts
			sent, served := 4*time.Second, 6*time.Second
			if late {
				sent, served = 10*time.Second, 0
			}
			if p == nil || p.Waited.Sum != 2*time.Second || p.Sent.Sum != sent || p.Served.Sum != served || p.Received.Sum != 8*time.Second {
				t.Errorf("late %t: %+v", late, p)
			}
		})
	}
}

// A Call without an answer, and a carrier that knows no steps, count for no part.
func TestPartsNeedAllSteps(t *testing.T) {
	m := monitor.New(&monitor.Config{Keep: -1})
	for _, err := range []error{nil, errors.New("lost")} {
		c := m.Carrier(peer{call: func(call *oncrpc.Call) (*oncrpc.Reply, error) {
			if err != nil {
				call.Steps.Placed, call.Steps.Sent = time.Now(), time.Now()
				return nil, err
			}
			return &oncrpc.Reply{Message: replyOf(7, oncrpc.Success).Inline}, nil
		}})
		_, _ = c.Call(t.Context(), &oncrpc.Call{Message: oncrpc.Message{Inline: callOf(7, 400, 2, 1)}})
	}
	if p := only(t, m); p.Times.Count != 2 || p.Parts != nil {
		t.Errorf("%+v", p.Parts)
	}
}

// A Call that waits for the place of another one has waited until that ended, over every carrier.
func TestCallsWaitForAPlace(t *testing.T) {
	for name, open := range map[string]func(*testing.T, oncrpc.Handler) oncrpc.Submitter{
		"tcp": func(t *testing.T, h oncrpc.Handler) oncrpc.Submitter {
			s := closing(t)(tcp.Listen(t.Context(), "127.0.0.1:0", h, nil))
			return closing(t)(tcp.Dial(t.Context(), s.(*tcp.Server).Addr(), &tcp.Config{MaxCalls: 1})).(*tcp.Conn)
		},
		"udp": func(t *testing.T, h oncrpc.Handler) oncrpc.Submitter {
			s := closing(t)(udp.Listen(t.Context(), "127.0.0.1:0", h, nil))
			return closing(t)(udp.Dial(t.Context(), s.(*udp.Server).Addr(), &udp.Config{MaxCalls: 1})).(*udp.Conn)
		},
		"rdma": func(t *testing.T, h oncrpc.Handler) oncrpc.Submitter {
			d := closing(t)(verbsmem.New(nil).Open("device", nil)).(*verbsmem.Device)
			s := closing(t)(rdmaio.Listen(t.Context(), d, "here", h, &rdmaio.Config{Credits: 1}))
			return closing(t)(rdmaio.Dial(t.Context(), d, s.(*rdmaio.Server).Addr(), &rdmaio.Config{Credits: 1})).(*rdmaio.Conn)
		},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, stop := context.WithTimeout(t.Context(), 20*time.Second)
			defer stop()
			gate := make(chan struct{})
			c := open(t, oncrpc.HandlerFunc(func(r *oncrpc.Request) {
				<-gate
				xid, _, _ := oncrpc.Peek(r.Message)
				r.Reply(replyOf(xid, oncrpc.Success), nil)
			}))
			m := monitor.New(&monitor.Config{Keep: -1})
			made := m.Carrier(c)
			var steps [2]oncrpc.Steps
			over := make(chan error, 2)
			for i := range steps {
				call := &oncrpc.Call{Message: oncrpc.Message{Inline: callOf(made.XID(), 400, 2, 1)}, Steps: &steps[i]}
				if err := made.Submit(ctx, call, func(_ *oncrpc.Reply, err error) { over <- err }); err != nil {
					t.Fatal(err)
				}
			}
			submitted := time.Now()
			time.Sleep(time.Millisecond) // the second one waits longer than that
			opened := time.Now()
			close(gate)
			for range steps {
				if err := <-over; err != nil {
					t.Fatal(err)
				}
			}
			for i, s := range steps {
				if s.Placed.IsZero() || s.Sent.IsZero() || s.Answered.Before(opened) || s.Placed.After(opened) != (i == 1) {
					t.Errorf("steps of call %d: %+v, the gate was opened at %v", i, s, opened)
				}
			}
			if p := only(t, m); p.Parts == nil || p.Parts.Waited.Count != 2 || p.Parts.Waited.Max < opened.Sub(submitted) {
				t.Errorf("%+v", p.Parts)
			}
		})
	}
}

// closing returns a function that closes what it is given at the end of the test.
func closing(t *testing.T) func(interface{ Close() error }, error) any {
	return func(c interface{ Close() error }, err error) any {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		return c
	}
}
