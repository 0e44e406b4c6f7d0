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
// # Policy
//
// The call decides how much memory the ends use for each other, so it is subject to the policy for
// all calls (draft §11). By default a server allows credentials of AUTH_NONE and AUTH_SYS, which
// prove nothing. Config.Allow demands more, such as TLS and a certificate:
//
//	Allow: func(r *rpc.Request) error {
//		if tls := r.Peer().TLS; tls == nil || !tls.Verified {
//			return oncrpc.Refused(oncrpc.AuthStatTooWeak)
//		}
//		return nil
//	}
//
// With RPCSEC_GSS, a gss.Handler wraps the Handler of this package and checks the calls. Allow then
// returns gss.Require(r.Context(), gss.Integrity). Clients set Config.Carrier. A refused client has
// the initial limits, 1024 bytes. It closes the connection, unless Config.IgnoreRefusal is set.
//
// # Sizes
//
// The draft does not say whether sizes include the transport header. Here they do, as do the 1024
// bytes of §6.1, which they replace. Sizes below 1024 are taken as 1024. Sizes above
// Config.InlineSend or InlineRecv, for which there is no memory, are taken as those (R300).
package connconf

import (
	"math"

	"github.com/rpcrdma/rpcrdma/rdmaio"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/rpc"
)

// Config configures either side. A nil *Config has the default in every field.
type Config struct {
	// Reads is the number of RDMA Reads that this side serves at a time. If zero, the default is
	// 16, the depth of queue pairs on most devices. If negative, this side serves no Reads, and the
	// client must not use read chunks.
	Reads int

	// Cred is the credential of a client. If zero, the default is AUTH_NONE. A server ignores it.
	Cred oncrpc.OpaqueAuth

	// Carrier returns the carrier for the client's call over a connection, such as a gss.Carrier
	// for RPCSEC_GSS. If it has a method Close(context.Context) error, as a gss.Carrier has, it is
	// closed after the call. If nil, the default is the connection itself. A server ignores it.
	Carrier func(conn *rdmaio.Conn) (oncrpc.Carrier, error)

	// IgnoreRefusal makes a client go on with the limits that the connection has if the server
	// refuses its credential. If false, Configure returns the refusal. A server ignores it.
	IgnoreRefusal bool

	// Allow decides whether a client may configure its connection: see rpc.Service.Allow, whose
	// default it has if nil. It sees the credential, the user of RPCSEC_GSS (r.Context) and the
	// host (r.Peer). If it returns an error, such as oncrpc.Refused(oncrpc.AuthStatTooWeak), the
	// limits do not change, and the client gets the error (draft §11; R299). A client ignores it.
	Allow func(r *rpc.Request) error
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

// terms returns rdmaio.Terms.Reads for a peer that serves n RDMA Reads at a time.
func terms(n uint32) int {
	if n == 0 {
		return -1
	}
	return int(min(n, math.MaxInt32))
}
