package stream

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/tlsstream"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// tlsConn is a stream over TLS of a connection that the device has dialed or accepted.
type tlsConn = tlsstream.Conn

// secure has the TLS configurations of a device, which belong to it. If nil, there is no TLS.
type secure struct{ *tlsstream.Settings }

// newSecure completes the caller's configuration. It returns nil without Config.TLS.
func newSecure(cfg *Config) (*secure, error) {
	if cfg.TLS == nil {
		return nil, nil
	}
	s, err := tlsstream.New(tlsstream.Options{
		Config: cfg.TLS, Protocol: cfg.ALPN, WithoutALPN: cfg.TLSWithoutALPN, RecordTimeout: cfg.SegmentTimeout,
		Mark: verbs.ErrTLS, ConfigField: "Config.TLS", ALPNField: "Config.TLSWithoutALPN",
	})
	if err != nil {
		return nil, fmt.Errorf("%w: %w", err, verbs.ErrInvalidValue)
	}
	return &secure{s}, nil
}

// canListen returns an error if a server cannot have a certificate.
func (s *secure) canListen() error {
	if s == nil {
		return nil
	}
	if err := s.CanListen(); err != nil {
		return fmt.Errorf("%w: %w", err, verbs.ErrInvalidValue)
	}
	return nil
}

// client returns the client's end of a TLS connection to addr, before the handshake. With a nil s
// it returns conn.
func (s *secure) client(conn net.Conn, addr string) net.Conn {
	if s == nil {
		return conn
	}
	return s.Client(conn, addr)
}

// server returns the server's end.
func (s *secure) server(conn net.Conn) net.Conn {
	if s == nil {
		return conn
	}
	return s.Server(conn)
}

// handshake does the TLS handshake of a connection that has TLS. The caller has set the deadline
// limit, and removes it.
func handshake(ctx context.Context, conn net.Conn, limit time.Time) error {
	c, ok := conn.(*tlsConn)
	if !ok {
		return nil
	}
	err := c.Handshake(ctx, limit)
	if err != nil && !errors.Is(err, verbs.ErrTLS) {
		return peerClosed(err)
	}
	return err
}

// encrypt makes the records of a batch. tlsConn.Flush must follow.
func encrypt(c *tlsConn, b *batch) error {
	c.Hold()
	b.staged, b.direct = b.staged+b.direct, 0
	return b.writeEach(c)
}
