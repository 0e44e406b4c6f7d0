package version2

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/peertest/peer2"
	"github.com/rpcrdma/rpcrdma/internal/rdmaiotest"
	"github.com/rpcrdma/rpcrdma/internal/rpctest"
	"github.com/rpcrdma/rpcrdma/internal/v2test"
	"github.com/rpcrdma/rpcrdma/rdmaio"
)

// A continued Call with items and results, and its continued Reply, stop after each of their
// messages: the Call is cancelled, or our end closes, or the peer does. The Call returns once, and
// no memory, key or goroutine is left (R285, R289; T93). The World checks for the latter.
func TestContinuedCallStopsAtEachStep(t *testing.T) {
	const parts = 3 // of the Call, and of the Reply
	for _, how := range []string{"cancel", "Close", "peer"} {
		for step := 1; step < 2*parts; step++ {
			v2test.Each(t, fmt.Sprintf("%s after %d", how, step), func(t *testing.T, w *rdmaiotest.World) {
				if testing.Short() && step%2 == 0 && w.Net == nil {
					t.Skip("some steps wait for WorkTimeout, which takes no time over memory")
				}
				p, conn := v2test.Client(t, w, peer2.Config{}, v2test.Config(rdmaio.Config{Continue: 1 << 20}))
				ctx, cancel := context.WithCancel(context.Background())
				defer cancel()
				call := rpctest.BigCall(9, 10000)
				call.MaxReply = -1
				call.Results = [][]byte{make([]byte, 5000)}
				if step < parts { // the peer grants for as many parts
					p.SendWith(peer2.Grant(), step, 0)
					p.Quiet()
				}
				done := v2test.StartWith(ctx, conn, call)
				var m peer2.Message
				for i := range min(step, parts) {
					if m = p.Next(); (m.Flags&peer2.More != 0) != (i < parts-1) {
						t.Fatalf("message %d is %v", i, m)
					}
				}
				reply := m.Unused(rpctest.ReplyBytes(9, 10000)).Split(4000, 8000)
				for i := range max(step-parts, 0) {
					p.Send(reply[i])
				}
				switch how {
				case "cancel":
					cancel()
				case "Close":
					if err := conn.Close(); err != nil {
						t.Error(err)
					}
				default:
					if err := p.QP.Disconnect(); err != nil {
						t.Error(err)
					}
				}
				if r := <-done; r.Err == nil || how == "cancel" != errors.Is(r.Err, context.Canceled) {
					t.Errorf("the Call ended with %v", r.Err)
				}
				if n, reaching := w.LiveKeys("client"); reaching != 0 || n != 0 && how != "cancel" {
					t.Errorf("%d keys are left, %d of them reach memory of the Call", n, reaching)
				}
			})
		}
	}
}

// The same at a server: the handler's reply is released once, and memory is given back, wherever
// the Call or the Reply stops. Shutdown returns, although the peer grants no credit for the rest.
func TestServerStopsAtEachStep(t *testing.T) {
	const parts = 3
	for _, how := range []string{"Close", "Shutdown", "peer"} {
		for step := 1; step < 2*parts; step++ {
			v2test.Each(t, fmt.Sprintf("%s after %d", how, step), func(t *testing.T, w *rdmaiotest.World) {
				released := make(chan error, 2)
				a := &rpctest.App{Reply: func(r *rdmaio.Request) bool {
					r.Reply(rdmaio.Message{Inline: rpctest.ReplyBytes(9, 10000)}, func(err error) { released <- err })
					return true
				}}
				if how == "Shutdown" && step >= parts && testing.Short() && w.Net == nil {
					t.Skip("waits for WorkTimeout, as over memory, where that takes no time")
				}
				s := w.Serve(a, v2test.Config(rdmaio.Config{WorkTimeout: time.Second}))
				p := v2test.Hello(t, v2test.RawClient(t, w, peer2.Config{Ceiling: 1}))
				list := peer2.Call(9, rpctest.CallBytes(9, 10000)).Split(4000, 8000)
				for i := range min(step, parts) {
					p.SendWith(list[i], 1, 1-min(p.Book.In, 1))
				}
				for range max(step-parts, 0) {
					p.Next()
					p.SendWith(peer2.Grant(), 1, 1-min(p.Book.In, 1))
				}
				if step >= parts { // the handler has run
					p.Next()
				}
				switch how {
				case "Close":
					if err := s.Close(); err != nil {
						t.Error(err)
					}
				case "Shutdown":
					if err := s.Shutdown(context.Background()); err != nil {
						t.Error(err)
					}
				default:
					if err := p.QP.Disconnect(); err != nil {
						t.Error(err)
					}
				}
				if step >= parts {
					<-released
				}
				rdmaiotest.AwaitMemory(t, s)
				if n := len(released); n != 0 {
					t.Errorf("the reply was released %d times more", n)
				}
			})
		}
	}
}
