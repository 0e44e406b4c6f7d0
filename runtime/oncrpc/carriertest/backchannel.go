package carriertest

import (
	"context"
	"errors"
	"testing"

	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
)

// Backchannel is a carrier for reverse Calls that outlive a connection of the client.
type Backchannel interface {
	oncrpc.Carrier
	Retransmissions() uint64
	Close()
}

// BackchannelServer is a server with a Backchannel.
type BackchannelServer struct {
	Back Backchannel
	Dial func(t *testing.T, reverse oncrpc.Handler) Conn // a further connection of the client
}

// OpenBackchannel starts a server and returns it with its Backchannel. handler makes the server's
// Handler from the function that binds a connection to the Backchannel. Everything is closed at the
// end of the test.
type OpenBackchannel func(t *testing.T, handler func(bind func(oncrpc.Conn)) oncrpc.Handler) BackchannelServer

// RunBackchannel runs the suite of Backchannels.
func RunBackchannel(t *testing.T, open OpenBackchannel) {
	for name, test := range map[string]func(*testing.T, BackchannelServer){
		"SendsAgain": testSendsAgain, "Latest": testLatest, "Closed": testBackchannelClosed,
	} {
		for _, submits := range []bool{false, true} {
			if submits {
				name = "Submitted/" + name
			}
			t.Run(name, func(t *testing.T) {
				s := open(t, func(bind func(oncrpc.Conn)) oncrpc.Handler {
					return oncrpc.HandlerFunc(func(r *oncrpc.Request) {
						bind(r.Conn())
						echo(r)
					})
				})
				if submits {
					s.Back = submittedBack{s.Back, t}
				}
				test(t, s)
			})
		}
	}
}

// submittedBack is a Backchannel whose Calls are submitted, and waited for.
type submittedBack struct {
	Backchannel
	t *testing.T
}

// Call implements oncrpc.Carrier.
func (b submittedBack) Call(ctx context.Context, call *oncrpc.Call) (*oncrpc.Reply, error) {
	return submitAndWait(ctx, b.t, b.Backchannel, call)
}

// dial makes a connection that is bound. Its reverse Calls are answered with a name.
func (s BackchannelServer) dial(t *testing.T, name string) Conn {
	t.Helper()
	c := s.Dial(t, oncrpc.HandlerFunc(func(r *oncrpc.Request) { r.Reply(replyMessage(xidOf(r), []byte(name)), nil) }))
	do(t, c, 1, nil, 0)
	return c
}

// A reverse Call whose connection is lost waits for the client's next one, and is sent again there
// with the same XID (R278).
func testSendsAgain(t *testing.T, s BackchannelServer) {
	lost := make(chan uint32, 1)
	first := s.Dial(t, oncrpc.HandlerFunc(func(r *oncrpc.Request) {
		lost <- xidOf(r)
		r.Drop(nil)
	}))
	do(t, first, 1, nil, 0)
	xid := s.Back.XID()
	done := make(chan error, 1)
	go func() {
		_, err := s.Back.Call(soon(t), newCall(xid, 1, nil, 0))
		done <- err
	}()
	if got := <-lost; got != xid {
		t.Errorf("XID %#x, want %#x", got, xid)
	}
	_ = first.Close()
	again := make(chan uint32, 1)
	second := s.Dial(t, oncrpc.HandlerFunc(func(r *oncrpc.Request) {
		again <- xidOf(r)
		echo(r)
	}))
	select {
	case err := <-done:
		t.Fatalf("it did not wait for the client: %v", err)
	default:
	}
	do(t, second, 1, nil, 0)
	if err := <-done; err != nil {
		t.Error(err)
	}
	if got := <-again; got != xid {
		t.Errorf("sent again with XID %#x, want %#x", got, xid)
	}
	if n := s.Back.Retransmissions(); n != 1 {
		t.Errorf("%d Calls were sent again, want 1", n)
	}
}

// Of several connections that are up, the one bound last is used.
func testLatest(t *testing.T, s BackchannelServer) {
	want := func(name string) {
		t.Helper()
		if got := do(t, s.Back, 1, nil, 0); string(got) != name {
			t.Errorf("%q answered, want %q", got, name)
		}
	}
	first := s.dial(t, "first")
	want("first")
	second := s.dial(t, "second")
	want("second")
	_ = second.Close()
	want("first")
	do(t, first, 1, nil, 0)
	want("first")
}

// After Close, Calls that wait for a connection fail, and so do further ones. They have not run.
func testBackchannelClosed(t *testing.T, s BackchannelServer) {
	done := make(chan error, 1)
	go func() {
		_, err := s.Back.Call(soon(t), newCall(s.Back.XID(), 1, nil, 0))
		done <- err
	}()
	s.Back.Close()
	wantError(t, <-done, oncrpc.ErrClosed, false)
	_, err := s.Back.Call(soon(t), newCall(s.Back.XID(), 1, nil, 0))
	wantError(t, err, oncrpc.ErrClosed, false)
	if _, err := s.Back.Call(soon(t), &oncrpc.Call{Message: replyMessage(1, nil)}); !errors.Is(err, oncrpc.ErrMessage) {
		t.Errorf("a Reply to send: %v", err)
	}
}
