package nfs4

import (
	"context"
	"errors"

	"github.com/rpcrdma/rpcrdma/rdmaio"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/tcp"
)

// retransmits is the number of times that a call is sent again on a further connection. Only the
// context of Do limits it in practice.
const retransmits = 1 << 20

// DialTCP makes a session over TCP, or over TLS as over.Conn says. addr has the form host:port.
// cfg and over may be nil. The fields of over that the session needs are set: Connected,
// Conn.ReverseHandler, and Retransmits if it is zero. ctx bounds the call. The caller must Close
// the Session.
func DialTCP(ctx context.Context, addr string, cfg *Config, over *tcp.ClientConfig) (*Session, error) {
	s, err := New(cfg)
	if err != nil {
		return nil, err
	}
	var set tcp.ClientConfig
	if over != nil {
		set = *over
	}
	var conn tcp.Config
	if set.Conn != nil {
		conn = *set.Conn
	}
	conn.ReverseHandler = s.Handler()
	set.Conn, set.Connected = &conn, func(ctx context.Context, c *tcp.Conn) error { return s.Connected(ctx, c) }
	if set.Retransmits == 0 {
		set.Retransmits = retransmits
	}
	c, err := tcp.NewClient(addr, &set)
	if err != nil {
		return nil, err
	}
	return s.begin(ctx, c, c.Close)
}

// DialRDMA makes a session over RDMA. addr has the form of the device's addresses. cfg and over may
// be nil. The fields of over that the session needs are set, as DialTCP does. The caller must Close
// the Session before the device.
func DialRDMA(ctx context.Context, dev verbs.Device, addr string, cfg *Config, over *rdmaio.ClientConfig) (*Session, error) {
	s, err := New(cfg)
	if err != nil {
		return nil, err
	}
	var set rdmaio.ClientConfig
	if over != nil {
		set = *over
	}
	var conn rdmaio.Config
	if set.Conn != nil {
		conn = *set.Conn
	}
	conn.ReverseHandler = s.Handler()
	set.Conn, set.Connected = &conn, func(ctx context.Context, c *rdmaio.Conn) error { return s.Connected(ctx, c) }
	if set.Retransmits == 0 {
		set.Retransmits = retransmits
	}
	c, err := rdmaio.NewClient(dev, addr, &set)
	if err != nil {
		return nil, err
	}
	return s.begin(ctx, c, c.Close)
}

// begin starts over a carrier that is closed with the session.
func (s *Session) begin(ctx context.Context, over oncrpc.Carrier, end func() error) (*Session, error) {
	s.close = end
	if err := s.Start(ctx, over); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}
