package stream

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// secure has the TLS configurations of a device. It belongs to the device: the caller's
// Config.TLS is not changed.
type secure struct {
	config   *tls.Config
	optional bool // Config.TLSWithoutALPN
}

// newSecure completes the caller's configuration. It returns nil if there is none. name is the
// application protocol of the framing.
func newSecure(cfg *Config) (*secure, error) {
	if cfg.TLS == nil {
		return nil, nil
	}
	c, err := completeTLS(cfg.TLS, cfg.ALPN)
	if err != nil {
		return nil, err
	}
	if c.ClientSessionCache == nil {
		c.ClientSessionCache = tls.NewLRUClientSessionCache(0)
	}
	if choose := c.GetConfigForClient; choose != nil {
		c.GetConfigForClient = func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
			chosen, err := choose(hello)
			if chosen == nil || err != nil {
				return nil, err
			}
			return completeTLS(chosen, cfg.ALPN)
		}
	}
	return &secure{config: c, optional: cfg.TLSWithoutALPN}, nil
}

// completeTLS returns a copy of a configuration with the defaults of this package.
func completeTLS(c *tls.Config, protocol string) (*tls.Config, error) {
	c = c.Clone()
	if c.MinVersion == 0 {
		c.MinVersion = tls.VersionTLS13
	}
	if c.MaxVersion != 0 && c.MaxVersion < c.MinVersion {
		return nil, fmt.Errorf("Config.TLS: MaxVersion is %s, less than MinVersion, %s (%s if not set): %w",
			tls.VersionName(c.MaxVersion), tls.VersionName(c.MinVersion), tls.VersionName(tls.VersionTLS13), verbs.ErrInvalidValue)
	}
	if len(c.NextProtos) == 0 {
		c.NextProtos = []string{protocol}
	}
	c.Renegotiation = tls.RenegotiateNever
	c.DynamicRecordSizingDisabled = true // the peer needs whole messages
	return c, nil
}

// canListen returns an error if a server cannot have a certificate.
func (s *secure) canListen() error {
	if s == nil || len(s.config.Certificates) > 0 || s.config.GetCertificate != nil || s.config.GetConfigForClient != nil {
		return nil
	}
	return fmt.Errorf("Config.TLS has no certificate, which a server must have: set its Certificates: %w", verbs.ErrInvalidValue)
}

// client returns the client's end of a TLS connection, before the handshake. With a nil s it
// returns conn. addr is the address that was dialed, whose host the server's certificate must name
// unless Config.TLS.ServerName is set.
func (s *secure) client(conn net.Conn, addr string) net.Conn {
	if s == nil {
		return conn
	}
	config := s.config
	if host, _, err := net.SplitHostPort(addr); err == nil && config.ServerName == "" {
		config = config.Clone()
		config.ServerName = host
	}
	return &tlsConn{secure: s, sock: tlsSocket{Conn: conn}, config: config}
}

// server returns the server's end.
func (s *secure) server(conn net.Conn) net.Conn {
	if s == nil {
		return conn
	}
	return &tlsConn{secure: s, sock: tlsSocket{Conn: conn}, config: s.config, isServer: true}
}

// handshake does the TLS handshake of a connection that has TLS. The caller has set the deadline
// limit, and removes it.
func handshake(ctx context.Context, conn net.Conn, limit time.Time) error {
	c, ok := conn.(*tlsConn)
	if !ok {
		return nil
	}
	ctx, cancel := context.WithDeadline(ctx, limit)
	defer cancel()
	err := c.handshake(ctx)
	if err == nil {
		return nil
	}
	err = c.explain(err)
	if c.isServer && errors.Is(err, verbs.ErrTLS) {
		c.turnAway(err, limit)
	}
	return err
}

func (c *tlsConn) handshake(ctx context.Context) error {
	if c.isServer {
		if err := c.sock.readRecord(); err != nil { // before crypto/tls allocates its state
			return err
		}
		c.tls = tls.Server(&c.sock, c.config)
	} else {
		c.tls = tls.Client(&c.sock, c.config)
	}
	err := c.tls.HandshakeContext(ctx)
	if err != nil {
		return err
	}
	c.sock.settled = true
	if c.tls.ConnectionState().NegotiatedProtocol == "" && !c.secure.optional {
		return &alpnError{c.config.NextProtos}
	}
	return nil
}

// alpnError is the error for a peer that takes no part in ALPN.
type alpnError struct{ want []string }

func (e *alpnError) Error() string {
	return fmt.Sprintf("the peer names no application protocol (ALPN), must be one of %q: it may speak another protocol; Config.TLSWithoutALPN accepts it", e.want)
}
