package iwarp

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"time"

	"github.com/rpcrdma/rpcrdma/rdmaio/providers/internal/stream"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/iwarp/internal/mpa"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/iwarp/internal/rdmap"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// framing sets up connections by MPA requests and replies. It implements stream.Framing.
type framing struct{ cfg *Config }

// offer returns what this side wants of a connection.
func (s *framing) offer(p *verbs.ConnParams) mpa.Offer {
	return mpa.Offer{
		Revision: uint8(s.cfg.Revision), CRC: !s.cfg.NoCRC, Private: p.PrivateData,
		IRD: uint16(p.ResponderResources), ORD: uint16(p.InitiatorDepth),
	}
}

// Connect implements stream.Framing. The request is one write, and nothing follows it before
// the reply: siw requires both.
func (s *framing) Connect(c *stream.Conn, p *verbs.ConnParams) (*stream.Session, error) {
	offer := s.offer(p)
	if s.cfg.PeerToPeer {
		offer.RTR = s.cfg.RTR.mpa()
	}
	initiator := mpa.NewInitiator(offer)
	request, err := initiator.Request(nil)
	if err != nil {
		return nil, err
	}
	if _, err := c.Write(request); err != nil {
		return nil, err
	}
	reply := mpa.Frame{Kind: mpa.Reply}
	if err := readFrame(c, &reply); err != nil {
		if errors.Is(err, io.EOF) && initiator.Downgradable() {
			err = fmt.Errorf("the peer closed the connection without a reply, as one does that does not know revision 2 (Config.Revision): %w", err)
		}
		return nil, err
	}
	if err := initiator.Receive(&reply); err != nil {
		return nil, s.notConnected(c, err, &reply)
	}
	f := newFramer(s.cfg, c, initiator.Terms())
	if initiator.State() == mpa.OwingRTR {
		time.Sleep(s.cfg.FirstDelay)
		if _, err := c.Write(f.rtr()); err != nil {
			return nil, err
		}
		if err := initiator.SentRTR(); err != nil {
			return nil, err
		}
	}
	session := f.session(bytes.Clone(reply.Private))
	if !f.terms.PeerToPeer {
		session.Pause = s.cfg.FirstDelay
	}
	if s.cfg.Without&WakeUp == 0 {
		session.Patience, session.Nudge, session.Sent = wakeUpAfter, f.emptyWrite(nil), f.terms.PeerToPeer
	}
	return session, nil
}

// notConnected returns the error of Dial for a reply that does not make a connection. It sends
// a Terminate where RFC 6581 requires one.
func (s *framing) notConnected(c *stream.Conn, err error, reply *mpa.Frame) error {
	broken := (*mpa.Error)(nil)
	if !errors.As(err, &broken) {
		return err
	}
	if broken.Rule == mpa.Rejected {
		return &verbs.RejectedError{PrivateData: bytes.Clone(reply.Private)}
	}
	if broken.Rule.Reportable() {
		f := newFramer(s.cfg, c, mpa.Terms{CRC: !s.cfg.NoCRC || reply.CRC})
		if _, werr := c.Write(f.terminate(nil, &rdmap.Terminate{Cause: rdmap.Cause{Layer: rdmap.LayerLLP, Code: broken.Rule.Code()}})); werr != nil {
			return errors.Join(err, werr)
		}
	}
	return err
}

// Receive implements stream.Framing.
func (s *framing) Receive(c *stream.Conn) (stream.Offer, error) {
	r := &request{framing: s}
	frame := mpa.Frame{Kind: mpa.Request}
	if err := readFrame(c, &frame); err != nil {
		return nil, err
	}
	r.private = bytes.Clone(frame.Private)
	if err := r.responder.Receive(&frame); err != nil {
		if _, werr := c.Write(r.Reject(nil)); werr != nil {
			return nil, errors.Join(err, werr)
		}
		return nil, err
	}
	return r, nil
}

// readFrame reads a request or reply of frame.Kind. frame.Private is valid until the next read.
func readFrame(c *stream.Conn, frame *mpa.Frame) error {
	b, err := c.Need(mpa.FrameSize)
	if err != nil {
		return err
	}
	n, err := mpa.PrivateLength(b, frame.Kind)
	if errors.Is(err, mpa.BadKey) {
		return c.OtherProtocol(err)
	}
	if err != nil {
		return err
	}
	if b, err = c.Need(mpa.FrameSize + n); err != nil {
		return err
	}
	if err := frame.Decode(b); err != nil {
		return err
	}
	c.Skip(len(b))
	return nil
}

// request is the request of an initiator. It implements stream.Offer.
type request struct {
	framing   *framing
	responder mpa.Responder
	private   []byte
}

// PrivateData implements stream.Offer.
func (r *request) PrivateData() []byte { return r.private }

// Accept implements stream.Offer.
func (r *request) Accept(c *stream.Conn, p *verbs.ConnParams) (*stream.Session, error) {
	offer := r.framing.offer(p)
	offer.RTR = r.framing.cfg.RTR.mpa()
	reply, err := r.responder.Accept(nil, offer)
	if err != nil {
		return nil, err
	}
	f := newFramer(r.framing.cfg, c, r.responder.Terms())
	f.responder, f.ready = r.responder, false
	if _, err := c.Write(reply); err != nil {
		return nil, err
	}
	return f.session(bytes.Clone(r.private)), nil
}

// Reject implements stream.Offer.
func (r *request) Reject(private []byte) []byte {
	b, err := r.responder.Reject(nil, private)
	if err != nil { // the private data was checked, and there was no other answer
		return nil
	}
	return b
}

// Refuse implements stream.Offer: MPA has no answer for a listener that is closed or full.
func (r *request) Refuse() []byte { return nil }

// newFramer returns the framer of a connection on these terms.
func newFramer(cfg *Config, c *stream.Conn, terms mpa.Terms) *framer {
	f := &framer{terms: terms, without: cfg.Without, sink: c.SpareKey(), ready: true, mulpdu: cfg.MULPDU}
	if f.mulpdu == 0 {
		f.mulpdu = defaultMULPDU
		if mss := c.SegmentSize(); mss > 0 {
			f.mulpdu = mpa.MULPDU(mss)
		}
	}
	return f
}

// session returns the session of a connection that is set up.
func (f *framer) session(private []byte) *stream.Session {
	s := &stream.Session{
		Framer: f, PrivateData: private, MaxSend: math.MaxUint32,
		InitiatorDepth: int(f.terms.ORD), ResponderResources: int(f.terms.IRD),
	}
	if f.terms.CRC {
		s.Sum = mpa.Update
	}
	return s
}
