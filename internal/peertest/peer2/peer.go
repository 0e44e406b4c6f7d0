package peer2

import (
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/peertest"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// Config describes a Peer.
type Config struct {
	Client  bool // the Peer dials
	Ceiling int  // the most credits that it grants; default: 8
	Size    int  // of its Receives, in bytes; default: 4096 (§4.3.2)
}

// Peer is one end of a connection of version 2. It posts one Receive more than its ceiling. Its
// methods must be called on the goroutine of the test.
type Peer struct {
	*peertest.Peer
	Book    Book
	Ceiling int // in its next messages

	t      testing.TB
	early  []Message // received while Send waited for a credit
	Grants int       // grants alone that were received
}

// New returns a peer on a device.
func New(t testing.TB, dev verbs.Device, cfg Config) *Peer {
	t.Helper()
	if cfg.Ceiling == 0 {
		cfg.Ceiling = 8
	}
	if cfg.Size == 0 {
		cfg.Size = 4096
	}
	return &Peer{
		Peer: peertest.NewSized(t, dev, cfg.Ceiling+1, cfg.Size),
		Book: NewBook(cfg.Client), Ceiling: cfg.Ceiling, t: t,
	}
}

// Send sends m, with a credit word that grants all credits up to the ceiling. If the peer has no
// credit left, it first waits for some.
func (p *Peer) Send(m Message) {
	p.t.Helper()
	p.SendWith(m, p.Ceiling, max(0, p.Ceiling-p.Book.In))
}

// SendWith sends m with this credit word. If the peer has no credit left, it first waits for some.
func (p *Peer) SendWith(m Message, ceiling, credits int) {
	p.t.Helper()
	for p.Book.Out == 0 {
		got, ok := p.receive(peertest.Patience)
		if !ok {
			p.t.Fatalf("no credit for %v", m)
		}
		if !got.IsGrant() {
			p.early = append(p.early, got)
		}
	}
	p.Force(m, ceiling, credits)
}

// Force sends m with this credit word, whether there is a credit or not.
func (p *Peer) Force(m Message, ceiling, credits int) {
	p.t.Helper()
	m.Credit = Word(ceiling, credits)
	p.t.Logf("> %v", m)
	if err := p.Book.Sent(&m); err != nil {
		p.t.Logf("  %v", err)
	}
	p.Peer.Send(m.Bytes())
}

// SendBytes sends bytes as a message, which counts as one that grants nothing.
func (p *Peer) SendBytes(b []byte) {
	p.t.Helper()
	p.t.Logf("> %x", b)
	p.Book.Out = max(0, p.Book.Out-1)
	p.Peer.Send(b)
}

// SendInvalidate sends m as Send does, by Send With Invalidate.
func (p *Peer) SendInvalidate(m Message, key uint32) {
	p.t.Helper()
	m.Credit = Word(p.Ceiling, max(0, p.Ceiling-p.Book.In))
	p.t.Logf("> %v, which invalidates %#x", m, key)
	if err := p.Book.Sent(&m); err != nil {
		p.t.Fatal(err)
	}
	p.Peer.SendInvalidate(m.Bytes(), key)
}

// Next returns the next message that does not only grant credits. It fails the test if there is
// none, if the message is not valid, or if the other side had no credit for it.
func (p *Peer) Next() Message {
	p.t.Helper()
	for {
		m, ok := p.Poll(peertest.Patience)
		switch {
		case !ok:
			p.t.Fatalf("no message; the connection: %v", p.QP.Err())
		case !m.IsGrant():
			return m
		}
	}
}

// NextGrant waits for a message that only grants credits.
func (p *Peer) NextGrant() Message {
	p.t.Helper()
	m, ok := p.Poll(peertest.Patience)
	if !ok || !m.IsGrant() {
		p.t.Fatalf("got %v, %v, want a grant", m, ok)
	}
	return m
}

// Whole returns the next message with all its parts, as one message whose Flags are those of the
// last part. parts is the number of parts.
func (p *Peer) Whole() (m Message, parts int) {
	p.t.Helper()
	var payload []byte
	for first := (Message{}); ; {
		m = p.Next()
		parts++
		if parts == 1 {
			first = m
		}
		if m.XID != first.XID || m.Type != first.Type || (m.Flags^first.Flags)&^More != 0 {
			p.t.Fatalf("%v inside a sequence that began with %v", m, first)
		}
		payload = append(payload, m.Payload...)
		if m.Flags&More == 0 {
			m.Payload = payload
			return m, parts
		}
	}
}

// Quiet fails the test if a message other than grants comes within a time that is too short for
// what must come, and long enough for most of what must not.
func (p *Peer) Quiet() {
	p.t.Helper()
	for {
		m, ok := p.Poll(5 * time.Millisecond)
		switch {
		case !ok:
			return
		case !m.IsGrant():
			p.t.Fatalf("%v, want no message", m)
		}
	}
}

// Ends waits until the connection is lost. Messages that come before are dropped, and not counted:
// the other side may have answered what it should not have got.
func (p *Peer) Ends() {
	p.t.Helper()
	for timeout := time.After(peertest.Patience); ; {
		select {
		case <-p.Lost:
			return
		case <-timeout:
			p.t.Fatal("the connection goes on")
		default:
			if b := p.Peer.Message(time.Millisecond); b != nil {
				p.t.Logf("< %x", []byte(b))
			}
		}
	}
}

// Raw returns the next message as it is, or nil if none comes. It is not counted.
func (p *Peer) Raw() []byte {
	p.t.Helper()
	b := p.Peer.Message(peertest.Patience)
	p.t.Logf("< %x", []byte(b))
	return b
}

// Poll returns the next message, if one comes in time.
func (p *Peer) Poll(wait time.Duration) (Message, bool) {
	p.t.Helper()
	if len(p.early) > 0 {
		m := p.early[0]
		p.early = p.early[1:]
		return m, true
	}
	return p.receive(wait)
}

// receive receives a message and counts it.
func (p *Peer) receive(wait time.Duration) (Message, bool) {
	p.t.Helper()
	b := p.Peer.Message(wait)
	if b == nil {
		return Message{}, false
	}
	m, err := Parse(b)
	if err != nil {
		p.t.Fatalf("%x: %v", []byte(b), err)
	}
	p.t.Logf("< %v", m)
	if err := p.Book.Received(&m); err != nil {
		p.t.Fatal(err)
	}
	if m.IsGrant() {
		p.Grants++
	}
	return m, true
}
