package tcp

import (
	"context"
	"log/slog"
	"math"
	"net"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
)

// breaking is a stream whose writes fail when the test lets them.
type breaking struct {
	net.Conn
	fail chan struct{}
}

func (b *breaking) Write([]byte) (int, error) { <-b.fail; return 0, syscall.EPIPE }

// A Request that waits until replies are written is not served if their write fails, although the
// connection fails a second later, when its reader knows why.
func TestRequestIsNotServedAfterAFailedWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ours, theirs := net.Pipe()
		stream := &breaking{theirs, make(chan struct{})}
		gate := make(chan struct{})
		handled := 0
		h := oncrpc.HandlerFunc(func(r *oncrpc.Request) {
			handled++
			<-gate
			xid, _, _ := oncrpc.Peek(r.Message)
			b, _ := oncrpc.NewReply(xid, oncrpc.Success).AppendBinary(nil)
			r.Reply(oncrpc.Message{Inline: append(b, make([]byte, maxUnsent)...)}, nil)
		})
		set := (&Config{Logger: slog.New(slog.DiscardHandler)}).settle()
		c := newConn(stream, set, true, h, newShared(math.MaxInt, 1))
		for xid := range uint32(6) {
			call := nullCall(t, xid).Inline
			if _, err := ours.Write(append(appendMark(nil, len(call)), call...)); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
		}
		before := handled
		close(gate)
		synctest.Wait()
		if c.unanswered() == before || handled != before {
			t.Errorf("%d Requests were handled, %d before their replies, and %d are not answered: expected some that wait", handled, before, c.unanswered())
		}
		close(stream.fail)
		synctest.Wait()
		if handled != before {
			t.Errorf("%d further Requests were handled after the write failed", handled-before)
		}
		_, _ = c.Close(), ours.Close()
		if handled != before || c.unanswered() != 0 {
			t.Errorf("after Close: %d further Requests were handled, %d are not answered", handled-before, c.unanswered())
		}
	})
}

// Close waits for a Call that was counted and then had no memory, until it is forgotten.
func TestForgottenCallEndsTheWaitOfClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := bare(settings{})
		c.requests, c.err = 1, ErrPeerClosed
		ended := false
		go func() { c.finish(); ended = true }()
		synctest.Wait()
		if ended {
			t.Error("the wait is over while a Call is counted")
		}
		c.forget()
		synctest.Wait()
		if !ended {
			t.Error("Close still waits although the Call was forgotten")
			c.wake.Broadcast()
		}
	})
}

// A Call that was in progress on a lost connection does not keep the next connection from being
// idle.
func TestCallOfALostConnectionIsNoUserOfTheNext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var servers []*Conn
		c, err := NewClient("", &ClientConfig{IdleTimeout: time.Minute, Dial: func(_ context.Context, _ string, cfg *Config) (*Conn, error) {
			ours, theirs := net.Pipe()
			var h oncrpc.Handler // nil: each Call is refused, which is a reply
			if len(servers) == 0 {
				h = oncrpc.HandlerFunc(func(r *oncrpc.Request) { <-r.Context().Done(); r.Drop(nil) })
			}
			servers = append(servers, ServeConn(theirs, h, nil))
			return NewConn(ours, cfg), nil
		}})
		if err != nil {
			t.Fatal(err)
		}
		called := make(chan error, 1)
		go func() { _, err := c.Call(t.Context(), nullCall(t, 1)); called <- err }()
		synctest.Wait()
		_ = servers[0].Close()
		if err := <-called; err != nil {
			t.Error(err)
		}
		time.Sleep(3 * time.Minute)
		if s := c.Stats(); s.IdleCloses != 1 || s.Connects != 2 || s.Lost != 1 {
			t.Errorf("%+v, want an idle connection that was closed, after one that was lost", s)
		}
		_ = c.Close()
		_ = servers[len(servers)-1].Close()
	})
}
