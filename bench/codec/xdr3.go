package codec

import (
	"bytes"
	"fmt"

	xdr "github.com/stellar/go-xdr/xdr3"

	"github.com/rpcrdma/rpcrdma/bench/codec/hand"
)

// Code in the form that stellar/xdrgen generates for stellar's runtime: a call for each field
// through io.Writer and io.Reader, no reflection, and linked lists. Of the Go modules that we know,
// it is the fastest.

type xdr3Value interface {
	encodeTo(e *xdr.Encoder) error
	decodeFrom(d *xdr.Decoder) error
}

func xdr3Codecs(m Message) ([]Codec, error) {
	var value func() xdr3Value
	switch m.Name {
	case "a", "b":
		value = func() xdr3Value { return new(listHeader) }
	case "d":
		value = func() xdr3Value { return new(listDir) }
	case "f":
		value = func() xdr3Value { return new(evEnvelope) }
	default:
		return nil, nil
	}
	decode := func(v xdr3Value, b []byte) (int, error) {
		r := bytes.NewReader(b)
		err := v.decodeFrom(xdr.NewDecoder(r))
		return len(b) - r.Len(), err
	}
	v, used := value(), value()
	if n, err := decode(v, m.Wire); err != nil || n != len(m.Wire) {
		return nil, fmt.Errorf("stellar xdr3 calls, message %s: read %d of %d bytes: %w", m.Name, n, len(m.Wire), err)
	}
	var w sliceWriter
	return []Codec{{
		Name: "stellar xdr3 (a call a field)", Message: m.Name, Role: Peer,
		EncodeInto: func(b []byte) (int, error) {
			w = sliceWriter{b: b}
			err := v.encodeTo(xdr.NewEncoder(&w))
			return w.n, err
		},
		Decode:      func(b []byte) (int, error) { return decode(used, b) },
		DecodeFresh: func(b []byte) (int, error) { return decode(value(), b) },
	}}, nil
}

// words encodes 32-bit words until one fails.
func words(e *xdr.Encoder, v ...uint32) error {
	for _, w := range v {
		if _, err := e.EncodeUint(w); err != nil {
			return err
		}
	}
	return nil
}

// readWords decodes 32-bit words until one fails.
func readWords(d *xdr.Decoder, v ...*uint32) error {
	for _, w := range v {
		var err error
		if *w, _, err = d.DecodeUint(); err != nil {
			return err
		}
	}
	return nil
}

func (h *listHeader) encodeTo(e *xdr.Encoder) error {
	if err := words(e, h.XID, h.Vers, h.Credit, h.Proc); err != nil {
		return err
	}
	if err := h.Reads.encodeTo(e); err != nil {
		return err
	}
	if err := h.Writes.encodeTo(e); err != nil {
		return err
	}
	if _, err := e.EncodeBool(h.Reply != nil); err != nil || h.Reply == nil {
		return err
	}
	return h.Reply.encodeTo(e)
}

func (l *listRead) encodeTo(e *xdr.Encoder) error {
	if _, err := e.EncodeBool(l != nil); err != nil || l == nil {
		return err
	}
	if _, err := e.EncodeUint(l.Entry.Position); err != nil {
		return err
	}
	if err := encodeSegment(e, &l.Entry.Target); err != nil {
		return err
	}
	return l.Next.encodeTo(e)
}

func (l *listWrite) encodeTo(e *xdr.Encoder) error {
	if _, err := e.EncodeBool(l != nil); err != nil || l == nil {
		return err
	}
	if err := l.Entry.encodeTo(e); err != nil {
		return err
	}
	return l.Next.encodeTo(e)
}

func (c *listChunk) encodeTo(e *xdr.Encoder) error {
	if _, err := e.EncodeUint(uint32(len(c.Target))); err != nil {
		return err
	}
	for i := range c.Target {
		if err := encodeSegment(e, &c.Target[i]); err != nil {
			return err
		}
	}
	return nil
}

func encodeSegment(e *xdr.Encoder, s *hand.Segment) error {
	if err := words(e, s.Handle, s.Length); err != nil {
		return err
	}
	_, err := e.EncodeUhyper(s.Offset)
	return err
}

func (h *listHeader) decodeFrom(d *xdr.Decoder) error {
	if err := readWords(d, &h.XID, &h.Vers, &h.Credit, &h.Proc); err != nil {
		return err
	}
	if err := decodeOptional(d, &h.Reads, (*listRead).decodeFrom); err != nil {
		return err
	}
	if err := decodeOptional(d, &h.Writes, (*listWrite).decodeFrom); err != nil {
		return err
	}
	return decodeOptional(d, &h.Reply, (*listChunk).decodeFrom)
}

// decodeOptional reads a presence flag and, if it is set, the value into *p.
func decodeOptional[T any](d *xdr.Decoder, p **T, decode func(*T, *xdr.Decoder) error) error {
	present, _, err := d.DecodeBool()
	*p = nil
	if err != nil || !present {
		return err
	}
	*p = new(T)
	return decode(*p, d)
}

func (l *listRead) decodeFrom(d *xdr.Decoder) error {
	if err := readWords(d, &l.Entry.Position); err != nil {
		return err
	}
	if err := decodeSegment(d, &l.Entry.Target); err != nil {
		return err
	}
	return decodeOptional(d, &l.Next, (*listRead).decodeFrom)
}

func (l *listWrite) decodeFrom(d *xdr.Decoder) error {
	if err := l.Entry.decodeFrom(d); err != nil {
		return err
	}
	return decodeOptional(d, &l.Next, (*listWrite).decodeFrom)
}

func (c *listChunk) decodeFrom(d *xdr.Decoder) error {
	n, _, err := d.DecodeUint()
	if err != nil {
		return err
	}
	if left, ok := d.InputLen(); ok && uint64(n) > uint64(left)/16 {
		return fmt.Errorf("%d segments in %d bytes", n, left)
	}
	c.Target = make([]hand.Segment, n)
	for i := range c.Target {
		if err := decodeSegment(d, &c.Target[i]); err != nil {
			return err
		}
	}
	return nil
}

func decodeSegment(d *xdr.Decoder, s *hand.Segment) error {
	if err := readWords(d, &s.Handle, &s.Length); err != nil {
		return err
	}
	var err error
	s.Offset, _, err = d.DecodeUhyper()
	return err
}
