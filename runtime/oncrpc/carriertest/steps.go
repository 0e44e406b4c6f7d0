package carriertest

import (
	"context"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
)

// The steps that a carrier knows are in their order, within the Call. A Call that was given up has
// no reply.
func testSteps(t *testing.T, open Open) {
	gate, came := make(chan struct{}), make(chan struct{})
	c := open(t, oncrpc.HandlerFunc(func(r *oncrpc.Request) {
		if procOf(r) == 2 {
			close(came)
			<-gate
		}
		echo(r)
	}), nil)
	for _, via := range []oncrpc.Carrier{c, submitted{c, t}} {
		for _, n := range []int{0, 5000} {
			call := newCall(c.XID(), 1, pattern(n), n)
			call.Steps = new(oncrpc.Steps)
			began := time.Now()
			if _, err := via.Call(soon(t), call); err != nil {
				t.Fatal(err)
			}
			s, last := call.Steps, began
			if s.Sent.After(s.Answered) { // the transport may say so after the reply has come
				s.Sent = s.Answered
			}
			for i, at := range []time.Time{s.Placed, s.Sent, s.Answered, time.Now()} {
				if at.IsZero() {
					continue
				}
				if at.Before(last) {
					t.Errorf("step %d of %+v is before the last one, of a Call that began at %v", i, s, began)
				}
				last = at
			}
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	go func() { <-came; cancel() }()
	call := newCall(c.XID(), 2, nil, 0)
	call.Steps = new(oncrpc.Steps)
	_, err := c.Call(ctx, call)
	wantError(t, err, context.Canceled, true)
	if !call.Steps.Answered.IsZero() {
		t.Errorf("a Call without a reply has the steps %+v", call.Steps)
	}
	close(gate)
}
