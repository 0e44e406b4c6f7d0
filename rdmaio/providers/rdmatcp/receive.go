package rdmatcp

import (
	"encoding/binary"
	"fmt"

	"github.com/rpcrdma/rpcrdma/internal/rdmatcp/segment"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/internal/stream"
)

// Wire implements stream.Framer: the length field alone says where the next segment begins, and TCP
// segments say nothing (draft-williams-rdmatcp-00 §2, §5; R333).
func (f *framer) Wire(prefix []byte) int {
	h := segment.Header{Length: binary.BigEndian.Uint16(prefix[2:])}
	return h.Wire()
}

// HeaderSize implements stream.Framer.
func (f *framer) HeaderSize(prefix []byte) (int, error) { return segment.Prefix(prefix) }

// kinds has the kind of frame for each type of segment. Accept detects reports.
var kinds = [...]stream.Kind{
	segment.Send:         stream.KindSend,
	segment.Write:        stream.KindWrite,
	segment.ReadRequest:  stream.KindReadRequest,
	segment.ReadResponse: stream.KindReadResponse,
}

// Decode implements stream.Framer.
func (f *framer) Decode(to *stream.Frame, b []byte) error {
	h := &f.head
	if err := f.stream.Decode(h, b); err != nil {
		return err
	}
	to.Kind, to.Head, to.Payload, to.Pad = kinds[h.Type], len(b)+h.Control(), h.Payload(), h.Padding()
	to.Begin, to.End, to.Number = h.Begin, h.End, h.Number
	to.Key, to.Addr, to.Length = h.BufferID, uint64(h.Offset), int(h.RDMALength)
	return nil
}

// Accept implements stream.Framer.
func (f *framer) Accept(to *stream.Frame, oldest *stream.Request) error {
	h, read := &f.head, (*segment.Read)(nil)
	if oldest != nil {
		f.oldest = segment.Read{Number: oldest.Number, Length: uint32(oldest.Total)}
		read = &f.oldest
	}
	if err := f.stream.Accept(h, read); err != nil {
		return err
	}
	to.Offset, to.Open = int(f.stream.Offset(h)), f.stream.Open()
	f.beginControl(h)
	to.Observe = f.raw != nil && f.raw.Control != nil && h.End
	switch h.Type {
	case segment.Write:
		to.Check = h.Begin && h.RDMALength > 0
	case segment.Send:
		if f.raw == nil && f.res == resReport {
			to.Kind = stream.KindReport
			if n := h.Payload(); n > 0 {
				return &stream.Refusal{
					Reason: stream.ReasonFormat, Number: h.Number, What: fmt.Sprintf("report with %d bytes of payload, want none", n),
				}
			}
		}
	}
	return nil
}

// BadSum implements stream.Framer (draft-williams-rdmatcp-00 §3.4, CRC-32; R356).
func (f *framer) BadSum(_ *stream.Frame, got, want uint32) error {
	return &segment.Error{Rule: segment.BadCRC, Type: f.head.Type, Got: uint64(got), Want: uint64(want)}
}

// Deliver implements stream.Framer.
func (f *framer) Deliver(*stream.Frame) (d stream.Delivery, err error) {
	if f.raw != nil {
		return d, nil
	}
	d.Solicited = f.res&resSolicited != 0
	if f.res&resControl == 0 {
		return d, nil
	}
	if op := binary.BigEndian.Uint32(f.control[:]); f.controlLen < 4*controlWords || op != opInvalidate {
		return d, &stream.Refusal{
			Reason: stream.ReasonFormat, Number: f.head.Number,
			What: fmt.Sprintf("Send with %d bytes of control data that begin with operation %#x, want at least %d bytes and operation %#x: %v",
				f.controlLen, op, 4*controlWords, opInvalidate, errProfile),
		}
	}
	d.Invalidate, d.Key = true, binary.BigEndian.Uint32(f.control[4:])
	return d, nil
}

// Waits implements stream.Framer (draft-williams-rdmatcp-00 §3.4, Order; R348). Writes of this
// package do not ask for that order.
func (f *framer) Waits(_ *stream.Frame, r *stream.Response) bool {
	return segment.Waits(f.head.Number, f.head.Order, r.Number)
}
