package pubkey

import (
	"crypto/sha256"
	"encoding/binary"
	"strings"

	"github.com/rpcrdma/rpcrdma/rdmaio/hostauth"
)

// digests are the three digests that each side signs. The messages contain them so that a failure
// can say which part differs. They prove nothing without the signature.
type digests [3][digestSize]byte

// digestNames are the names of the parts. They are hashed with them.
var digestNames = [3]string{"hellos", "properties", "channel binding"}

// newDigests computes the digests. client and server are both hellos without proof. They have the
// nonces, which also enter the other digests, so that the digests of two connections differ.
func newDigests(info *hostauth.Info, client, server []byte) digests {
	nonces := [][]byte{client[headerSize : headerSize+nonceSize], server[headerSize : headerSize+nonceSize]}
	ofClient, ofServer := info.Sent, info.Received
	if info.Role == hostauth.Server {
		ofClient, ofServer = ofServer, ofClient
	}
	return digests{
		digest(digestNames[0], client, server),
		digest(digestNames[1], nonces[0], nonces[1], ofClient, ofServer),
		digest(digestNames[2], nonces[0], nonces[1], []byte(info.Binding.Type), info.Binding.Data),
	}
}

// digest returns the SHA-256 of the name and the parts, each after its length in 8 bytes, so that
// different parts never have the same input.
func digest(name string, parts ...[]byte) (d [digestSize]byte) {
	h := sha256.New()
	for _, part := range append([][]byte{[]byte(name)}, parts...) {
		var n [8]byte
		binary.BigEndian.PutUint64(n[:], uint64(len(part)))
		h.Write(n[:])
		h.Write(part)
	}
	h.Sum(d[:0])
	return d
}

// context begins the text that a side signs. The spaces are the same as in TLS 1.3 (RFC 8446
// §4.4.3): no text that a key signs in TLS 1.2 or in another protocol of this form begins with all
// of it.
var context = strings.Repeat(" ", 64) + "RPC-over-RDMA host authentication 1, "

// signed returns the text that the side with a role signs. The roles differ in it, so that a
// signature is of no use in the other direction, even if both sides have the same key.
func signed(role hostauth.Role, d *digests) []byte {
	b := append([]byte(context), role.String()...)
	b = append(b, 0)
	for i := range d {
		b = append(b, d[i][:]...)
	}
	return b
}
