package server

import (
	"context"
	"errors"
	"runtime"
	"testing"

	"github.com/rpcrdma/rpcrdma/internal/rdmaiotest"
	"github.com/rpcrdma/rpcrdma/internal/rpctest"
	"github.com/rpcrdma/rpcrdma/rdmaio"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
)

// A handler of Config.NonBlocking that panics, or exits the goroutine on which the engine of its
// connection runs, closes its connection. The Calls that came with it end, other connections go on,
// and the server can be closed.
func TestNonBlockingHandlerExits(t *testing.T) {
	for name, exit := range map[string]func(r *rdmaio.Request){
		"panics":                 func(*rdmaio.Request) { panic("sunk") },
		"exits":                  func(*rdmaio.Request) { runtime.Goexit() },
		"exits after the answer": func(r *rdmaio.Request) { answer(r); runtime.Goexit() },
		"exits in done": func(r *rdmaio.Request) {
			r.Reply(rdmaio.Message{Inline: rpctest.ReplyHeader(rpctest.XID(r.Message)).Buf}, func(error) { runtime.Goexit() })
		},
	} {
		rdmaiotest.EachVersion(t, func(t *testing.T, w *rdmaiotest.World) {
			s := w.Serve(rdmaio.HandlerFunc(func(r *rdmaio.Request) {
				if _, _, proc, _ := oncrpc.Procedure(r.Message); proc == 40 {
					exit(r)
					return
				}
				answer(r)
			}), &rdmaio.Config{NonBlocking: true})
			c, other := w.Dial(nil), w.Dial(nil)
			rpctest.Again(t, c, rpctest.SmallCall(), 1)
			over := make(chan error, 8)
			for xid := range uint32(8) {
				go func() {
					var err error = errExited
					defer func() { over <- err }() // over memory the handler has this goroutine
					_, err = c.Call(context.Background(), &rdmaio.Call{Message: rpctest.CallHeader(10+xid, 40*(xid%2)).Message()})
				}()
			}
			for range 8 {
				<-over
			}
			if exits := name != "exits in done"; exits {
				<-c.Done()
			}
			rpctest.Again(t, other, rpctest.SmallCall(), 2)
			if err := s.Close(); err != nil {
				t.Errorf("%s: Close: %v", name, err)
			}
		})
	}
}

var errExited = errors.New("the goroutine has exited")
