package pubkey

import (
	"encoding/binary"
	"fmt"
	"strconv"

	"github.com/rpcrdma/rpcrdma/rdmaio/hostauth"
)

// Sizes of the messages and their parts, in bytes. The package comment has the formats.
const (
	magic   = "HA"
	version = 1

	headerSize   = 4
	nonceSize    = 32
	digestSize   = 32
	maxCerts     = 8        // certificates in a chain
	maxChain     = 32 << 10 // bytes of all certificates of a chain
	maxSignature = 1024     // the signature of an RSA key of 8192 bits
)

// messageType is the type of a message. Its zero value stands for no message.
type messageType byte

const (
	clientHello messageType = 1
	serverHello messageType = 2
	clientProof messageType = 3
)

func (t messageType) String() string {
	switch t {
	case clientHello:
		return "client hello"
	case serverHello:
		return "server hello"
	case clientProof:
		return "client proof"
	}
	return "type " + strconv.Itoa(int(t))
}

// identityKind is the kind of an identity.
type identityKind byte

const (
	bareKey identityKind = 1 // one item: an Ed25519 public key
	chain   identityKind = 2 // X.509 certificates in DER, the leaf first
)

// identity is the identity that a side claims.
type identity struct {
	kind  identityKind
	items [][]byte
}

// hello is the common part of both hellos.
type hello struct {
	nonce    [nonceSize]byte
	identity identity
}

// proof is the part of a message that proves possession of the key.
type proof struct {
	digests   digests
	signature []byte
}

// appendHeader appends the header of a message.
func appendHeader(b []byte, t messageType) []byte {
	return append(append(b, magic...), version, byte(t))
}

// appendHello appends the header, the nonce and the identity.
func appendHello(b []byte, t messageType, h *hello) []byte {
	b = append(appendHeader(b, t), h.nonce[:]...)
	b = append(b, byte(h.identity.kind), byte(len(h.identity.items)))
	for _, item := range h.identity.items {
		b = binary.BigEndian.AppendUint32(b, uint32(len(item)))
		b = append(b, item...)
	}
	return b
}

// appendProof appends the digests and the signature.
func appendProof(b []byte, p *proof) []byte {
	for i := range p.digests {
		b = append(b, p.digests[i][:]...)
	}
	b = binary.BigEndian.AppendUint32(b, uint32(len(p.signature)))
	return append(b, p.signature...)
}

// typeOf returns the type of a message in this version.
func typeOf(msg []byte) (messageType, error) {
	switch {
	case len(msg) < headerSize:
		return 0, &hostauth.Error{Kind: hostauth.ErrMalformed, Detail: fmt.Sprintf("message of %d bytes, expected a header of %d", len(msg), headerSize)}
	case string(msg[:2]) != magic || msg[2] != version:
		return 0, &hostauth.Error{Kind: hostauth.ErrVersion, Detail: fmt.Sprintf(
			"message begins with %x, expected %x (method pubkey, version %d): configure the same method at both ends", msg[:3], magic+string(rune(version)), version)}
	}
	t := messageType(msg[3])
	if t < clientHello || t > clientProof {
		return 0, &hostauth.Error{Kind: hostauth.ErrMalformed, Detail: fmt.Sprintf("message of %v, expected 1 to 3", t)}
	}
	return t, nil
}

// decoder reads a message whose header typeOf has read. The results refer to the message. After the
// first error every result is empty.
type decoder struct {
	what messageType
	msg  []byte
	off  int
	err  error
}

func newDecoder(t messageType, msg []byte) *decoder {
	return &decoder{what: t, msg: msg, off: headerSize}
}

func (d *decoder) fail(format string, args ...any) {
	if d.err == nil {
		d.err = &hostauth.Error{Kind: hostauth.ErrMalformed, Detail: fmt.Sprintf("%v, byte %d: ", d.what, d.off) + fmt.Sprintf(format, args...)}
	}
}

// take returns the next n bytes.
func (d *decoder) take(n int, name string) []byte {
	if d.err == nil && len(d.msg)-d.off < n {
		d.fail("%d bytes left, expected %d of %s", len(d.msg)-d.off, n, name)
	}
	if d.err != nil {
		return nil
	}
	b := d.msg[d.off : d.off+n : d.off+n]
	d.off += n
	return b
}

// number returns the next byte, which is between low and high.
func (d *decoder) number(low, high byte, name string) byte {
	b := d.take(1, name)
	if d.err != nil {
		return 0
	}
	if b[0] < low || b[0] > high {
		d.off--
		d.fail("%s is %d, expected %d to %d", name, b[0], low, high)
		return 0
	}
	return b[0]
}

// item returns the next item. Its length precedes it, and is between low and high.
func (d *decoder) item(low, high int, name string) []byte {
	b := d.take(4, "the length of "+name)
	if d.err != nil {
		return nil
	}
	n := binary.BigEndian.Uint32(b)
	if n < uint32(low) || n > uint32(high) {
		d.off -= 4
		d.fail("the length of %s is %d, expected %d to %d", name, n, low, high)
		return nil
	}
	return d.take(int(n), name)
}

func (d *decoder) hello() (h hello) {
	copy(h.nonce[:], d.take(nonceSize, "the nonce"))
	h.identity.kind = identityKind(d.number(byte(bareKey), byte(chain), "the kind of identity"))
	if h.identity.kind == bareKey {
		d.number(1, 1, "the number of keys")
		h.identity.items = [][]byte{d.item(32, 32, "the Ed25519 key")}
		return h
	}
	left := maxChain
	n := d.number(1, maxCerts, "the number of certificates")
	for range n {
		cert := d.item(1, left, "a certificate (at most 32 KiB for all)")
		left -= len(cert)
		h.identity.items = append(h.identity.items, cert)
	}
	return h
}

func (d *decoder) proof() (p proof) {
	for i := range p.digests {
		copy(p.digests[i][:], d.take(digestSize, "the digest of "+digestNames[i]))
	}
	p.signature = d.item(1, maxSignature, "the signature")
	return p
}

// end refuses bytes after the message.
func (d *decoder) end() error {
	if d.err == nil && d.off != len(d.msg) {
		d.fail("%d bytes follow the message, expected none", len(d.msg)-d.off)
	}
	return d.err
}

func decodeClientHello(msg []byte) (hello, error) {
	d := newDecoder(clientHello, msg)
	h := d.hello()
	return h, d.end()
}

// decodeServerHello also returns the part of the message before the proof.
func decodeServerHello(msg []byte) (hello, []byte, proof, error) {
	d := newDecoder(serverHello, msg)
	h := d.hello()
	part := msg[:d.off]
	p := d.proof()
	return h, part, p, d.end()
}

func decodeClientProof(msg []byte) (proof, error) {
	d := newDecoder(clientProof, msg)
	p := d.proof()
	return p, d.end()
}
