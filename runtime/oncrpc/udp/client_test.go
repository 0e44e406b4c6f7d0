package udp_test

import (
	"context"
	"errors"
	"net"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/leak"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/rpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/udp"
)

// socket returns a socket of a server that a test scripts.
func socket(t testing.TB) *net.UDPConn {
	t.Helper()
	sock, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	_ = sock.SetReadDeadline(time.Now().Add(leak.Patience()))
	t.Cleanup(func() { _ = sock.Close() })
	return sock
}

// A Call is sent again with the same XID and the same bytes until it is answered. Replies with
// another XID, Calls, short datagrams and datagrams from another address do not count. R284
func TestCallIsSentUntilItIsAnswered(t *testing.T) {
	server, stranger := socket(t), socket(t)
	c := dial(t, server.LocalAddr().String(), often)
	first := make(chan []byte, 1)
	go func() {
		b := make([]byte, 1000)
		var sent []byte
		for i := range 20 {
			n, from, err := server.ReadFromUDP(b)
			if err != nil {
				t.Error(err)
				return
			}
			if sent == nil {
				sent = append(sent, b[:n]...)
			} else if string(b[:n]) != string(sent) {
				t.Errorf("transmission %d differs: %x, first %x", i+1, b[:n], sent)
			}
			xid := xidOf(b)
			for _, answer := range [][]byte{nil, {1, 2, 3}, reply(t, xid+1), call(t, xid, 1)} {
				_, _ = server.WriteToUDP(answer, from)
			}
			_, _ = stranger.WriteToUDP(reply(t, xid), from)
		}
		_, from, _ := server.ReadFromUDP(b)
		_, _ = server.WriteToUDP(reply(t, xidOf(sent)), from)
		first <- sent
	}()
	if err := rpc.NewClient(c, program, nil).Call(soon(t), 1, nil, nil, nil); err != nil {
		t.Error(err)
	}
	select {
	case <-first:
	case <-time.After(leak.Patience()):
		t.Fatalf("the Call was not sent 20 times, with %+v", c.Stats())
	}
	if st := c.Stats(); st.Retransmissions < 20 || st.StrayReplies < 3 {
		t.Errorf("%+v: the Call was sent again 20 times at least, and strays came", st)
	}
}

// Renew makes the message of each further transmission. If it fails, so does the Call.
func TestRenewMakesEachFurtherMessage(t *testing.T) {
	server := socket(t)
	c := dial(t, server.LocalAddr().String(), often)
	xid, renewed := c.XID(), errors.New("no further transmission")
	cl := &oncrpc.Call{Message: oncrpc.Message{Inline: call(t, xid, 1)}}
	n := uint32(1)
	cl.Renew = func(context.Context) (oncrpc.Message, error) {
		if n++; n == 4 {
			return oncrpc.Message{}, renewed
		}
		return oncrpc.Message{Inline: call(t, xid, n)}, nil
	}
	_, err := c.Call(soon(t), cl)
	var ce *oncrpc.CallError
	if !errors.Is(err, renewed) || !errors.As(err, &ce) || !ce.MayHaveRun {
		t.Error(err)
	}
	b := make([]byte, 1000)
	for want := uint32(1); want < 4; want++ {
		size, err := server.Read(b)
		_, _, proc, _ := oncrpc.Procedure(b[:size])
		if err != nil || proc != want {
			t.Errorf("transmission %d is of procedure %d, %v", want, proc, err)
		}
	}
}

// A port that no program has fails the Call at once, and a later Call succeeds when one has it.
func TestCallToAPortWithoutProgramFails(t *testing.T) {
	gone := socket(t)
	addr := gone.LocalAddr().String()
	_ = gone.Close()
	c := dial(t, addr, nil)
	for range 2 {
		_, err := c.Call(soon(t), &oncrpc.Call{Message: oncrpc.Message{Inline: call(t, c.XID(), 1)}})
		var ce *oncrpc.CallError
		if !errors.Is(err, udp.ErrRefused) || !errors.As(err, &ce) {
			t.Error(err)
		}
	}
	listen(t, addr, newService(), nil)
	double(t, c)
}

// A Call that does not fit in a datagram is not sent.
func TestLongCall(t *testing.T) {
	c := dial(t, listen(t, "127.0.0.1:0", newService(), nil).Addr(), once)
	b := append(call(t, c.XID(), 1), make([]byte, udp.MaxMessage)...)
	_, err := c.Call(soon(t), &oncrpc.Call{Message: oncrpc.Message{Inline: b[:len(b)&^3]}})
	var ce *oncrpc.CallError
	if !errors.Is(err, udp.ErrSize) || !errors.As(err, &ce) || ce.MayHaveRun {
		t.Error(err)
	}
	double(t, c)
}

// Close fails Calls in progress, which may have run, and all further ones, which have not.
func TestClientClose(t *testing.T) {
	server := socket(t)
	c := dial(t, server.LocalAddr().String(), once)
	done := make(chan error, 1)
	go func() {
		_, err := c.Call(soon(t), &oncrpc.Call{Message: oncrpc.Message{Inline: call(t, c.XID(), 1)}})
		done <- err
	}()
	if _, err := server.Read(make([]byte, 100)); err != nil {
		t.Error(err)
	}
	if c.Err() != nil {
		t.Error(c.Err())
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	var ce *oncrpc.CallError
	if err := <-done; !errors.Is(err, oncrpc.ErrClosed) || !errors.As(err, &ce) || !ce.MayHaveRun {
		t.Error(err)
	}
	<-c.Done()
	_, err := c.Call(soon(t), &oncrpc.Call{Message: oncrpc.Message{Inline: call(t, c.XID(), 1)}})
	if !errors.Is(err, oncrpc.ErrClosed) || !errors.As(err, &ce) || ce.MayHaveRun || c.Close() != nil {
		t.Error(err)
	}
}

// MaxCalls limits the Calls in progress: a further one waits, and was not sent if it is cancelled.
func TestMaxCalls(t *testing.T) {
	server := socket(t)
	c := dial(t, server.LocalAddr().String(), &udp.Config{MaxCalls: 1, MinRetransmit: -1})
	first := make(chan error, 1)
	go func() {
		_, err := c.Call(soon(t), &oncrpc.Call{Message: oncrpc.Message{Inline: call(t, 1, 1)}})
		first <- err
	}()
	b := make([]byte, 100)
	_, from, err := server.ReadFromUDP(b)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	second := make(chan error, 1)
	go func() {
		_, err := c.Call(ctx, &oncrpc.Call{Message: oncrpc.Message{Inline: call(t, 2, 1)}})
		second <- err
	}()
	cancel()
	var ce *oncrpc.CallError
	if err := <-second; !errors.Is(err, context.Canceled) || !errors.As(err, &ce) || ce.MayHaveRun {
		t.Error(err)
	}
	_, _ = server.WriteToUDP(reply(t, 1), from)
	if err := <-first; err != nil {
		t.Error(err)
	}
}
