package tcp

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"runtime"
	"sync"
	"testing"

	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
)

// forgetting is a Handler that keeps no Requests. Procedure 2 of its Calls has a goroutine, the
// others are marked.
type forgetting struct{ oncrpc.HandlerFunc }

func (forgetting) ForgetsRequests() bool { return true }

func (forgetting) NonBlocking(_, _, proc uint32) bool { return proc != 2 }

// keeping is the same, and keeps Requests.
type keeping struct{ forgetting }

func (keeping) ForgetsRequests() bool { return false }

// exchange makes n Calls of a procedure, four at a time.
func exchange(t *testing.T, h oncrpc.Handler, proc uint32, n int) {
	t.Helper()
	ours, theirs := net.Pipe()
	set := (&Config{Logger: slog.New(slog.DiscardHandler)}).settle()
	s := newConn(theirs, &set, true, h, alone())
	c := newConn(ours, &set, false, nil, alone())
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range n / 4 {
				xid := c.XID()
				b, _ := oncrpc.NewCall(xid, 400001, 3, proc, oncrpc.None()).AppendBinary(nil)
				reply, err := c.Call(context.Background(), &oncrpc.Call{Message: oncrpc.Message{Inline: b}})
				if err != nil || len(reply.Message) != 24 {
					t.Errorf("procedure %d: %v", proc, err)
					return
				}
			}
		})
	}
	wg.Wait()
	_, _ = c.Close(), s.Close()
}

// A Request whose Handler forgets it is cleared when its answer is written and the handler has
// returned, whichever is last, and never before. Requests of another Handler are kept as they are.
func TestRequestsAreUsedAgain(t *testing.T) {
	var mu sync.Mutex
	seen := map[*request]bool{}
	serve := func(r *oncrpc.Request) {
		own := r.Responder.(*request)
		mu.Lock()
		seen[own] = true
		mu.Unlock()
		xid, _, _ := oncrpc.Peek(r.Message)
		_, _, proc, _ := oncrpc.Procedure(r.Message)
		b, _ := oncrpc.NewReply(xid, oncrpc.Success).AppendBinary(nil)
		done := make(chan struct{})
		answer := func() {
			r.Reply(oncrpc.Message{Inline: b}, func(error) {
				if r.Responder == nil || own.conn == nil || own.xid != xid {
					t.Error("a Request was used again before its done function had run")
				}
				close(done)
			})
		}
		if proc == 3 { // it answers later
			go answer()
			return
		}
		answer()
		if proc == 2 { // it returns after its answer is written
			<-done
			runtime.Gosched()
			if own.conn == nil || own.xid != xid || r.Responder != own {
				t.Error("a Request was used again before its handler had returned")
			}
		}
	}
	const n = 400
	for proc := range uint32(3) {
		clear(seen)
		exchange(t, forgetting{serve}, 1+proc, n)
		if len(seen) == n {
			t.Errorf("procedure %d: none of %d Calls had the Request of an earlier one", 1+proc, n)
		}
		clear(seen)
		exchange(t, keeping{forgetting{serve}}, 1+proc, n)
		for r := range seen {
			if r.conn == nil {
				t.Fatalf("procedure %d: a Request that its handler keeps was cleared", 1+proc)
			}
		}
		if len(seen) != n {
			t.Errorf("procedure %d: %d Requests for %d Calls to a Handler that keeps them", 1+proc, len(seen), n)
		}
	}
}

// A Request whose handler has panicked, or exited its goroutine, is not used again: code of the
// handler may still have it.
func TestRequestsOfHandlersThatDieAreNotUsedAgain(t *testing.T) {
	for _, die := range []func(){func() { panic("a fault") }, runtime.Goexit} {
		for _, proc := range []uint32{1, 2} {
			for _, answers := range []bool{false, true} {
				kept := make(chan *request, 1)
				h := forgetting{func(r *oncrpc.Request) {
					kept <- r.Responder.(*request)
					if answers {
						xid, _, _ := oncrpc.Peek(r.Message)
						b, _ := oncrpc.NewReply(xid, oncrpc.Success).AppendBinary(nil)
						r.Reply(oncrpc.Message{Inline: b}, nil)
					}
					die()
				}}
				ours, theirs := net.Pipe()
				set := (&Config{Logger: slog.New(slog.DiscardHandler)}).settle()
				s := newConn(theirs, &set, true, h, alone())
				c := newConn(ours, &set, false, nil, alone())
				b, _ := oncrpc.NewCall(1, 400001, 3, proc, oncrpc.None()).AppendBinary(nil)
				_, _ = c.Call(context.Background(), &oncrpc.Call{Message: oncrpc.Message{Inline: b}})
				_, _ = c.Close(), s.Close()
				r := <-kept
				got := make(chan error, 1)
				if r.conn == nil {
					t.Fatal("the Request was cleared")
				}
				r.Reply(oncrpc.Message{}, func(err error) { got <- err })
				if err := <-got; !errors.Is(err, oncrpc.ErrAnswered) {
					t.Errorf("a second answer: %v", err)
				}
			}
		}
	}
}
