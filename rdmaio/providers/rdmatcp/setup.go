package rdmatcp

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/rpcrdma/rpcrdma/internal/rdmatcp/crc"
	"github.com/rpcrdma/rpcrdma/internal/rdmatcp/segment"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/internal/stream"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// profile implements stream.Framing: the connection profile, or none of it if raw is not nil.
type profile struct {
	raw   *RawConfig
	attrs verbs.DeviceAttributes
}

// newFramer returns the state of a new connection.
func (p *profile) newFramer(c *stream.Conn) (*framer, error) {
	number, err := c.Random() // draft-williams-rdmatcp-00 §3.4, Message Number; R347
	if err != nil {
		return nil, err
	}
	return &framer{raw: p.raw, number: uint32(number)}, nil
}

// Connect implements stream.Framing. It sends the client's hello and waits for the server's.
func (p *profile) Connect(c *stream.Conn, params *verbs.ConnParams) (*stream.Session, error) {
	f, err := p.newFramer(c)
	if err != nil {
		return nil, err
	}
	// draft-williams-rdmatcp-00 §3.4, Connection ID: the client's choice (R344)
	if f.stream.ConnID, err = c.Random(); err != nil {
		return nil, err
	}
	f.stream.Known = true
	if p.raw != nil {
		return p.rawSession(f, params), nil
	}
	local := hello{
		maxSend: p.attrs.MaxMessageSize, resources: uint16(params.ResponderResources), depth: uint16(params.InitiatorDepth),
		private: params.PrivateData,
	}
	if err := f.sendHello(c, &local); err != nil {
		return nil, err
	}
	remote, err := f.receiveHello(c)
	if err != nil {
		return nil, err
	}
	switch {
	case remote.flags&flagRefused != 0:
		return nil, fmt.Errorf("the listener is closed or its backlog is full: %w", verbs.ErrConnectionRefused)
	case remote.flags&flagReject != 0:
		return nil, &verbs.RejectedError{PrivateData: remote.private}
	}
	return f.session(remote, params), nil
}

// Receive implements stream.Framing. It waits for the client's hello, unless there is no profile.
func (p *profile) Receive(c *stream.Conn) (stream.Offer, error) {
	f, err := p.newFramer(c)
	if err != nil {
		return nil, err
	}
	o := &offer{profile: p, framer: f}
	if p.raw != nil {
		return o, nil
	}
	remote, err := f.receiveHello(c)
	if err != nil {
		return nil, err
	}
	o.hello = *remote
	return o, nil
}

// offer implements stream.Offer.
type offer struct {
	profile *profile
	framer  *framer
	hello   hello // the peer's; the zero value without profile
}

// PrivateData implements stream.Offer.
func (o *offer) PrivateData() []byte { return o.hello.private }

// Accept implements stream.Offer.
func (o *offer) Accept(c *stream.Conn, params *verbs.ConnParams) (*stream.Session, error) {
	if o.profile.raw != nil {
		return o.profile.rawSession(o.framer, params), nil
	}
	s := o.framer.session(&o.hello, params)
	s.PrivateData = bytes.Clone(s.PrivateData)
	return s, o.framer.sendHello(c, &hello{
		maxSend: o.profile.attrs.MaxMessageSize, resources: uint16(s.ResponderResources), depth: uint16(s.InitiatorDepth),
		private: params.PrivateData,
	})
}

// Reject implements stream.Offer.
func (o *offer) Reject(private []byte) []byte {
	return o.answer(&hello{flags: flagReject, private: private})
}

// Refuse implements stream.Offer.
func (o *offer) Refuse() []byte { return o.answer(&hello{flags: flagRefused}) }

// answer returns a negative answer, or nil if there is no profile.
func (o *offer) answer(p *hello) []byte {
	if o.profile.raw != nil {
		return nil
	}
	// It fails for long private data only, which stream has checked.
	b, _ := p.append(nil, o.framer.stream.ConnID, o.framer.number)
	return b
}

// session returns the session that both hellos agree on.
func (f *framer) session(remote *hello, params *verbs.ConnParams) *stream.Session {
	return &stream.Session{
		Framer: f, Sum: crc.Update, PrivateData: remote.private, MaxSend: remote.maxSend,
		InitiatorDepth:     min(params.InitiatorDepth, int(remote.resources)),
		ResponderResources: min(params.ResponderResources, int(remote.depth)),
	}
}

// rawSession returns a session without profile.
func (p *profile) rawSession(f *framer, params *verbs.ConnParams) *stream.Session {
	return &stream.Session{
		Framer: f, Sum: crc.Update, MaxSend: p.raw.MaxSend,
		InitiatorDepth: min(params.InitiatorDepth, p.raw.PeerResources), ResponderResources: params.ResponderResources,
	}
}

// sendHello sends our first message.
func (f *framer) sendHello(c *stream.Conn, p *hello) error {
	b, err := p.append(nil, f.stream.ConnID, f.number)
	if err != nil {
		return err
	}
	f.number++
	_, err = c.Write(b)
	return err
}

// receiveHello waits for the peer's first message.
func (f *framer) receiveHello(c *stream.Conn) (*hello, error) {
	b, err := c.Need(segment.PrefixSize)
	if err != nil {
		return nil, err
	}
	size, err := segment.Prefix(b)
	if errors.Is(err, segment.BadVersion) {
		return nil, c.OtherProtocol(err)
	}
	if err != nil {
		return nil, err
	}
	if b, err = c.Need(size); err != nil {
		return nil, err
	}
	var h segment.Header
	if err := f.stream.Decode(&h, b); err != nil {
		return nil, err
	}
	if h.Wire() > stream.HandshakeInput {
		return nil, fmt.Errorf("the peer's first message has %d bytes, want at most %d: %w", h.Wire(), stream.HandshakeInput, errProfile)
	}
	if b, err = c.Need(h.Wire()); err != nil {
		return nil, err
	}
	control, _, n, err := segment.Open(b, &h)
	if err != nil {
		return nil, err
	}
	if err := f.stream.Accept(&h, nil); err != nil {
		return nil, err
	}
	p := new(hello)
	if err := p.decode(&h, control); err != nil {
		return nil, err
	}
	c.Skip(n)
	return p, nil
}
