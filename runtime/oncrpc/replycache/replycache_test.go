package replycache_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/leak"
	"github.com/rpcrdma/rpcrdma/rdmaio"
	verbsmem "github.com/rpcrdma/rpcrdma/rdmaio/providers/mem"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/rdmatcp"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/replycache"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/rpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/tcp"
	"github.com/rpcrdma/rpcrdma/runtime/xdr"
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

// R288: a Call that a client sends again over the other carrier, after its connection has gone, is
// not executed again. The reply has an item, which goes by a chunk over RDMA and in the message
// over TCP, whichever came first. The client is known by its host alone, as by default.
func TestOtherCarrier(t *testing.T) {
	for _, order := range [][]string{{"rdma", "tcp"}, {"tcp", "rdma"}, {"rdma", "tcp", "rdma", "tcp"}} {
		var executed atomic.Uint32
		cache := replycache.New(oncrpc.HandlerFunc(func(r *oncrpc.Request) {
			b, _ := oncrpc.NewReply(7, oncrpc.Success).AppendBinary(nil)
			data := bytes.Repeat([]byte{byte(executed.Add(1))}, 5001)
			b = binary.BigEndian.AppendUint32(b, uint32(len(data)))
			r.Reply(oncrpc.Message{Inline: b, Items: []xdr.Item{{Position: uint64(len(b)), Inline: len(b), Data: data}}}, nil)
		}), nil)
		device, err := rdmatcp.Open(nil)
		if err != nil {
			t.Fatal(err)
		}
		rdmaServer, err := rdmaio.Listen(context.Background(), device, "127.0.0.1:0", cache, nil)
		if err != nil {
			t.Fatal(err)
		}
		tcpServer, err := tcp.Listen(context.Background(), "127.0.0.1:0", cache, nil)
		if err != nil {
			t.Fatal(err)
		}
		for i, carrier := range order {
			var c interface {
				oncrpc.Carrier
				Close() error
			}
			if carrier == "tcp" {
				c, err = tcp.Dial(context.Background(), tcpServer.Addr(), nil)
			} else {
				c, err = rdmaio.Dial(context.Background(), device, rdmaServer.Addr(), nil)
			}
			if err != nil {
				t.Fatal(err)
			}
			if data := fetch(t, c); len(data) != 5001 || data[0] != 1 || data[5000] != 1 {
				t.Errorf("%v: the reply over %s, number %d, has %d bytes, which begin with %x", order, carrier, i, len(data), data[:min(len(data), 1)])
			}
			_ = c.Close()
		}
		if n, st := executed.Load(), cache.Stats(); n != 1 || st.Hits != uint64(len(order)-1) || st.Entries != 1 {
			t.Errorf("%v: executed %d times, %+v", order, n, st)
		}
		_, _, _ = rdmaServer.Close(), tcpServer.Close(), device.Close()
	}
}

// fetch makes the Call with XID 7 and returns the item of the reply.
func fetch(t *testing.T, c oncrpc.Carrier) []byte {
	t.Helper()
	ctx, stop := context.WithTimeout(context.Background(), 20*time.Second)
	defer stop()
	b, _ := oncrpc.NewCall(7, program.Number, program.Version, 1, oncrpc.None()).AppendBinary(nil)
	reply, err := c.Call(ctx, &oncrpc.Call{Message: oncrpc.Message{Inline: b}, Results: [][]byte{make([]byte, 6000)}})
	if err != nil {
		t.Error(err)
		return nil
	}
	if len(reply.Items) == 1 && reply.Items[0].Data != nil {
		return reply.Items[0].Data
	}
	n := binary.BigEndian.Uint32(reply.Message[24:])
	return reply.Message[28 : 28+n]
}
