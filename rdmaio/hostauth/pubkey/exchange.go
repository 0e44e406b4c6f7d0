package pubkey

import (
	"bytes"
	"crypto"
	"crypto/ed25519"
	"crypto/subtle"
	"crypto/x509"
	"errors"
	"fmt"
	"io"

	"github.com/rpcrdma/rpcrdma/rdmaio/hostauth"
)

// methodName is the name in hostauth.Peer.Method.
const methodName = "pubkey"

// exchange is one exchange at one end:
//
//	client                                          server
//	Begin:   client hello  ──────────────────────>  Receive: keeps the hello, signs
//	Receive: verifies, signs  <────── server hello
//	         client proof  ──────────────────────>  Receive: verifies
//	done                                            done
//
// Each side decides whether it accepts the peer only after the peer has proved to hold its key.
// Otherwise an attacker could find out which keys a host accepts.
type exchange struct {
	m      *Method
	info   hostauth.Info
	expect messageType // from the peer; 0 before Begin, after an error, and when done

	sent    []byte // the hello that this side has sent, with its proof
	nonce   [nonceSize]byte
	claimed identity // at the server: the client's, from its hello
	digests digests  // at the server: from its own hello on

	peer     hostauth.Peer
	verified bool
}

// Start returns an exchange in which the client speaks first and sends two messages, and the server
// one. It fails if the configuration is of no use for the role.
func (m *Method) Start(info hostauth.Info) (hostauth.Exchange, error) {
	x := &exchange{m: m, info: info}
	switch {
	case info.Role == hostauth.Client && m.cfg.ServerName == "" && m.cfg.Verify == nil:
		return nil, x.fail(hostauth.ErrLocal, nil, "Config has neither ServerName nor Verify: without them any accepted host could stand in for the server")
	case m.cfg.RequireBinding && len(info.Binding.Data) == 0:
		return nil, x.fail(hostauth.ErrLocal, nil, "the connection has no channel binding and Config.RequireBinding is set: use a provider over TLS")
	}
	return x, nil
}

// Begin returns the client hello, or nothing at the server.
func (x *exchange) Begin() (hostauth.Step, error) {
	if x.info.Role == hostauth.Server {
		x.expect = clientHello
		return hostauth.Step{}, nil
	}
	part, err := x.hello(clientHello)
	if err != nil {
		return hostauth.Step{}, err
	}
	x.sent, x.expect = part, serverHello
	return hostauth.Step{Message: bytes.Clone(part), Send: true}, nil
}

// Receive takes the next message of the peer.
func (x *exchange) Receive(msg []byte) (hostauth.Step, error) {
	expect := x.expect
	x.expect = 0
	t, err := typeOf(msg)
	switch {
	case err != nil:
		return hostauth.Step{}, x.at(err)
	case x.sent != nil && bytes.Equal(msg, x.sent):
		return hostauth.Step{}, x.fail(hostauth.ErrReflected, nil, "the %v of this side came back: the peer, or a device in the path, returns what it receives", t)
	case expect == 0:
		return hostauth.Step{}, x.fail(hostauth.ErrOrder, nil, "found a %v, expected no message", t)
	case t != expect:
		return hostauth.Step{}, x.fail(hostauth.ErrOrder, nil, "found a %v, expected a %v", t, expect)
	}
	msg = bytes.Clone(msg) // the decoded parts, and the certificates parsed from them, refer to it
	switch t {
	case clientHello:
		return x.answer(msg)
	case serverHello:
		return x.prove(msg)
	}
	return x.finish(msg)
}

// Peer returns the identity of the peer once it is verified and accepted.
func (x *exchange) Peer() (hostauth.Peer, bool) { return x.peer, x.verified }

// answer takes the client hello and returns the server hello.
func (x *exchange) answer(msg []byte) (hostauth.Step, error) {
	h, err := decodeClientHello(msg)
	if err == nil {
		err = x.accepts(h.identity.kind)
	}
	if err != nil {
		return hostauth.Step{}, x.at(err)
	}
	x.claimed = h.identity
	part, err := x.hello(serverHello)
	if err != nil {
		return hostauth.Step{}, err
	}
	x.digests = newDigests(&x.info, msg, part)
	if x.sent, err = x.proof(part, &x.digests); err != nil {
		return hostauth.Step{}, err
	}
	x.expect = clientProof
	return hostauth.Step{Message: bytes.Clone(x.sent), Send: true}, nil
}

// prove takes the server hello, verifies the server, and returns the client proof.
func (x *exchange) prove(msg []byte) (hostauth.Step, error) {
	h, part, p, err := decodeServerHello(msg)
	if err == nil {
		err = x.accepts(h.identity.kind)
	}
	if err != nil {
		return hostauth.Step{}, x.at(err)
	}
	if h.nonce == x.nonce {
		return hostauth.Step{}, x.fail(hostauth.ErrReflected, nil, "the nonce of the server is the nonce of this side")
	}
	d := newDigests(&x.info, x.sent, part)
	if err := x.verify(&h.identity, &p, &d); err != nil {
		return hostauth.Step{}, err
	}
	out, err := x.proof(appendHeader(nil, clientProof), &d)
	if err != nil {
		return hostauth.Step{}, err
	}
	x.verified = true
	return hostauth.Step{Message: out, Send: true, Done: true}, nil
}

// finish takes the client proof and verifies the client.
func (x *exchange) finish(msg []byte) (hostauth.Step, error) {
	p, err := decodeClientProof(msg)
	if err != nil {
		return hostauth.Step{}, x.at(err)
	}
	if err := x.verify(&x.claimed, &p, &x.digests); err != nil {
		return hostauth.Step{}, err
	}
	x.verified = true
	return hostauth.Step{Done: true}, nil
}

// hello returns the hello of this side, without proof, with a new nonce.
func (x *exchange) hello(t messageType) ([]byte, error) {
	if _, err := io.ReadFull(x.m.cfg.Rand, x.nonce[:]); err != nil {
		return nil, x.fail(hostauth.ErrLocal, err, "no nonce from Config.Rand: %s", printable(err))
	}
	return appendHello(nil, t, &hello{x.nonce, x.m.self}), nil
}

// proof appends the proof of this side to b, and verifies its own signature: a faulty one can
// reveal the private key.
func (x *exchange) proof(b []byte, d *digests) ([]byte, error) {
	text := signed(x.info.Role, d)
	signature, err := sign(x.m.cfg.Key, x.m.cfg.Rand, text)
	if err == nil && !verify(x.m.cfg.Key.Public(), text, signature) {
		err = errors.New("the signature does not match the public key")
	}
	if err != nil {
		return nil, x.fail(hostauth.ErrLocal, err, "Config.Key cannot sign: %s", printable(err))
	}
	return appendProof(b, &proof{*d, signature}), nil
}

// verify checks that the peer saw the same data and holds the key of its identity, and then whether
// the identity is accepted. It sets the peer.
func (x *exchange) verify(id *identity, p *proof, d *digests) error {
	for i, name := range digestNames {
		if subtle.ConstantTimeCompare(p.digests[i][:], d[i][:]) != 1 {
			return x.fail(hostauth.ErrTranscript, nil, "the digest of the %s differs at the peer: they were changed on the way, or an attacker relays the messages of another connection", name)
		}
	}
	var key crypto.PublicKey
	var certs []*x509.Certificate
	if id.kind == chain {
		var err error
		if certs, err = parseChain(id.items); err != nil {
			return x.fail(hostauth.ErrCertificate, err, "%s", printable(err))
		}
		key = certs[0].PublicKey
	} else {
		key = ed25519.PublicKey(id.items[0])
	}
	if !verify(key, signed(x.info.Role.Peer(), d), p.signature) {
		return x.fail(hostauth.ErrSignature, nil, "the %v has not proved that it holds the private key of its identity", x.info.Role.Peer())
	}
	var err error
	if id.kind == chain {
		x.peer, err = x.acceptChain(certs)
	} else {
		x.peer, err = x.acceptKey(key.(ed25519.PublicKey))
	}
	return err
}

// accepts refuses a kind of identity for which the configuration has nothing to check it with.
func (x *exchange) accepts(kind identityKind) error {
	switch {
	case x.m.accepts(kind):
		return nil
	case kind == chain:
		return x.fail(hostauth.ErrUntrusted, nil, "the peer has a certificate and Config.Roots is nil: set it, or give the peer a bare key")
	}
	return x.fail(hostauth.ErrUntrusted, nil, "the peer has a bare key and Config has neither Keys nor UnknownKey: set one, or give the peer a certificate")
}

// fail returns an error of this side.
func (x *exchange) fail(kind, cause error, format string, args ...any) error {
	return &hostauth.Error{Kind: kind, Role: x.info.Role, Detail: fmt.Sprintf(format, args...), Err: cause}
}

// at sets the role in an error of a decoder.
func (x *exchange) at(err error) error {
	var e *hostauth.Error
	if errors.As(err, &e) {
		e.Role = x.info.Role
	}
	return err
}
