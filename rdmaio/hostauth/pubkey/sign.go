package pubkey

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/sha512"
	"fmt"
	"io"
)

// Sizes of RSA keys, in bits. Shorter ones are weak, and longer ones cost the verifier much time.
const (
	minRSA = 2048
	maxRSA = 8192
)

// checkKey reports a public key that this method does not use.
func checkKey(key crypto.PublicKey) error {
	switch key := key.(type) {
	case ed25519.PublicKey:
		if len(key) != ed25519.PublicKeySize {
			return fmt.Errorf("an Ed25519 key of %d bytes, expected %d", len(key), ed25519.PublicKeySize)
		}
	case *ecdsa.PublicKey:
		if curveHash(key.Curve) == 0 {
			return fmt.Errorf("an ECDSA key on curve %s, expected P-256, P-384 or P-521", key.Params().Name)
		}
	case *rsa.PublicKey:
		if n := key.N.BitLen(); n < minRSA || n > maxRSA {
			return fmt.Errorf("an RSA key of %d bits, expected %d to %d", n, minRSA, maxRSA)
		}
	default:
		return fmt.Errorf("a key of type %T, expected Ed25519, ECDSA or RSA", key)
	}
	return nil
}

// curveHash returns the hash that goes with a curve, or 0.
func curveHash(curve elliptic.Curve) crypto.Hash {
	switch curve {
	case elliptic.P256():
		return crypto.SHA256
	case elliptic.P384():
		return crypto.SHA384
	case elliptic.P521():
		return crypto.SHA512
	}
	return 0
}

// sign signs a text. The key alone decides the algorithm, so no attacker can choose a weaker one.
func sign(signer crypto.Signer, random io.Reader, text []byte) ([]byte, error) {
	var opts crypto.SignerOpts = crypto.Hash(0) // Ed25519 signs the text itself
	switch key := signer.Public().(type) {
	case *ecdsa.PublicKey:
		opts = curveHash(key.Curve)
	case *rsa.PublicKey:
		opts = &rsa.PSSOptions{SaltLength: rsa.PSSSaltLengthEqualsHash, Hash: crypto.SHA256}
	}
	return crypto.SignMessage(signer, random, text, opts)
}

// verify reports whether the signature of a text is valid for a key that checkKey accepts.
func verify(key crypto.PublicKey, text, signature []byte) bool {
	switch key := key.(type) {
	case ed25519.PublicKey:
		return ed25519.Verify(key, text, signature)
	case *ecdsa.PublicKey:
		return ecdsa.VerifyASN1(key, sum(curveHash(key.Curve), text), signature)
	case *rsa.PublicKey:
		opts := &rsa.PSSOptions{SaltLength: rsa.PSSSaltLengthEqualsHash, Hash: crypto.SHA256}
		return rsa.VerifyPSS(key, crypto.SHA256, sum(crypto.SHA256, text), signature, opts) == nil
	}
	return false
}

// sum returns the hash of a text.
func sum(hash crypto.Hash, text []byte) []byte {
	switch hash {
	case crypto.SHA384:
		s := sha512.Sum384(text)
		return s[:]
	case crypto.SHA512:
		s := sha512.Sum512(text)
		return s[:]
	}
	s := sha256.Sum256(text)
	return s[:]
}
