package verbstest

import (
	"bytes"
	"errors"

	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// Both ends of a connection report the same TLS session, or neither does. The client has the
// certificate of the server, which the caller may change.
func testTLSState(h *harness) {
	s, ok := h.newEnd(h.Client, verbs.QPConfig{}).qp.(verbs.TLSStater)
	if !ok {
		h.Skip("the provider has no TLS (verbs.TLSStater)")
	}
	if _, err := s.TLSState(); !errors.Is(err, verbs.ErrNotSupported) {
		h.wantErr("before the connection", err, verbs.ErrInvalidState)
	}
	client, server := h.connected()
	own, err := verbs.TLSStateOf(client.qp)
	if errors.Is(err, verbs.ErrNotSupported) {
		_, err = verbs.TLSStateOf(server.qp)
		h.wantErr("at the server, as at the client", err, verbs.ErrNotSupported)
		h.Skipf("the connection has no TLS: %v", err)
	}
	h.must("TLS state of the client", err)
	peers, err := verbs.TLSStateOf(server.qp)
	h.must("TLS state of the server", err)
	if own.Version == "" || own.Version != peers.Version || own.CipherSuite != peers.CipherSuite || own.Protocol != peers.Protocol || own.Resumed != peers.Resumed {
		h.Errorf("client %+v, server %+v", own, peers)
	}
	if len(own.PeerCertificates) == 0 {
		h.Fatal("the client has no certificate of the server")
	}
	kept := bytes.Clone(own.PeerCertificates[0])
	clear(own.PeerCertificates[0])
	again, err := verbs.TLSStateOf(client.qp)
	h.must("TLS state again", err)
	if !bytes.Equal(again.PeerCertificates[0], kept) {
		h.Error("the certificate is not a copy")
	}
}
