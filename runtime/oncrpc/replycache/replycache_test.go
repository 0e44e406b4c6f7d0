package replycache_test

import (
	"context"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/leak"
	"github.com/rpcrdma/rpcrdma/rdmaio"
	verbsmem "github.com/rpcrdma/rpcrdma/rdmaio/providers/mem"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/replycache"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/rpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/tcp"
)

func TestMain(m *testing.M) { os.Exit(leak.Run(m)) }

var program = oncrpc.Program{Number: 400002, Version: 1}

// newHandler returns a handler of two procedures, which both return the number of calls of
// procedure 1. Procedure 2 calls procedure 1 of the client, on the client's connection, and returns
// its result.
func newHandler() *rpc.Handler {
	var n atomic.Uint32
	svc := rpc.NewService(program)
	rpc.Handle(svc, 1, func(_ *rpc.Request, _ *oncrpc.Void, res *oncrpc.Uint32) error {
		*res = oncrpc.Uint32(n.Add(1))
		return nil
	})
	rpc.Handle(svc, 2, func(r *rpc.Request, _ *oncrpc.Void, res *oncrpc.Uint32) error {
		r.Conn().AllowReverse()
		return rpc.NewClient(r.Conn(), program, nil).Call(r.Context(), 1, nil, res, nil)
	})
	svc.Idempotent(2)
	return rpc.NewHandler(nil, svc)
}

// call makes a call. Its XID is always the one of conn.
func call(t *testing.T, conn oncrpc.Carrier, proc uint32) uint32 {
	t.Helper()
	ctx, stop := context.WithTimeout(context.Background(), 20*time.Second)
	defer stop()
	var res oncrpc.Uint32
	if err := rpc.NewClient(conn, program, nil).Call(ctx, proc, nil, &res, nil); err != nil {
		t.Errorf("procedure %d: %v", proc, err)
	}
	return uint32(res)
}

// sameXID is a carrier that gives all Calls one XID.
type sameXID struct{ oncrpc.Carrier }

func (sameXID) XID() uint32 { return 7 }

// R288: one handler with one cache serves RDMA and TCP at a time. A call that is sent again gets
// the reply to the first one; two clients with the same XID and the same bytes each get their own.
// A handler calls the client on the connection of the call, over both.
func TestBothCarriers(t *testing.T) {
	cache := replycache.New(newHandler(), &replycache.Config{Grace: -1})
	ctx := context.Background()
	net := verbsmem.New(nil)
	closes := func(f func() error) {
		t.Cleanup(func() {
			if err := f(); err != nil {
				t.Error(err)
			}
		})
	}
	device, err := net.Open("server", nil)
	if err != nil {
		t.Fatal(err)
	}
	closes(device.Close)
	rdmaServer, err := rdmaio.Listen(ctx, device, "here", cache, &rdmaio.Config{ReverseCredits: 4})
	if err != nil {
		t.Fatal(err)
	}
	closes(rdmaServer.Close)
	tcpServer, err := tcp.Listen(ctx, "127.0.0.1:0", cache, nil)
	if err != nil {
		t.Fatal(err)
	}
	closes(tcpServer.Close)

	conns := make([]oncrpc.Conn, 4)
	for i := range conns {
		if i%2 == 0 {
			c, err := tcp.Dial(ctx, tcpServer.Addr(), &tcp.Config{ReverseHandler: newHandler()})
			if err != nil {
				t.Fatal(err)
			}
			closes(c.Close)
			conns[i] = c
			continue
		}
		c, err := rdmaio.Dial(ctx, device, rdmaServer.Addr(), &rdmaio.Config{ReverseHandler: newHandler()})
		if err != nil {
			t.Fatal(err)
		}
		closes(c.Close)
		conns[i] = c
	}
	for round := range 3 {
		for i, c := range conns {
			if got, want := call(t, sameXID{c}, 1), uint32(i+1); got != want {
				t.Errorf("round %d, client %d: the procedure ran as number %d, want %d", round, i, got, want)
			}
		}
	}
	for i, c := range conns {
		for n := range 2 {
			if got, want := call(t, c, 2), uint32(n+1); got != want {
				t.Errorf("client %d was called %d times, want %d", i, got, want)
			}
		}
	}
	if s := cache.Stats(); s.Hits != 8 || s.Entries != 4 {
		t.Errorf("%+v", s)
	}
}

// A call that comes again over another carrier, after its connection has gone, is not executed
// again.
func TestOtherCarrier(t *testing.T) {
	cache := replycache.New(newHandler(), &replycache.Config{Client: func(*oncrpc.Request) string { return "one" }})
	for range 2 {
		server, err := tcp.Listen(context.Background(), "127.0.0.1:0", cache, nil)
		if err != nil {
			t.Fatal(err)
		}
		c, err := tcp.Dial(context.Background(), server.Addr(), nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := call(t, sameXID{c}, 1); got != 1 {
			t.Errorf("the procedure ran %d times", got)
		}
		_, _ = c.Close(), server.Close()
	}
}
