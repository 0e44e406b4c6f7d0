package udp_test

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/leak"
	"github.com/rpcrdma/rpcrdma/internal/xdrtest"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/udp"
)

// submit submits a Call of procedure 1, and returns a channel that gets its error.
func submit(ctx context.Context, t *testing.T, c *udp.Conn, cl *oncrpc.Call) <-chan error {
	t.Helper()
	over := make(chan error, 2)
	if err := c.Submit(ctx, cl, func(_ *oncrpc.Reply, err error) { over <- err }); err != nil {
		t.Fatal(err)
	}
	return over
}

// callOf returns a Call of procedure 1.
func callOf(t *testing.T, xid uint32) *oncrpc.Call {
	return &oncrpc.Call{Message: oncrpc.Message{Inline: call(t, xid, 1)}}
}

// arrives returns the XID and the procedure of the next Call at a socket, and where it came from.
func arrives(t *testing.T, server *net.UDPConn) (xid, proc uint32, from *net.UDPAddr) {
	t.Helper()
	b := make([]byte, 1000)
	n, from, err := server.ReadFromUDP(b)
	if err != nil {
		t.Fatal(err)
	}
	_, _, proc, _ = oncrpc.Procedure(b[:n])
	return xidOf(b), proc, from
}

// ends waits for the end of a Call.
func ends(t *testing.T, over <-chan error) error {
	t.Helper()
	select {
	case err := <-over:
		return err
	case <-time.After(leak.Patience()):
		t.Fatal("a Call never ended")
		return nil
	}
}

// A Call that was submitted is sent again, with the message of Renew if it has that, until it is
// answered.
func TestSubmittedCallIsSentAgain(t *testing.T) {
	for _, renews := range []bool{false, true} {
		server := socket(t)
		c := dial(t, server.LocalAddr().String(), often)
		cl, n := callOf(t, 7), uint32(1)
		if renews {
			cl.Renew = func(context.Context) (oncrpc.Message, error) {
				n++
				return oncrpc.Message{Inline: call(t, 7, n)}, nil
			}
		}
		over := submit(soon(t), t, c, cl)
		var from *net.UDPAddr
		for k := range uint32(5) {
			xid, proc, addr := arrives(t, server)
			if want := map[bool]uint32{false: 1, true: k + 1}[renews]; xid != 7 || proc != want {
				t.Errorf("transmission %d: XID %d of procedure %d, want 7 of %d", k+1, xid, proc, want)
			}
			from = addr
		}
		_, _ = server.WriteToUDP(reply(t, 7), from)
		if err := ends(t, over); err != nil {
			t.Error(err)
		}
	}
}

// Calls that wait for a place are sent in their order, each when one before it has its reply. A
// report of the network fails only those that were sent.
func TestSubmittedCallsWaitInOrder(t *testing.T) {
	server := socket(t)
	c := dial(t, server.LocalAddr().String(), &udp.Config{MaxCalls: 1, MinRetransmit: -1})
	var all []<-chan error
	for xid := range uint32(4) {
		all = append(all, submit(soon(t), t, c, callOf(t, xid)))
	}
	for k, over := range all {
		xid, _, from := arrives(t, server)
		if xid != uint32(k) {
			t.Fatalf("Call %d came, want %d", xid, k)
		}
		_, _ = server.WriteToUDP(reply(t, uint32(len(all)-1)), from) // of one that waits
		_, _ = server.WriteToUDP(reply(t, xid), from)
		if err := ends(t, over); err != nil {
			t.Error(err)
		}
	}
	// The last one came twice.
	waitFor(t, func() bool { return c.Stats().StrayReplies == uint64(len(all)) })
}

// A Call that was refused at once has no done function, and leaves its place.
func TestRefusedCallLeavesItsPlace(t *testing.T) {
	server := socket(t)
	c := dial(t, server.LocalAddr().String(), &udp.Config{MaxCalls: 1, MinRetransmit: -1})
	long := &oncrpc.Call{Message: oncrpc.Message{Inline: append(call(t, 1, 1), make([]byte, udp.MaxMessage&^3)...)}}
	for range 3 {
		err := c.Submit(soon(t), long, func(*oncrpc.Reply, error) { t.Error("the done function runs") })
		if ce, ok := errors.AsType[*oncrpc.CallError](err); !ok || !errors.Is(err, udp.ErrSize) || ce.MayHaveRun {
			t.Errorf("found %v, want %v", err, udp.ErrSize)
		}
	}
	over := submit(soon(t), t, c, callOf(t, 2))
	_, _, from := arrives(t, server)
	_, _ = server.WriteToUDP(reply(t, 2), from)
	if err := ends(t, over); err != nil {
		t.Error(err)
	}
}

// A Call that is given up while Renew makes its next message is over when Renew has returned: the
// memory is in use until then. Close waits for it.
func TestCallIsInUseDuringRenew(t *testing.T) {
	for _, closes := range []bool{false, true} {
		server := socket(t)
		c := dial(t, server.LocalAddr().String(), often)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		began, gate := make(chan struct{}), make(chan struct{})
		cl := callOf(t, 3)
		cl.Renew = func(context.Context) (oncrpc.Message, error) {
			close(began)
			<-gate
			return oncrpc.Message{Inline: call(t, 3, 2)}, nil
		}
		over := submit(ctx, t, c, cl)
		<-began
		want, closed := context.Canceled, make(chan struct{})
		if closes {
			want = oncrpc.ErrClosed
			go func() { defer close(closed); leak.Close(t, c) }()
		} else {
			cancel()
		}
		select {
		case err := <-over:
			t.Errorf("the Call ended during Renew: %v", err)
		case <-closed:
			t.Error("Close returned during Renew")
		case <-time.After(20 * time.Millisecond): // one of them usually would
		}
		close(gate)
		if err := ends(t, over); !errors.Is(err, want) {
			t.Errorf("found %v, want %v", err, want)
		}
		if closes {
			<-closed
		}
	}
}

// A Call that is submitted allocates nothing. The race detector empties pools at random.
func TestSubmitAllocatesNothing(t *testing.T) {
	server := socket(t)
	c := dial(t, server.LocalAddr().String(), nil)
	over := make(chan error, 1)
	cl := callOf(t, 5)
	cl.ReplyBuf = make([]byte, 100)
	done := func(_ *oncrpc.Reply, err error) { over <- err }
	answer, to, b := reply(t, 5), netip.MustParseAddrPort(c.LocalAddr()), make([]byte, 1000)
	ctx := soon(t)
	most := 1.0
	if xdrtest.Race {
		most = 4
	}
	if n := testing.AllocsPerRun(200, func() {
		if err := c.Submit(ctx, cl, done); err != nil {
			t.Fatal(err)
		}
		if _, err := server.Read(b); err != nil {
			t.Fatal(err)
		}
		if _, err := server.WriteToUDPAddrPort(answer, to); err != nil {
			t.Fatal(err)
		}
		if err := <-over; err != nil {
			t.Fatal(err)
		}
	}); n >= most {
		t.Errorf("%v allocations for each Call", n)
	}
}
