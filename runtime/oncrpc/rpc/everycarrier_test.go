package rpc_test

import (
	"context"
	"net"
	"testing"

	"github.com/rpcrdma/rpcrdma/internal/zero/zerorpc"
	"github.com/rpcrdma/rpcrdma/rdmaio"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/iwarp"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/mem"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/rdmatcp"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/tcp"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/udp"
)

// warm makes a Call, so that a connection over RDMA has more than its first credit.
func warm(t *testing.T, c oncrpc.Conn) oncrpc.Conn {
	t.Helper()
	if n, err := zerorpc.NewClient(c, nil).Read(context.Background(), 4); n != 5 || err != nil {
		t.Fatal(n, err)
	}
	return c
}

// server is a server of any carrier.
type server struct {
	addr string
	dial func() oncrpc.Conn // another connection
}

// closed closes c at the end of a test.
func closed(t *testing.T, c interface{ Close() error }, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
}

// overRDMA starts a server over a provider.
func overRDMA(t *testing.T, open func() (verbs.Device, error), addr string, h oncrpc.Handler, noCancel bool, version int) *server {
	t.Helper()
	ours, err := open()
	closed(t, ours, err)
	theirs, err := open()
	closed(t, theirs, err)
	cfg := &rdmaio.Config{Versions: []int{version}}
	s, err := rdmaio.Listen(context.Background(), theirs, addr, h, &rdmaio.Config{Versions: cfg.Versions, NoCancel: noCancel})
	closed(t, s, err)
	return &server{s.Addr(), func() oncrpc.Conn {
		c, err := rdmaio.Dial(context.Background(), ours, s.Addr(), cfg)
		closed(t, c, err)
		return c
	}}
}

// overEach runs a test over each carrier. serve starts a server, which does not have package cancel
// if noCancel is set.
func overEach(t *testing.T, test func(t *testing.T, serve func(h oncrpc.Handler, noCancel bool) *server)) {
	memory := func() func() (verbs.Device, error) {
		network, names := mem.New(nil), []string{"client", "server"}
		return func() (verbs.Device, error) {
			name := names[0]
			names = names[1:]
			return network.Open(name, nil)
		}
	}
	for _, tt := range []struct {
		name  string
		serve func(t *testing.T, h oncrpc.Handler, noCancel bool) *server
	}{
		{"pipe", func(t *testing.T, h oncrpc.Handler, noCancel bool) *server {
			return &server{"", func() oncrpc.Conn {
				ours, theirs := net.Pipe()
				closed(t, tcp.ServeConn(theirs, h, &tcp.Config{NoCancel: noCancel}), nil)
				c := tcp.NewConn(ours, nil)
				closed(t, c, nil)
				return c
			}}
		}},
		{"tcp", func(t *testing.T, h oncrpc.Handler, noCancel bool) *server {
			s, err := tcp.Listen(context.Background(), "127.0.0.1:0", h, &tcp.Config{NoCancel: noCancel})
			closed(t, s, err)
			return &server{s.Addr(), func() oncrpc.Conn {
				c, err := tcp.Dial(context.Background(), s.Addr(), nil)
				closed(t, c, err)
				return c
			}}
		}},
		{"udp", func(t *testing.T, h oncrpc.Handler, noCancel bool) *server {
			s, err := udp.Listen(context.Background(), "127.0.0.1:0", h, nil)
			closed(t, s, err)
			return &server{s.Addr(), func() oncrpc.Conn {
				c, err := udp.Dial(context.Background(), s.Addr(), nil)
				closed(t, c, err)
				return c
			}}
		}},
		{"rdma mem version 1", func(t *testing.T, h oncrpc.Handler, noCancel bool) *server {
			return overRDMA(t, memory(), "zero", h, noCancel, 1)
		}},
		{"rdma mem version 2", func(t *testing.T, h oncrpc.Handler, noCancel bool) *server {
			return overRDMA(t, memory(), "zero", h, noCancel, 2)
		}},
		{"rdmatcp version 1", func(t *testing.T, h oncrpc.Handler, noCancel bool) *server {
			return overRDMA(t, func() (verbs.Device, error) { return rdmatcp.Open(nil) }, "127.0.0.1:0", h, noCancel, 1)
		}},
		{"rdmatcp version 2", func(t *testing.T, h oncrpc.Handler, noCancel bool) *server {
			return overRDMA(t, func() (verbs.Device, error) { return rdmatcp.Open(nil) }, "127.0.0.1:0", h, noCancel, 2)
		}},
		{"iwarp version 1", func(t *testing.T, h oncrpc.Handler, noCancel bool) *server {
			return overRDMA(t, func() (verbs.Device, error) { return iwarp.Open(nil) }, "127.0.0.1:0", h, noCancel, 1)
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			test(t, func(h oncrpc.Handler, noCancel bool) *server { return tt.serve(t, h, noCancel) })
		})
	}
}
