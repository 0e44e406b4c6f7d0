package carriers

import (
	"context"
	"crypto/tls"
	"testing"

	"github.com/rpcrdma/rpcrdma/internal/peertest"
	"github.com/rpcrdma/rpcrdma/rdmaio"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/iwarp"
	verbsmem "github.com/rpcrdma/rpcrdma/rdmaio/providers/mem"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/rdmatcp"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
)

// Devices opens two devices, which may be one, until the end of the test. addr is the address to
// listen at, unless the Place has one.
type Devices func(t testing.TB, l Limits) (client, server verbs.Device, addr string)

// OverRDMA returns the carrier over devices, with the versions of RPC-over-RDMA. The Configs are an
// rdmaio.ClientConfig and an rdmaio.Config of the client, and an rdmaio.Config of the server.
func OverRDMA(l Limits, versions []int, open Devices) Carrier {
	conn := func(reverse int) *rdmaio.Config {
		return &rdmaio.Config{Versions: versions, ReverseCredits: reverse, WorkTimeout: l.Send, MaxMemory: l.Memory, Logger: quiet}
	}
	return Carrier{
		New: func() Ends {
			// A server makes reverse Calls only with ReverseCredits.
			return Ends{Client: []any{new(rdmaio.ClientConfig), conn(0)}, Server: []any{conn(8)}}
		},
		Serve: func(t testing.TB, p Place, e Ends, h oncrpc.Handler) *Server {
			near, far, addr := open(t, l)
			var s *rdmaio.Server
			var err error
			at(p.Far)(func() {
				s, err = rdmaio.Listen(context.Background(), far, p.listenAt(addr), h, e.Server[0].(*rdmaio.Config))
			})
			started(t, s, err)
			reversed := func(reverse oncrpc.Handler) *rdmaio.Config {
				c := *e.Client[1].(*rdmaio.Config)
				c.ReverseHandler = reverse
				return &c
			}
			raw := func(t testing.TB, receives int) *peertest.Peer {
				p := peertest.NewSized(t, near, receives, 1024)
				p.Dial(near, s.Addr(), nil)
				return p
			}
			return &Server{
				Addr: s.Addr(),
				Dial: func(ctx context.Context, addr string, reverse oncrpc.Handler) (c Conn, err error) {
					at(p.Near)(func() { c, err = rdmaio.Dial(ctx, near, addr, reversed(reverse)) })
					return c, err
				},
				Client: func(reverse oncrpc.Handler) (Client, func() Counts, error) {
					cfg := *e.Client[0].(*rdmaio.ClientConfig)
					cfg.Conn = reversed(reverse)
					c, err := rdmaio.NewClient(near, s.Addr(), &cfg)
					return c, func() Counts {
						st := c.Stats()
						return Counts{Lost: st.Lost, Again: st.Retransmissions}
					}, err
				},
				State:  func() State { st := s.Stats(); return State{st.Conns, int64(st.Memory)} },
				Silent: func(t testing.TB) { raw(t, 1) },
				Raw:    raw,
			}
		},
	}
}

// MemDevices opens a device within the process.
func MemDevices(t testing.TB, _ Limits) (client, server verbs.Device, addr string) {
	d, err := verbsmem.New(nil).Open("device", nil)
	started(t, d, err)
	return d, d, "here"
}

// RDMATCP returns Devices of package rdmatcp, with TLS if secure is not nil.
func RDMATCP(secure *tls.Config) Devices {
	return func(t testing.TB, l Limits) (client, server verbs.Device, addr string) {
		d, err := rdmatcp.Open(&rdmatcp.Config{
			PeerTimeout: l.Peer, HandshakeTimeout: l.Setup, SegmentTimeout: l.Part, MessageTimeout: l.Part, SendTimeout: l.Send, TLS: secure,
		})
		started(t, d, err)
		return d, d, "127.0.0.1:0"
	}
}

// IWARP returns Devices of package iwarp, with TLS if secure is not nil.
func IWARP(secure *tls.Config) Devices {
	return func(t testing.TB, l Limits) (client, server verbs.Device, addr string) {
		d, err := iwarp.Open(&iwarp.Config{
			PeerTimeout: l.Peer, HandshakeTimeout: l.Setup, SegmentTimeout: l.Part, MessageTimeout: l.Part, SendTimeout: l.Send, TLS: secure,
		})
		started(t, d, err)
		return d, d, "127.0.0.1:0"
	}
}
