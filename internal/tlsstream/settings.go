// Package tlsstream is TLS over a stream, for code that frames messages in it: the providers of
// RDMA over TCP, and package runtime/oncrpc/tcp. It differs from crypto/tls alone in these points
// (ADR 0054):
//
//   - A peer costs no state of TLS before its first record is complete, and during the handshake no
//     more memory than twice the bytes that it sent.
//   - The end of the TCP connection without close_notify is an error.
//   - A record that has begun must come to its end within a time.
//   - Records can be held and then written together, and a write that was interrupted can go on.
//   - Errors of the handshake say what to do.
//
// The application protocol (ALPN) must be agreed on, unless Options.WithoutALPN is set.
package tlsstream

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"time"
)

// Options are the arguments of New.
type Options struct {
	Config      *tls.Config // not nil; New copies it
	Protocol    string      // the application protocol (RFC 7301), unless Config has some
	WithoutALPN bool        // accepts a peer that takes no part in ALPN

	// Adjust changes each copy of a configuration before its defaults are set: that of Config, and
	// those that GetConfigForClient returns. It may be nil.
	Adjust func(*tls.Config)

	// Quiet makes a server send nothing to a client whose first bytes are not TLS. Otherwise it
	// sends an alert in the clear.
	Quiet bool

	// RecordTimeout is the longest time that a read waits for the rest of a record, after the
	// handshake. It then fails with ErrSlow. If zero, there is no limit.
	RecordTimeout time.Duration

	// Mark is in the errors of handshakes that another attempt would have again, for errors.Is.
	Mark error

	// Names of fields, for errors: of Config ("Config.TLS") and of WithoutALPN.
	ConfigField, ALPNField string
}

// Settings has the completed configuration of both roles.
type Settings struct{ Options }

// New completes a configuration. TLS 1.3 is the least version unless the caller has set one.
func New(o Options) (*Settings, error) {
	s := &Settings{o}
	c, err := s.complete(o.Config)
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
			return s.complete(chosen)
		}
	}
	s.Config = c
	return s, nil
}

// complete returns a copy of a configuration with the defaults of this package.
func (s *Settings) complete(c *tls.Config) (*tls.Config, error) {
	c = c.Clone()
	if s.Adjust != nil {
		s.Adjust(c)
	}
	if c.MinVersion == 0 {
		c.MinVersion = tls.VersionTLS13
	}
	if c.MaxVersion != 0 && c.MaxVersion < c.MinVersion {
		return nil, fmt.Errorf("%s: MaxVersion is %s, less than MinVersion, %s (%s if not set)", s.ConfigField,
			tls.VersionName(c.MaxVersion), tls.VersionName(c.MinVersion), tls.VersionName(tls.VersionTLS13))
	}
	if len(c.NextProtos) == 0 {
		c.NextProtos = []string{s.Protocol}
	}
	c.Renegotiation = tls.RenegotiateNever
	c.DynamicRecordSizingDisabled = true // the peer needs whole messages
	return c, nil
}

// CanListen returns an error if a server cannot have a certificate.
func (s *Settings) CanListen() error {
	if len(s.Config.Certificates) > 0 || s.Config.GetCertificate != nil || s.Config.GetConfigForClient != nil {
		return nil
	}
	return fmt.Errorf("%s has no certificate, which a server must have: set its Certificates", s.ConfigField)
}

// Client returns the client's end of a TLS connection, before the handshake. addr is the address
// that was dialed, whose host the server's certificate must name unless ServerName is set.
func (s *Settings) Client(conn net.Conn, addr string) *Conn {
	config := s.Config
	if host, _, err := net.SplitHostPort(addr); err == nil && config.ServerName == "" {
		config = config.Clone()
		config.ServerName = host
	}
	return &Conn{settings: s, sock: socket{Conn: conn, limit: s.RecordTimeout}, config: config}
}

// Server returns the server's end.
func (s *Settings) Server(conn net.Conn) *Conn {
	return &Conn{settings: s, sock: socket{Conn: conn, limit: s.RecordTimeout}, config: s.Config, isServer: true}
}

// Handshake does the TLS handshake. The caller has set the deadline limit, and removes it. An error
// that another attempt would have again has Options.Mark. A server that refuses a client waits for
// up to a second, within limit, so that the client can read why.
func (c *Conn) Handshake(ctx context.Context, limit time.Time) error {
	ctx, cancel := context.WithDeadline(ctx, limit)
	defer cancel()
	err := c.handshake(ctx)
	if err == nil {
		return nil
	}
	err = c.Explain(err)
	if c.isServer && errors.Is(err, c.settings.Mark) {
		c.turnAway(err, limit)
	}
	return err
}

func (c *Conn) handshake(ctx context.Context) error {
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
	if c.tls.ConnectionState().NegotiatedProtocol == "" && !c.settings.WithoutALPN {
		return &alpnError{c.config.NextProtos, c.settings.ALPNField}
	}
	return nil
}

// alpnError is the error for a peer that takes no part in ALPN.
type alpnError struct {
	want  []string
	field string
}

func (e *alpnError) Error() string {
	return fmt.Sprintf("the peer names no application protocol (ALPN), must be one of %q: it may speak another protocol; %s accepts it", e.want, e.field)
}
