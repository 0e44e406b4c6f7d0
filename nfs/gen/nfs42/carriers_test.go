package nfs42_test

import (
	"context"
	"os"
	"testing"

	"github.com/rpcrdma/rpcrdma/internal/leak"
	"github.com/rpcrdma/rpcrdma/nfs/gen/nfs42/nfs42rpc"
	"github.com/rpcrdma/rpcrdma/rdmaio"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/mem"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/rpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/tcp"
)

func TestMain(m *testing.M) { os.Exit(leak.Run(m)) }

// carrier connects a client with a handler of callbacks to a server.
type carrier struct {
	name    string
	long    bool                 // callbacks may be longer than what fits inline
	tooLong rdmaio.PeerErrorCode // if not, what the client answers instead of a long result
	connect func(*testing.T, oncrpc.Handler) (*server, oncrpc.Carrier)
}

// carriers returns TCP, and RDMA by both versions of RPC-over-RDMA, with and without chunks in the
// reverse direction.
func carriers() []carrier {
	return []carrier{
		{"TCP", true, 0, overTCP},
		{"RDMA 1", false, rdmaio.PeerErrChunk, overRDMA(1, false)},
		{"RDMA 2", false, rdmaio.PeerErrReplyResource, overRDMA(2, false)},
		{"RDMA 1, chunks", true, 0, overRDMA(1, true)},
		{"RDMA 2, chunks", true, 0, overRDMA(2, true)},
	}
}

// closes closes an end when the test is over.
func closes(t *testing.T, f func() error) {
	t.Cleanup(func() {
		if err := f(); err != nil {
			t.Error(err)
		}
	})
}

func overTCP(t *testing.T, callbacks oncrpc.Handler) (*server, oncrpc.Carrier) {
	back := tcp.NewBackchannel(nil)
	t.Cleanup(back.Close)
	s := newServer(back, func(c oncrpc.Conn) { back.Bind(c.(*tcp.Conn)) })
	ln, err := tcp.Listen(context.Background(), "127.0.0.1:0", rpc.NewHandler(nil, nfs42rpc.NewService(s)), nil)
	if err != nil {
		t.Fatal(err)
	}
	closes(t, ln.Close)
	conn, err := tcp.Dial(context.Background(), ln.Addr(), &tcp.Config{ReverseHandler: callbacks})
	if err != nil {
		t.Fatal(err)
	}
	closes(t, conn.Close)
	return s, conn
}

func overRDMA(version int, chunks bool) func(*testing.T, oncrpc.Handler) (*server, oncrpc.Carrier) {
	return func(t *testing.T, callbacks oncrpc.Handler) (*server, oncrpc.Carrier) {
		net := mem.New(nil)
		server, err := net.Open("server", nil)
		if err != nil {
			t.Fatal(err)
		}
		closes(t, server.Close)
		client, err := net.Open("client", nil)
		if err != nil {
			t.Fatal(err)
		}
		closes(t, client.Close)
		back := rdmaio.NewBackchannel(nil)
		t.Cleanup(back.Close)
		s := newServer(back, func(c oncrpc.Conn) { back.Bind(c.(*rdmaio.Conn)) })
		ln, err := rdmaio.Listen(context.Background(), server, "nfs", rpc.NewHandler(nil, nfs42rpc.NewService(s)), &rdmaio.Config{
			Versions: []int{version}, ReverseCredits: 4, ReverseChunks: chunks,
		})
		if err != nil {
			t.Fatal(err)
		}
		closes(t, ln.Close)
		conn, err := rdmaio.Dial(context.Background(), client, "nfs", &rdmaio.Config{
			Versions: []int{version}, ReverseHandler: callbacks, ReverseChunks: chunks,
		})
		if err != nil {
			t.Fatal(err)
		}
		closes(t, conn.Close)
		return s, conn
	}
}
