package replycache_test

import (
	"context"
	"errors"
	"log/slog"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/mem"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/replycache"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/rpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/tcp"
)

// R288: a Call whose execution ended in a panic is not executed again. Package rpc answers it, and
// for any other handler the cache does when the Call is sent again.
func TestPanicOnce(t *testing.T) {
	var executed atomic.Int64
	svc := rpc.NewService(program)
	rpc.Handle(svc, 1, func(*rpc.Request, *oncrpc.Void, *oncrpc.Void) error {
		executed.Add(1)
		panic("out of coffee")
	})
	for name, h := range map[string]oncrpc.Handler{
		"rpc":                  rpc.NewHandler(nil, svc),
		"other":                oncrpc.HandlerFunc(func(*oncrpc.Request) { executed.Add(1); panic("out of coffee") }),
		"end of the goroutine": oncrpc.HandlerFunc(func(*oncrpc.Request) { executed.Add(1); runtime.Goexit() }),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				executed.Store(0)
				quiet := &tcp.Config{Logger: slog.New(slog.DiscardHandler)}
				network, err := mem.NewNetwork(replycache.New(h, nil), &mem.NetworkConfig{Server: quiet})
				if err != nil {
					t.Fatal(err)
				}
				defer network.Close()
				client, err := network.NewClient(nil)
				if err != nil {
					t.Fatal(err)
				}
				defer client.Close()
				ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
				defer cancel()
				err = rpc.NewClient(client, program, nil).Call(ctx, 1, nil, nil, nil)
				if n := executed.Load(); n != 1 || !errors.Is(err, oncrpc.ErrSystem) {
					t.Errorf("executed %d times, the caller got %v", n, err)
				}
			})
		})
	}
}

// R288: a Call that waits for the reply of the same Call is served when that one is dropped
// after the end of its connection: its own may be up, and then nothing else would answer it.
func TestDroppedFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lock := make(chan bool, 1) // held by a handler that drops; package synctest ignores a Mutex
		first := true
		executed := 0
		drop := make(chan bool)
		cache := replycache.New(oncrpc.HandlerFunc(func(r *oncrpc.Request) {
			lock <- true
			defer func() { <-lock }()
			if first {
				first = false
				<-drop
				r.Drop(nil)
				return
			}
			executed++
			b, _ := oncrpc.NewReply(7, oncrpc.Success).AppendBinary(nil)
			r.Reply(oncrpc.Message{Inline: b}, nil)
		}), nil)
		var replied []<-chan bool
		for i := range 4 {
			c := new(conn)
			var lost context.CancelFunc
			c.ctx, lost = context.WithCancel(context.Background())
			defer lost()
			r, answer := request(c)
			replied = append(replied, answer)
			go cache.ServeRPC(r)
			synctest.Wait()
			if i < 3 {
				lost()
			}
		}
		close(drop)
		for i, answer := range replied {
			if got := <-answer; got != (i == 3) {
				t.Errorf("Call %d was answered: %v", i, got)
			}
		}
		if executed != 1 {
			t.Errorf("executed %d times", executed)
		}
		if s := cache.Stats(); s.Running != 0 || s.Entries != 1 {
			t.Errorf("%+v", s)
		}
	})
}
