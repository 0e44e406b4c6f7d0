package udp

import (
	"context"
	"errors"
	"net"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
)

// patience limits the waits of a test.
const patience = 20 * time.Second

// often sends Calls again at once.
var often = &Config{MinRetransmit: time.Millisecond, MaxRetransmit: time.Millisecond}

// dialDeaf returns a client of a server that answers nothing, and the server.
func dialDeaf(t *testing.T, cfg *Config) (*Conn, *net.UDPConn) {
	t.Helper()
	server, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close() })
	c, err := Dial(context.Background(), server.LocalAddr().String(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c, server
}

// renewedBy returns a Call with a function for its further messages.
func renewedBy(xid uint32, renew func(context.Context) (oncrpc.Message, error)) *oncrpc.Call {
	return &oncrpc.Call{Message: oncrpc.Message{Inline: callTo(xid, 0)}, Renew: renew}
}

// A Renew that panics or exits its goroutine fails its Call, in both forms, and Close returns.
func TestRenewThatDoesNotReturnFailsItsCall(t *testing.T) {
	for name, end := range map[string]func(){"panic": func() { panic("a fault of Renew") }, "exit": runtime.Goexit} {
		t.Run(name, func(t *testing.T) {
			c, _ := dialDeaf(t, often)
			renew := func(context.Context) (oncrpc.Message, error) { end(); return oncrpc.Message{}, nil }
			over := make(chan error, 2)
			go func() {
				_, err := c.Call(context.Background(), renewedBy(1, renew))
				over <- err
			}()
			if err := c.Submit(context.Background(), renewedBy(2, renew), func(_ *oncrpc.Reply, err error) { over <- err }); err != nil {
				t.Fatal(err)
			}
			for range 2 {
				select {
				case err := <-over:
					if !errors.Is(err, oncrpc.ErrPanic) {
						t.Errorf("%v, want %v", err, oncrpc.ErrPanic)
					}
				case <-time.After(patience):
					t.Fatal("the Call is not over")
				}
			}
			if c.Err() != nil {
				t.Errorf("the Conn is closed: %v", c.Err())
			}
		})
	}
}

// The first write of a Call fails after the Call was taken to be sent again, which decides.
func TestWriteFailsAfterTheCallIsSentAgain(t *testing.T) {
	c, _ := dialDeaf(t, often)
	began, gate := make(chan struct{}), make(chan struct{})
	p := newPending().(*pending)
	p.call = renewedBy(1, func(context.Context) (oncrpc.Message, error) {
		close(began)
		<-gate
		return oncrpc.Message{}, errors.New("over")
	})
	p.ctx, p.xid, p.pause = context.Background(), 1, time.Millisecond
	c.mu.Lock() // as enter, with the write apart
	c.calls.Put(1, p)
	c.serial++
	p.serial = c.serial
	c.places++
	d := c.datagram(p)
	c.mu.Unlock()
	<-began
	if c.withdraw(d) {
		t.Error("a Call that is sent again was not begun")
	}
	close(gate)
	select {
	case <-p.done:
	case <-time.After(patience):
		t.Error("the Call is not over")
	}
}

// A Call that is cancelled runs no other Call's function on its caller's goroutine: the caller may
// have a lock that the function takes.
func TestCancelledCallRunsNoDoneFunction(t *testing.T) {
	c, server := dialDeaf(t, &Config{MaxCalls: 1, MinRetransmit: -1})
	var mu sync.Mutex
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	returned := make(chan struct{})
	go func() {
		defer close(returned)
		mu.Lock()
		defer mu.Unlock()
		_, _ = c.Call(ctx, &oncrpc.Call{Message: oncrpc.Message{Inline: callTo(1, 0)}})
	}()
	if _, err := server.Read(make([]byte, 100)); err != nil {
		t.Fatal(err)
	}
	over := make(chan struct{})
	if err := c.Submit(context.Background(), &oncrpc.Call{Message: oncrpc.Message{Inline: callTo(2, 0)}}, func(*oncrpc.Reply, error) {
		mu.Lock()
		defer mu.Unlock()
		close(over)
	}); err != nil {
		t.Fatal(err)
	}
	_ = c.sock.SetWriteDeadline(time.Unix(1, 0)) // the next write fails
	cancel()
	for _, what := range []struct {
		name string
		end  chan struct{}
	}{{"the cancelled Call", returned}, {"the Call after it", over}} {
		select {
		case <-what.end:
		case <-time.After(patience):
			t.Fatalf("%s is not over", what.name)
		}
	}
}

// The context of Renew ends at the deadline of a Call that was submitted.
func TestRenewEndsAtTheDeadline(t *testing.T) {
	c, _ := dialDeaf(t, often)
	call := renewedBy(1, func(ctx context.Context) (oncrpc.Message, error) {
		<-ctx.Done()
		return oncrpc.Message{}, ctx.Err()
	})
	call.Deadline = time.Now().Add(50 * time.Millisecond)
	over := make(chan error, 1)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	if err := c.Submit(ctx, call, func(_ *oncrpc.Reply, err error) { over <- err }); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-over:
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
	case <-time.After(patience):
		t.Error("the Call is not over after its deadline")
	}
}

// Close waits for a done function that runs on the goroutine of a timer.
func TestCloseWaitsForDoneFunctionsOfTimers(t *testing.T) {
	c, _ := dialDeaf(t, often)
	began, gate := make(chan struct{}), make(chan struct{})
	var over atomic.Bool
	call := &oncrpc.Call{Message: oncrpc.Message{Inline: callTo(1, 0)}, Deadline: time.Now().Add(time.Millisecond)}
	if err := c.Submit(context.Background(), call, func(*oncrpc.Reply, error) {
		close(began)
		<-gate
		time.Sleep(20 * time.Millisecond) // a Close that does not wait has returned
		over.Store(true)
	}); err != nil {
		t.Fatal(err)
	}
	<-began
	closed := make(chan bool)
	go func() {
		_ = c.Close()
		closed <- over.Load()
	}()
	<-c.Done()
	close(gate)
	if !<-closed {
		t.Error("Close returned while a done function ran")
	}
}
