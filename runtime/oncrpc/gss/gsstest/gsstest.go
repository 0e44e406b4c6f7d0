// Package gsstest is a GSS-API mechanism for tests of programs that use package gss. Its sides
// share a key, and a holder of the key can be any user. Tokens are JSON; checksums are HMAC-SHA256,
// and encryption is AES-256-GCM.
package gsstest

import (
	"bytes"
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/gss"
)

// OID is the object identifier of the mechanism, of the arc for examples.
const OID = "2.999.2203"

// Sizes in bytes. Neither is a multiple of four, so that there is padding.
const (
	MICSize      = 30
	WrapOverhead = 1 + 12 + 16
)

// Realm makes the two sides of the mechanism. Its methods may be called concurrently.
type Realm struct {
	key     [32]byte
	tokens  int
	live    atomic.Int64
	expired atomic.Int64 // contexts with a lower number have expired
	made    atomic.Int64
}

// NewRealm returns a Realm with a random key. tokens is the number of tokens that both sides
// together send for a context: 1, 2, 3 or 4.
func NewRealm(tokens int) *Realm {
	r := &Realm{tokens: tokens}
	_, _ = rand.Read(r.key[:]) // never fails
	return r
}

// Live returns the number of contexts that were made and not deleted, of both sides.
func (r *Realm) Live() int { return int(r.live.Load()) }

// Expire makes all contexts expire that have been made.
func (r *Realm) Expire() { r.expired.Store(r.made.Load()) }

// Initiator returns the client's side for a user.
func (r *Realm) Initiator(user, server string) gss.Initiator { return &initiator{r, user, server} }

// Acceptor returns the server's side.
func (r *Realm) Acceptor() gss.Acceptor { return acceptor{r} }

type initiator struct {
	realm        *Realm
	user, server string
}

type acceptor struct{ realm *Realm }

// token is a message of either side.
type token struct {
	Number       int // 1 is the client's first
	User, Server string
	Nonce        []byte
	Proof        []byte // a hash of the key, of all tokens before, and of this one
}

// InitSecContext implements gss.Initiator.
func (i *initiator) InitSecContext(_ context.Context, gc gss.Context, in []byte) (gss.Step, error) {
	if gc == nil {
		c := i.realm.newContext(true, gss.Info{Initiator: i.user, Acceptor: i.server})
		return gss.Step{Context: c, Token: c.send(), Complete: c.complete()}, nil
	}
	return gc.(*secContext).step(in)
}

// AcceptSecContext implements gss.Acceptor.
func (a acceptor) AcceptSecContext(_ context.Context, gc gss.Context, in []byte) (gss.Step, error) {
	if gc == nil {
		gc = a.realm.newContext(false, gss.Info{})
	}
	return gc.(*secContext).step(in)
}

// secContext is a context of one side.
type secContext struct {
	realm      *Realm
	client     bool
	info       gss.Info
	number     int64
	tokens     int    // exchanged so far
	transcript []byte // all of them
	micKeys    [2][]byte
	wrapKeys   [2]cipher.AEAD
	deleted    atomic.Bool
}

func (r *Realm) newContext(client bool, info gss.Info) *secContext {
	info.Mechanism, info.MICSize, info.WrapOverhead = OID, MICSize, WrapOverhead
	r.live.Add(1)
	return &secContext{realm: r, client: client, info: info, number: r.made.Add(1)}
}

// hash returns a keyed hash.
func hash(key []byte, parts ...[]byte) []byte {
	mac := hmac.New(sha256.New, key)
	for _, p := range parts {
		mac.Write([]byte{byte(len(p) >> 24), byte(len(p) >> 16), byte(len(p) >> 8), byte(len(p))})
		mac.Write(p)
	}
	return mac.Sum(nil)
}

// complete reports whether all tokens were exchanged. It then derives the keys.
func (c *secContext) complete() bool {
	if c.tokens < c.realm.tokens {
		return false
	}
	for i, side := range []string{"client", "server"} {
		c.micKeys[i] = hash(c.realm.key[:], c.transcript, []byte(side), []byte("mic"))
		// The size of the key is right.
		block, _ := aes.NewCipher(hash(c.realm.key[:], c.transcript, []byte(side), []byte("wrap")))
		c.wrapKeys[i], _ = cipher.NewGCM(block)
	}
	return true
}

// proof returns the proof of a token.
func (c *secContext) proof(t token) []byte {
	t.Proof = nil
	b, _ := json.Marshal(t) // cannot fail
	return hash(c.realm.key[:], c.transcript, b)
}

// send returns the next token.
func (c *secContext) send() []byte {
	t := token{Number: c.tokens + 1, User: c.info.Initiator, Server: c.info.Acceptor, Nonce: make([]byte, 16)}
	_, _ = rand.Read(t.Nonce) // never fails
	t.Proof = c.proof(t)
	b, _ := json.Marshal(t) // cannot fail
	c.tokens++
	c.transcript = append(c.transcript, b...)
	return b
}

// step takes a token of the peer and returns the next one.
func (c *secContext) step(in []byte) (gss.Step, error) {
	var t token
	if err := json.Unmarshal(in, &t); err != nil {
		return gss.Step{Context: c}, &gss.StatusError{Major: gss.StatusDefectiveToken, Minor: 1, Err: err}
	}
	if t.Number != c.tokens+1 || !hmac.Equal(t.Proof, c.proof(t)) {
		return gss.Step{Context: c}, &gss.StatusError{Major: gss.StatusDefectiveToken, Minor: 2, Err: errors.New("gsstest: wrong proof")}
	}
	c.tokens++
	c.transcript = append(c.transcript, in...)
	if t.Number == 1 {
		c.info.Initiator, c.info.Acceptor = t.User, t.Server
	}
	s := gss.Step{Context: c, Complete: c.complete()}
	if !s.Complete {
		s.Token = c.send()
		s.Complete = c.complete()
	}
	return s, nil
}

// usable returns an error if the context must not be used.
func (c *secContext) usable() error {
	if c.deleted.Load() {
		panic("gsstest: a deleted context is used")
	}
	if c.tokens < c.realm.tokens {
		panic("gsstest: an incomplete context is used")
	}
	if c.number <= c.realm.expired.Load() {
		return &gss.StatusError{Major: gss.StatusContextExpired, Err: errors.New("gsstest: the context has expired")}
	}
	return nil
}

// side returns the index of this side's keys if own is set, and of the peer's otherwise.
func (c *secContext) side(own bool) int {
	if c.client == own {
		return 0
	}
	return 1
}

// GetMIC implements gss.Context.
func (c *secContext) GetMIC(dst, message []byte) ([]byte, error) {
	if err := c.usable(); err != nil {
		return nil, err
	}
	return append(dst, hash(c.micKeys[c.side(true)], message)[:MICSize]...), nil
}

// VerifyMIC implements gss.Context.
func (c *secContext) VerifyMIC(message, mic []byte) error {
	if err := c.usable(); err != nil {
		return err
	}
	if !hmac.Equal(mic, hash(c.micKeys[c.side(false)], message)[:MICSize]) {
		return &gss.StatusError{Major: gss.StatusBadMIC, Err: errors.New("gsstest: wrong checksum")}
	}
	return nil
}

// Wrap implements gss.Context.
func (c *secContext) Wrap(dst, message []byte) ([]byte, error) {
	if err := c.usable(); err != nil {
		return nil, err
	}
	var nonce [12]byte
	_, _ = rand.Read(nonce[:]) // never fails
	dst = append(append(dst, 1), nonce[:]...)
	return c.wrapKeys[c.side(true)].Seal(dst, nonce[:], message, nil), nil
}

// Unwrap implements gss.Context.
func (c *secContext) Unwrap(dst, in []byte) ([]byte, error) {
	if err := c.usable(); err != nil {
		return nil, err
	}
	if len(in) < WrapOverhead || in[0] != 1 {
		return nil, &gss.StatusError{Major: gss.StatusDefectiveToken, Err: fmt.Errorf("gsstest: a token of %d bytes", len(in))}
	}
	out, err := c.wrapKeys[c.side(false)].Open(dst, in[1:13], in[13:], nil)
	if err != nil {
		return nil, &gss.StatusError{Major: gss.StatusBadMIC, Err: err}
	}
	return out, nil
}

// Inquire implements gss.Context.
func (c *secContext) Inquire() gss.Info { return c.info }

// Delete implements gss.Context. It panics at the second call.
func (c *secContext) Delete() {
	if c.deleted.Swap(true) {
		panic("gsstest: a context is deleted twice")
	}
	c.realm.live.Add(-1)
	c.transcript = bytes.Repeat([]byte{0}, len(c.transcript))
}
