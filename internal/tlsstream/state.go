package tlsstream

import (
	"bytes"
	"crypto/tls"
	"errors"
	"fmt"
)

// State describes a session. Its fields are those of verbs.TLSState and oncrpc.TLSState, which it
// can be converted to.
type State struct {
	Version          string
	CipherSuite      string
	Protocol         string
	ServerName       string
	Resumed          bool
	PeerCertificates [][]byte
	Verified         bool
}

// StateOf returns the State of a session after its handshake.
func StateOf(state tls.ConnectionState) State {
	s := State{
		Version: tls.VersionName(state.Version), CipherSuite: tls.CipherSuiteName(state.CipherSuite),
		Protocol: state.NegotiatedProtocol, ServerName: state.ServerName, Resumed: state.DidResume, Verified: len(state.VerifiedChains) > 0,
	}
	for _, c := range state.PeerCertificates {
		s.PeerCertificates = append(s.PeerCertificates, bytes.Clone(c.Raw))
	}
	return s
}

// The channel binding of TLS 1.3 (RFC 9266 §2).
const (
	BindingType  = "tls-exporter"
	bindingLabel = "EXPORTER-Channel-Binding"
	bindingSize  = 32 // bytes
)

// Binding returns the channel binding of a session, of the type BindingType. Those of versions
// before 1.3 are not unique without extensions of TLS.
func Binding(state tls.ConnectionState) ([]byte, error) {
	switch {
	case !state.HandshakeComplete:
		return nil, errors.New("the TLS handshake is not complete")
	case state.Version < tls.VersionTLS13:
		return nil, fmt.Errorf("the stream has %s, must be TLS 1.3 or later (RFC 9266)", tls.VersionName(state.Version))
	}
	return state.ExportKeyingMaterial(bindingLabel, nil, bindingSize)
}
