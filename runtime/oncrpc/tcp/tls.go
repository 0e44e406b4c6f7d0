package tcp

import (
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/tlsstream"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
)

// TLS configures RPC-with-TLS (RFC 9289): a connection begins in plaintext, and the first Call, a
// probe, asks for TLS. The zero value does not use TLS. docs/tls.md describes what it protects.
type TLS struct {
	// Mode says whether connections have TLS. If zero, they do not: a client sends no probe, and a
	// server refuses its clients' probes.
	Mode TLSMode

	// Config has the certificates and authorities. It is copied, and these fields of the copy are
	// set: TLS 1.3 is the least version, NextProtos is "sunrpc", and ServerName is the host of the
	// address that is dialed, unless it is set. A server must have a certificate. It asks clients
	// for theirs and verifies them if ClientCAs is set; set ClientAuth to require them. A client
	// may leave Config nil: it then trusts the authorities of the system.
	Config *tls.Config

	// WithoutALPN accepts a peer that names no application protocol. RFC 9289 §5 forbids that, but
	// the tlshd of Debian (ktls-utils 1.0.0), which does the handshakes of the Linux kernel, sends
	// none. A peer that names another protocol is always refused. DEVIATION(ADR 0068).
	WithoutALPN bool

	// Program and Version are called by the probe, which calls procedure 0. If Program is zero, a
	// Client uses the program of the Call for which it connects, and Dial uses version 2 of rpcbind
	// (100000). A server that has TLS offers it whether it serves the program or not.
	Program, Version uint32

	// HandshakeTimeout is the longest time that the handshake may take: from the probe at a client,
	// from the answer to it at a server. If zero, the default is 10 s. If negative, there is no
	// limit.
	HandshakeTimeout time.Duration

	// MaxHandshakes is the largest number of handshakes that a server has at one time. If zero, the
	// default is 1,000. If negative, there is no limit. A further one closes the connection whose
	// handshake has lasted longest, because an honest client's handshake is short.
	MaxHandshakes int
}

// TLSMode says whether connections have TLS.
type TLSMode int

const (
	// TLSOff means that connections have no TLS.
	TLSOff TLSMode = iota

	// TLSWanted means that connections have TLS if the peer offers it (RFC 9289 §6.1). A client
	// continues in plaintext if the server refuses the probe. A server serves plaintext, too. An
	// attacker on the path can make each end believe that the other has no TLS, so TLSWanted
	// protects against listeners alone. After a handshake that failed there is no plaintext.
	TLSWanted

	// TLSRequired means that connections have TLS. Dial fails if the server does not offer it. A
	// server answers each plaintext Call but the probe with AUTH_TOOWEAK, and closes the connection
	// unless the probe comes within Config.FirstCallTimeout.
	TLSRequired
)

// String returns "off", "wanted" or "required".
func (m TLSMode) String() string {
	switch m {
	case TLSOff:
		return "off"
	case TLSWanted:
		return "wanted"
	case TLSRequired:
		return "required"
	}
	return fmt.Sprintf("TLSMode(%d)", int(m))
}

// Errors of TLS for errors.Is. The text of an error that wraps one of them has the details. Both
// are an oncrpc.ErrAuth too, because RFC 9289 §4.1 wants them reported as a rejection is.
var (
	// ErrTLS reports that the two ends do not agree on TLS. Another attempt fails until the
	// configuration of one end is changed, so a Client fails its Calls at once.
	ErrTLS error = tlsError("tcp: no agreement on TLS")
	// ErrNoTLS reports that TLSRequired is set, and the server does not offer TLS. The error is
	// an ErrTLS, too.
	ErrNoTLS error = tlsError("tcp: the server offers no TLS")
)

// errHandshake begins the error of a handshake that failed after the server offered TLS. It is an
// oncrpc.ErrAuth (RFC 9289 §4.1), and not an ErrTLS if another attempt may succeed.
const errHandshake = tlsError("tcp: the server offers TLS, and the handshake failed")

type tlsError string

func (e tlsError) Error() string { return string(e) }

// Is reports whether target is oncrpc.ErrAuth.
func (tlsError) Is(target error) bool { return target == oncrpc.ErrAuth }

// sunrpc is the application protocol of RPC-with-TLS (RFC 9289 §7.2).
const sunrpc = "sunrpc"

// noLimit is the time for a handshake without a limit.
const noLimit = 365 * 24 * time.Hour

// tlsSettings is a TLS with its defaults, for one role.
type tlsSettings struct {
	*tlsstream.Settings
	TLS
	handshakes handshakes // of a server
}

// settleTLS sets s.tls, unless TLS is off.
func (s *settings) settleTLS(server bool) error {
	t := &tlsSettings{TLS: s.Config.TLS}
	switch t.Mode {
	case TLSOff:
		return nil
	case TLSWanted, TLSRequired:
	default:
		return fmt.Errorf("tcp: Config.TLS.Mode is %d, must be TLSOff, TLSWanted or TLSRequired", int(t.Mode))
	}
	if t.Config == nil {
		t.Config = new(tls.Config)
	}
	if t.Program == 0 {
		t.Program, t.Version = 100000, 2
	}
	switch {
	case t.HandshakeTimeout == 0:
		t.HandshakeTimeout = 10 * time.Second
	case t.HandshakeTimeout < 0:
		t.HandshakeTimeout = noLimit
	}
	switch t.handshakes.most = t.MaxHandshakes; {
	case t.MaxHandshakes == 0:
		t.handshakes.most = 1000
	case t.MaxHandshakes < 0:
		t.handshakes.most = 0
	}
	adjust := adjustClient
	if server {
		adjust = adjustServer
	}
	var err error
	t.Settings, err = tlsstream.New(tlsstream.Options{
		Config: t.Config, Protocol: sunrpc, WithoutALPN: t.WithoutALPN, Adjust: adjust, Quiet: true, RecordTimeout: s.RecordTimeout,
		Mark: ErrTLS, ConfigField: "Config.TLS.Config", ALPNField: "Config.TLS.WithoutALPN",
	})
	if err == nil && server {
		err = t.CanListen()
	}
	if err != nil {
		return fmt.Errorf("%w: %w", ErrTLS, err)
	}
	s.tls = t
	return nil
}

// adjust sets what RFC 9289 §5 demands.
func adjust(c *tls.Config) {
	c.MinVersion = max(c.MinVersion, tls.VersionTLS13)
	c.NextProtos = []string{sunrpc}
}

// adjustServer is adjust for a server.
func adjustServer(c *tls.Config) {
	adjust(c)
	if c.ClientAuth != tls.NoClientCert {
		return
	}
	// RFC 9289 §4.2: a server must ask each client for its certificate.
	if c.ClientAuth = tls.RequestClientCert; c.ClientCAs != nil {
		c.ClientAuth = tls.VerifyClientCertIfGiven
	}
}

// adjustClient is adjust for a client.
func adjustClient(c *tls.Config) {
	adjust(c)
	if c.InsecureSkipVerify {
		return
	}
	then := c.VerifyConnection
	c.VerifyConnection = func(state tls.ConnectionState) error {
		if err := refuseWildcard(state); err != nil || then == nil {
			return err
		}
		return then(state)
	}
}

// refuseWildcard returns an error if only a wildcard in the certificate matches the server's name
// (RFC 9289 §5.2.1).
func refuseWildcard(state tls.ConnectionState) error {
	if state.ServerName == "" || len(state.PeerCertificates) == 0 {
		return nil
	}
	cert := *state.PeerCertificates[0]
	cert.DNSNames = slices.DeleteFunc(slices.Clone(cert.DNSNames), func(name string) bool { return strings.Contains(name, "*") })
	if len(cert.DNSNames) == len(state.PeerCertificates[0].DNSNames) {
		return nil
	}
	if err := cert.VerifyHostname(state.ServerName); err != nil {
		return fmt.Errorf("the names of the certificate may have no wildcard (RFC 9289 §5.2.1): %w", err)
	}
	return nil
}

// logTLS records the choice of a connection, as RFC 9289 §6.1 requires.
func logTLS(log *slog.Logger, mode TLSMode, state tls.ConnectionState) {
	host := ""
	if len(state.PeerCertificates) > 0 {
		host = state.PeerCertificates[0].Subject.String()
	}
	log.Info("tcp: the connection has TLS", "mode", mode.String(), "version", tls.VersionName(state.Version),
		"host", host, "verified", len(state.VerifiedChains) > 0)
}

// Peer describes the host of the peer. TLS comes from RPC-with-TLS, or from a stream that was given
// to NewConn or ServeConn and has the method ConnectionState, as a *tls.Conn does. Local comes from
// a local socket.
func (c *Conn) Peer() oncrpc.Peer {
	return oncrpc.Peer{Addr: c.RemoteAddr(), TLS: c.tlsState(), Local: c.process}
}

// security is the TLS of a connection. The connection's mu guards secured and switching.
//
//	plaintext ── AUTH_TLS probe ──> switching ── handshake ──> secured
type security struct {
	conn      *Conn
	tls       atomic.Pointer[oncrpc.TLSState] // nil: not known yet
	secured   bool                            // the stream is TLS; the reader changes it
	switching bool                            // the TLS handshake is in progress
}

// tlsState returns the state of the session, or nil without TLS.
func (s *security) tlsState() *oncrpc.TLSState {
	if known := s.tls.Load(); known != nil {
		return known
	}
	state, ok := s.session()
	if !ok {
		return nil
	}
	found := oncrpc.TLSState(tlsstream.StateOf(state))
	s.tls.Store(&found)
	return &found
}

// session returns the TLS session. ok is false before the handshake and without TLS.
func (s *security) session() (state tls.ConnectionState, ok bool) {
	s.conn.mu.Lock()
	nc := s.conn.out.nc
	s.conn.mu.Unlock()
	stream, ok := nc.(interface{ ConnectionState() tls.ConnectionState })
	if !ok {
		return tls.ConnectionState{}, false
	}
	state = stream.ConnectionState()
	return state, state.HandshakeComplete
}

// ChannelBinding returns the type and the data of the TLS session's channel binding, for RPCSEC_GSS
// (RFC 9289 §4.2.1): "tls-exporter" (RFC 9266). It returns an error without TLS 1.3.
func (c *Conn) ChannelBinding() (typ string, data []byte, err error) {
	state, ok := c.session()
	if !ok {
		return "", nil, errors.New("tcp: no channel binding: the connection has no TLS")
	}
	if data, err = tlsstream.Binding(state); err != nil {
		return "", nil, fmt.Errorf("tcp: no channel binding: %w", err)
	}
	return tlsstream.BindingType, data, nil
}

// keepSessions gives the connections of a Client one cache, so that they resume TLS sessions.
func (c *ClientConfig) keepSessions() {
	if c.Conn == nil || c.Conn.TLS.Mode == TLSOff {
		return
	}
	cfg := *c.Conn
	if cfg.TLS.Config = cfg.TLS.Config.Clone(); cfg.TLS.Config == nil { // Clone of nil is nil
		cfg.TLS.Config = new(tls.Config)
	}
	if cfg.TLS.Config.ClientSessionCache == nil {
		cfg.TLS.Config.ClientSessionCache = tls.NewLRUClientSessionCache(0)
	}
	c.Conn = &cfg
}

// noteProgram keeps the program of a Call for the probe.
func (c *Client) noteProgram(call *oncrpc.Call) {
	if call == nil {
		return
	}
	if program, version, _, ok := oncrpc.Procedure(call.Inline); ok {
		c.probe.Store(uint64(program)<<32 | uint64(version))
	}
}

// connConfig returns the Config of the next connection.
func (c *Client) connConfig() *Config {
	if c.cfg.Conn == nil || c.cfg.Conn.TLS.Mode == TLSOff || c.cfg.Conn.TLS.Program != 0 {
		return c.cfg.Conn
	}
	cfg := *c.cfg.Conn
	probe := c.probe.Load()
	cfg.TLS.Program, cfg.TLS.Version = uint32(probe>>32), uint32(probe)
	return &cfg
}
