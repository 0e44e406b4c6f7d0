// Package connconf is the connection configuration protocol of RPC-over-RDMA version 1
// (draft-ietf-nfsv4-rpcrdma-08 §6). The first call of a connection negotiates its limits: the
// client advertises the size of the largest reply that it receives inline and the number of RDMA
// Reads that it serves at a time, and the server the size of the largest call and its own number of
// RDMA Reads.
//
//	srv, err := rdmaio.Listen(ctx, dev, addr, connconf.Handler(handler, nil), cfg)
//	...
//	client, err := rdmaio.NewClient(dev, addr, &rdmaio.ClientConfig{
//		Connected: connconf.Connected(nil),
//	})
//
// RFC 8166 dropped the protocol. RFC 8797 does most of its work without a round trip, and rdmaio
// uses it by default. Use this package for peers that know only the older protocol, and to
// negotiate RDMA Reads. If the server does not serve the protocol, the limits of the connection do
// not change. It has no use in version 2, which negotiates sizes itself: Configure does nothing on
// a connection of version 2, and a server answers there that it does not serve the protocol.
//
// The draft does not say whether sizes include the transport header. Here they do, as do the 1024
// bytes of §6.1, which they replace. Sizes below 1024 are taken as 1024. Sizes above
// Config.InlineSend or InlineRecv, for which there is no memory, are taken as those (R300).
package connconf

import (
	"math"

	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/rpc"
)

// Config configures either side. A nil *Config has the default in every field.
type Config struct {
	// Reads is the number of RDMA Reads that this side serves at a time. If zero, the default is
	// 16, the depth of queue pairs on most devices. If negative, it is none, and the client must
	// not use read chunks.
	Reads int

	// Cred is the credential of a client. If zero, the default is AUTH_NONE. A server ignores it.
	Cred oncrpc.OpaqueAuth

	// Allow decides by a client's credential and verifier whether it may configure the connection.
	// It returns oncrpc.AuthStatOK, or the status of the refusal. If nil, the default allows
	// AUTH_NONE and AUTH_SYS, which prove nothing (draft §11; R299). A client ignores it.
	Allow func(cred, verf *oncrpc.OpaqueAuth) oncrpc.AuthStat
}

// reads returns Reads as sent on the wire.
func (cfg *Config) reads() uint32 {
	switch {
	case cfg == nil || cfg.Reads == 0:
		return 16
	case cfg.Reads < 0:
		return 0
	}
	return uint32(min(cfg.Reads, math.MaxInt32))
}

// allow returns Allow as rpc.Service.Allow, whose default is the same (R299).
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

// terms returns rdmaio.Terms.Reads for a peer that serves n RDMA Reads at a time.
func terms(n uint32) int {
	if n == 0 {
		return -1
	}
	return int(min(n, math.MaxInt32))
}
