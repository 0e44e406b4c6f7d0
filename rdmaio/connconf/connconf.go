// Package connconf is the connection configuration protocol of RPC over RDMA
// version 1 (draft-ietf-nfsv4-rpcrdma-08 §6): by one RPC, the first of a connection, the
// client says how large a reply it takes inline and how many RDMA Reads at a time it serves, and
// the server how large a Call and how many. Both then keep to that.
//
//	srv, err := rdmaio.Listen(ctx, dev, addr, connconf.Handler(handler, nil), cfg)
//	...
//	client, err := rdmaio.NewClient(dev, addr, &rdmaio.ClientConfig{Connected: connconf.Connected(nil)})
//
// RFC 8166 dropped the protocol, and RFC 8797 does most of its work with no
// round trip; rdmaio uses that by itself. This package is for peers that know the older way only, and for
// agreeing on RDMA Reads. With a server that does not have the program all stays as it was.
//
// The draft does not say whether sizes include the transport's header. Here they do, as the
// 1024 bytes of §6.1, which they replace, do. Sizes below that are taken as 1024, and those above what
// Config.InlineSend or InlineRecv gave memory to as that (R300).
package connconf

import (
	"math"

	"github.com/rpcrdma/rpcrdma/rdmaio/rpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
)

// Config configures either side. nil is fine: zero fields are the defaults.
type Config struct {
	// Reads is how many RDMA Reads at a time this side serves. Default 16, which is what queue pairs
	// of most devices agree on; negative: none, so that the client must not use read chunks.
	Reads int

	// Cred is what a client shows of itself. Default: nothing.
	Cred oncrpc.OpaqueAuth

	// Allow decides at a server whether a client may configure the connection, by what it
	// shows; a refusal is one of the oncrpc.AuthStat values. Default: AUTH_NONE and
	// AUTH_SYS are allowed, and prove nothing (draft §11; R299).
	Allow func(cred, verf *oncrpc.OpaqueAuth) oncrpc.AuthStat
}

// reads is the number for the wire.
func (cfg *Config) reads() uint32 {
	switch {
	case cfg == nil || cfg.Reads == 0:
		return 16
	case cfg.Reads < 0:
		return 0
	}
	return uint32(min(cfg.Reads, math.MaxInt32))
}

// allow is Allow as a Service wants it; its default is ours (R299).
func (cfg *Config) allow() func(*rpc.Request) error {
	if cfg == nil || cfg.Allow == nil {
		return nil
	}
	return func(r *rpc.Request) error {
		if why := cfg.Allow(r.Cred(), r.Verf()); why != oncrpc.AuthStatOK {
			return oncrpc.Refused(why)
		}
		return nil
	}
}

// terms are the Reads of a peer that serves n, as rdmaio.Terms has them.
func terms(n uint32) int {
	if n == 0 {
		return -1
	}
	return int(min(n, math.MaxInt32))
}
