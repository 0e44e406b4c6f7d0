package peertest

import (
	"context"
	"encoding/hex"
	"strings"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/rawpeer"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// Patience is the time that a test waits for a message that must come. Only a failing test waits so
// long.
const Patience = rawpeer.Patience

// Recvs is the number of Receives that a Peer has posted, and Size their size in bytes, if it is
// made by New.
const (
	Recvs = 16
	Size  = 4096
)

// Peer is one end of a connection. It is closed at the end of its test.
type Peer struct {
	*rawpeer.Peer

	t      testing.TB
	exempt exempter
}

// exempter is a device that checks its users against rules. A Peer exempts its own objects.
type exempter interface {
	ExemptQP(num uint32)
	ExemptKey(key uint32)
}

// New returns a peer on a device.
func New(t testing.TB, dev verbs.Device) *Peer {
	t.Helper()
	return NewSized(t, dev, Recvs, Size)
}

// NewSized returns a peer that has so many Receives of this size, and sends up to that size.
func NewSized(t testing.TB, dev verbs.Device, recvs, size int) *Peer {
	t.Helper()
	p := &Peer{t: t}
	p.exempt, _ = dev.(exempter)
	var created func(uint32)
	if p.exempt != nil {
		created = p.exempt.ExemptQP
	}
	var err error
	p.Peer, err = rawpeer.New(dev, recvs, size, created)
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	p.must(err)
	return p
}

// Bytes returns the bytes of text, which has hexadecimal digits and spaces.
func Bytes(t testing.TB, text string) Raw {
	t.Helper()
	b, err := hex.DecodeString(strings.Join(strings.Fields(text), ""))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func (p *Peer) must(err error) {
	p.t.Helper()
	if err != nil {
		p.t.Fatal(err)
	}
}

// Dial connects and returns the private data of the other side.
func (p *Peer) Dial(dev verbs.Dialer, addr string, private []byte) []byte {
	p.t.Helper()
	info, err := p.Peer.Dial(context.Background(), dev, addr, private)
	p.must(err)
	return info
}

// Accept accepts the next connection. If that fails, it fails the test and returns false. It may be
// called from any goroutine.
func (p *Peer) Accept(ln verbs.Listener, private []byte) bool {
	err := p.Peer.Accept(context.Background(), ln, private)
	if err != nil {
		p.t.Error(err)
	}
	return err == nil
}

// Send sends b as a message.
func (p *Peer) Send(b []byte) {
	p.t.Helper()
	p.done(p.Peer.Send(b, 0))
}

// SendHex sends a message written in hexadecimal.
func (p *Peer) SendHex(text string) {
	p.t.Helper()
	p.Send(Bytes(p.t, text))
}

// SendInvalidate sends a message that invalidates a key of the other side.
func (p *Peer) SendInvalidate(b []byte, key uint32) {
	p.t.Helper()
	p.done(p.Peer.Send(b, key))
}

// Write writes bytes to the other side's memory, and reports whether it succeeded.
func (p *Peer) Write(key uint32, at uint64, b []byte) bool {
	p.t.Helper()
	return p.done(p.Peer.Write(key, at, b))
}

// Read returns n bytes of the other side's memory, or nil if it failed.
func (p *Peer) Read(key uint32, at uint64, n int) []byte {
	p.t.Helper()
	b, err := p.Peer.Read(key, at, n)
	if !p.done(err) {
		return nil
	}
	return b
}

// done logs an error, which a test may want, and reports whether there was none.
func (p *Peer) done(err error) bool {
	p.t.Helper()
	if err != nil {
		p.t.Logf("peer: %v", err)
	}
	return err == nil
}

// Message returns the next message and posts its Receive again. It returns nil if none arrives in
// time.
func (p *Peer) Message(wait time.Duration) Raw {
	p.t.Helper()
	b, err := p.Peer.Message(wait)
	if err != nil {
		return nil
	}
	return b
}
