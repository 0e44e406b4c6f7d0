package stream

import (
	"bytes"
	"crypto/tls"
	"fmt"

	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// The channel binding of TLS 1.3 (RFC 9266 §2).
const (
	bindingType  = "tls-exporter"
	bindingLabel = "EXPORTER-Channel-Binding"
	bindingSize  = 32 // bytes
)

var (
	_ verbs.ChannelBinder = (*queuePair)(nil)
	_ verbs.TLSStater     = (*queuePair)(nil)
)

// ChannelBinding implements verbs.ChannelBinder. There is a binding of type "tls-exporter" if the
// stream has TLS 1.3: from Config.TLS, or if the stream given to DialConn and AcceptConn is a
// *tls.Conn, or has its method ConnectionState. The bindings of earlier versions are not unique
// without extensions of TLS.
func (q *queuePair) ChannelBinding() (verbs.ChannelBinding, error) {
	fail := func(err error) (verbs.ChannelBinding, error) {
		return verbs.ChannelBinding{}, fmt.Errorf("%s: queue pair %d: no channel binding: %w", q.dev.cfg.Provider, q.Num(), err)
	}
	state, err := q.tlsState()
	if err != nil {
		return fail(err)
	}
	if state.Version < tls.VersionTLS13 {
		return fail(fmt.Errorf("the stream has %s, must be TLS 1.3 or later (RFC 9266): %w", tls.VersionName(state.Version), verbs.ErrNotSupported))
	}
	data, err := state.ExportKeyingMaterial(bindingLabel, nil, bindingSize)
	if err != nil {
		return fail(fmt.Errorf("%w: %w", err, verbs.ErrNotSupported))
	}
	return verbs.ChannelBinding{Type: bindingType, Data: data}, nil
}

// TLSState implements verbs.TLSStater, for the same streams with any version of TLS.
func (q *queuePair) TLSState() (verbs.TLSState, error) {
	state, err := q.tlsState()
	if err != nil {
		return verbs.TLSState{}, fmt.Errorf("%s: queue pair %d: no TLS state: %w", q.dev.cfg.Provider, q.Num(), err)
	}
	s := verbs.TLSState{
		Version: tls.VersionName(state.Version), CipherSuite: tls.CipherSuiteName(state.CipherSuite),
		Protocol: state.NegotiatedProtocol, ServerName: state.ServerName, Resumed: state.DidResume, Verified: len(state.VerifiedChains) > 0,
	}
	for _, c := range state.PeerCertificates {
		s.PeerCertificates = append(s.PeerCertificates, bytes.Clone(c.Raw))
	}
	return s, nil
}

// tlsState returns the state of the TLS session.
func (q *queuePair) tlsState() (tls.ConnectionState, error) {
	c := q.conn.Load()
	if c == nil {
		return tls.ConnectionState{}, fmt.Errorf("it is not connected: %w", verbs.ErrInvalidState)
	}
	conn, ok := c.conn.(interface{ ConnectionState() tls.ConnectionState })
	if !ok {
		return tls.ConnectionState{}, fmt.Errorf("the stream is a %T, not TLS: %w", c.conn, verbs.ErrNotSupported)
	}
	return conn.ConnectionState(), nil
}
