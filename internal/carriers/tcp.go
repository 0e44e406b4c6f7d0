package carriers

import (
	"context"
	"crypto/tls"
	"testing"

	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/mem"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/tcp"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/udp"
)

// ends returns the Configs of package tcp.
func ends(l Limits, secure *tls.Config) Ends {
	conn := func() *tcp.Config {
		c := &tcp.Config{
			PeerTimeout: l.Peer, FirstCallTimeout: l.Setup, RecordTimeout: l.Part, SendTimeout: l.Send, MaxMemory: l.Memory, Logger: quiet,
		}
		if secure != nil {
			c.TLS = tcp.TLS{Mode: tcp.TLSRequired, Config: secure, HandshakeTimeout: l.Setup}
		}
		return c
	}
	return Ends{Client: []any{new(tcp.ClientConfig), conn()}, Server: []any{conn()}}
}

// reversed returns the Config of a client's connection, with the handler of reverse Calls.
func reversed(e Ends, reverse oncrpc.Handler) *tcp.Config {
	c := *e.Client[1].(*tcp.Config)
	c.ReverseHandler = reverse
	return &c
}

// TCP returns the carrier tcp, with TLS if secure is not nil. The Configs are a tcp.ClientConfig
// and a tcp.Config of the client, and a tcp.Config of the server.
func TCP(l Limits, secure *tls.Config) Carrier {
	return Carrier{
		New: func() Ends { return ends(l, secure) },
		Serve: func(t testing.TB, p Place, e Ends, h oncrpc.Handler) *Server {
			var s *tcp.Server
			var err error
			at(p.Far)(func() { s, err = tcp.Listen(t.Context(), p.listenAt("127.0.0.1:0"), h, e.Server[0].(*tcp.Config)) })
			started(t, s, err)
			return &Server{
				Addr: s.Addr(),
				Dial: func(ctx context.Context, addr string, reverse oncrpc.Handler) (c Conn, err error) {
					at(p.Near)(func() { c, err = tcp.Dial(ctx, addr, reversed(e, reverse)) })
					return c, err
				},
				Client: func(reverse oncrpc.Handler) (Client, func() Counts, error) {
					cfg := *e.Client[0].(*tcp.ClientConfig)
					cfg.Conn = reversed(e, reverse)
					return counted(tcp.NewClient(s.Addr(), &cfg))
				},
				State: func() State { st := s.Stats(); return State{st.Conns, int64(st.Memory)} },
			}
		},
	}
}

// counted returns a Client of package tcp with its counts.
func counted(c *tcp.Client, err error) (Client, func() Counts, error) {
	return c, func() Counts {
		st := c.Stats()
		return Counts{Lost: st.Lost, Again: st.Retransmissions}
	}, err
}

// Mem returns the carrier mem, with the Configs of TCP. fault has the faults, and may be nil. It
// works in a bubble of package synctest.
func Mem(l Limits, fault func(mem.Record) mem.Fault) Carrier {
	return Carrier{
		New: func() Ends { return ends(l, nil) },
		Serve: func(t testing.TB, _ Place, e Ends, h oncrpc.Handler) *Server {
			n, err := mem.NewNetwork(h, &mem.NetworkConfig{Server: e.Server[0].(*tcp.Config), Fault: fault})
			started(t, n, err)
			return &Server{
				Dial: func(ctx context.Context, _ string, reverse oncrpc.Handler) (Conn, error) {
					return n.Dial(ctx, "", reversed(e, reverse))
				},
				Client: func(reverse oncrpc.Handler) (Client, func() Counts, error) {
					cfg := *e.Client[0].(*tcp.ClientConfig)
					cfg.Conn = reversed(e, reverse)
					return counted(n.NewClient(&cfg))
				},
				Vanish: n.Vanish,
				State:  func() State { st := n.Server().Stats(); return State{st.Conns, int64(st.Memory)} },
				Silent: func(t testing.TB) {
					c, err := n.Dial(context.Background(), "", e.Client[1].(*tcp.Config))
					started(t, c, err)
				},
			}
		},
	}
}

// UDP returns the carrier udp, whose Configs are a udp.Config of each end. Its State has no counts:
// there are no connections.
func UDP(l Limits) Carrier {
	return Carrier{
		New: func() Ends {
			return Ends{Client: []any{new(udp.Config)}, Server: []any{&udp.Config{MaxMemory: l.Memory, Logger: quiet}}}
		},
		Serve: func(t testing.TB, p Place, e Ends, h oncrpc.Handler) *Server {
			var s *udp.Server
			var err error
			at(p.Far)(func() { s, err = udp.Listen(t.Context(), p.listenAt("127.0.0.1:0"), h, e.Server[0].(*udp.Config)) })
			started(t, s, err)
			return &Server{
				Addr: s.Addr(),
				Dial: func(ctx context.Context, addr string, _ oncrpc.Handler) (c Conn, err error) {
					at(p.Near)(func() { c, err = udp.Dial(ctx, addr, e.Client[0].(*udp.Config)) })
					return c, err
				},
				State: func() State { return State{} },
			}
		},
	}
}
