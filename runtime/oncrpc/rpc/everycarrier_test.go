package rpc_test

import (
	"context"
	"testing"

	"github.com/rpcrdma/rpcrdma/rdmaio"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/iwarp"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/mem"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/rdmatcp"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	pipe "github.com/rpcrdma/rpcrdma/runtime/oncrpc/mem"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/tcp"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/udp"
)

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
func overRDMA(t *testing.T, open func() (verbs.Device, error), addr string, h oncrpc.Handler, versions ...int) *server {
	t.Helper()
	ours, err := open()
	closed(t, ours, err)
	theirs, err := open()
	closed(t, theirs, err)
	cfg := &rdmaio.Config{Versions: versions}
	s, err := rdmaio.Listen(context.Background(), theirs, addr, h, cfg)
	closed(t, s, err)
	return &server{s.Addr(), func() oncrpc.Conn {
		c, err := rdmaio.Dial(context.Background(), ours, s.Addr(), cfg)
		closed(t, c, err)
		return c
	}}
}

// overEach runs a test over each carrier.
func overEach(t *testing.T, test func(t *testing.T, serve func(h oncrpc.Handler) *server)) {
	network := func() func() (verbs.Device, error) {
		net, names := mem.New(nil), []string{"client", "server"}
		return func() (verbs.Device, error) {
			name := names[0]
			names = names[1:]
			return net.Open(name, nil)
		}
	}
	for _, tt := range []struct {
		name  string
		serve func(t *testing.T, h oncrpc.Handler) *server
	}{
		{"pipe", func(t *testing.T, h oncrpc.Handler) *server {
			return &server{"", func() oncrpc.Conn {
				c := pipe.New(h, nil)
				closed(t, c, nil)
				return c
			}}
		}},
		{"tcp", func(t *testing.T, h oncrpc.Handler) *server {
			s, err := tcp.Listen(context.Background(), "127.0.0.1:0", h, nil)
			closed(t, s, err)
			return &server{s.Addr(), func() oncrpc.Conn {
				c, err := tcp.Dial(context.Background(), s.Addr(), nil)
				closed(t, c, err)
				return c
			}}
		}},
		{"udp", func(t *testing.T, h oncrpc.Handler) *server {
			s, err := udp.Listen(context.Background(), "127.0.0.1:0", h, nil)
			closed(t, s, err)
			return &server{s.Addr(), func() oncrpc.Conn {
				c, err := udp.Dial(context.Background(), s.Addr(), nil)
				closed(t, c, err)
				return c
			}}
		}},
		{"rdma mem version 1", func(t *testing.T, h oncrpc.Handler) *server { return overRDMA(t, network(), "zero", h, 1) }},
		{"rdma mem version 2", func(t *testing.T, h oncrpc.Handler) *server { return overRDMA(t, network(), "zero", h, 2) }},
		{"rdmatcp version 1", func(t *testing.T, h oncrpc.Handler) *server {
			return overRDMA(t, func() (verbs.Device, error) { return rdmatcp.Open(nil) }, "127.0.0.1:0", h, 1)
		}},
		{"rdmatcp version 2", func(t *testing.T, h oncrpc.Handler) *server {
			return overRDMA(t, func() (verbs.Device, error) { return rdmatcp.Open(nil) }, "127.0.0.1:0", h, 2)
		}},
		{"iwarp version 1", func(t *testing.T, h oncrpc.Handler) *server {
			return overRDMA(t, func() (verbs.Device, error) { return iwarp.Open(nil) }, "127.0.0.1:0", h, 1)
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			test(t, func(h oncrpc.Handler) *server { return tt.serve(t, h) })
		})
	}
}
