package stream

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"

	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// toy is a framing with what RDMATCP does not have: many short frames in a message, ranges that are
// checked at every frame, responses to a sink, its own kind of frame, a side that may not send
// first, and no numbers that a response repeats. A frame is
//
//	0   bytes of payload (2), kind and flags (1, 1)
//	4   number of the Send or Read, or the reason of a report
//	8   key, address and length of the range; or key to invalidate, offset and 0
//	24  sink of a Read Request: key and address
type toy struct {
	attrs verbs.DeviceAttributes
	most  int // payload of a frame
	plain bool
}

const (
	toyHeader  = 24
	toyRequest = toyHeader + 12
	toyHello   = 12
	toyLast    = 1
	toySolicit = 2
	toyInv     = 4
)

var (
	errToy   = errors.New("toy: the peer broke a rule")
	toyTable = crc32.MakeTable(crc32.Castagnoli)
)

func toySum(sum uint32, b []byte) uint32 { return crc32.Update(sum, toyTable, b) }

func (t *toy) hello(flags byte, p *verbs.ConnParams) []byte {
	b := []byte{'T', flags, byte(p.ResponderResources), byte(p.InitiatorDepth)}
	b = binary.BigEndian.AppendUint32(b, t.attrs.MaxMessageSize)
	b = binary.BigEndian.AppendUint32(b, uint32(len(p.PrivateData)))
	return append(b, p.PrivateData...)
}

func (t *toy) greeting(c *Conn) ([]byte, error) {
	b, err := c.Need(toyHello)
	if err != nil {
		return nil, err
	}
	n := int(binary.BigEndian.Uint32(b[8:]))
	if b[0] != 'T' || n > t.attrs.MaxPrivateData {
		return nil, fmt.Errorf("greeting % x: %w", b, errToy)
	}
	if b, err = c.Need(toyHello + n); err != nil {
		return nil, err
	}
	b = bytes.Clone(b)
	c.Skip(len(b))
	return b, nil
}

func (t *toy) session(c *Conn, hello []byte, p *verbs.ConnParams) (*toyFramer, *Session) {
	f := &toyFramer{toy: t, sink: c.SpareKey()}
	s := &Session{
		Framer: f, Sum: toySum, PrivateData: hello[toyHello:],
		InitiatorDepth: min(p.InitiatorDepth, int(hello[2])), ResponderResources: min(p.ResponderResources, int(hello[3])),
		MaxSend: binary.BigEndian.Uint32(hello[4:]),
	}
	if t.plain {
		s.Sum = nil
	}
	return f, s
}

func (t *toy) Connect(c *Conn, p *verbs.ConnParams) (*Session, error) {
	if _, err := c.Write(t.hello(0, p)); err != nil {
		return nil, err
	}
	b, err := t.greeting(c)
	switch {
	case err != nil:
		return nil, err
	case b[1] == 1:
		return nil, &verbs.RejectedError{PrivateData: b[toyHello:]}
	case b[1] == 2:
		return nil, verbs.ErrConnectionRefused
	}
	// The responder waits for a frame.
	first := append(make([]byte, toyHeader), 0, 0, 0, 0)
	if !t.plain {
		binary.LittleEndian.PutUint32(first[toyHeader:], toySum(0, first[:toyHeader]))
	}
	if _, err := c.Write(first); err != nil {
		return nil, err
	}
	f, s := t.session(c, b, p)
	f.ready = true
	return s, nil
}

func (t *toy) Receive(c *Conn) (Offer, error) {
	b, err := t.greeting(c)
	return &toyOffer{t, b}, err
}

type toyOffer struct {
	*toy
	peer []byte
}

func (o *toyOffer) PrivateData() []byte { return o.peer[toyHello:] }

func (o *toyOffer) Accept(c *Conn, p *verbs.ConnParams) (*Session, error) {
	f, s := o.session(c, o.peer, p)
	if _, err := c.Write(o.hello(0, &verbs.ConnParams{
		PrivateData: p.PrivateData, InitiatorDepth: s.InitiatorDepth, ResponderResources: s.ResponderResources,
	})); err != nil {
		return nil, err
	}
	_, err := c.Need(toyHeader + trailerSize) // the reader handles it
	f.ready = true
	return s, err
}

func (o *toyOffer) Reject(private []byte) []byte {
	return o.hello(1, &verbs.ConnParams{PrivateData: private})
}

func (o *toyOffer) Refuse() []byte { return o.hello(2, &verbs.ConnParams{}) }

type toyFramer struct {
	*toy
	ready  bool
	sink   uint32
	number uint32 // of the last request

	flags    byte // of the frame at hand
	wantRead int  // bytes of the response to the oldest Read that have come
	wantSend int  // the same of the open Send
	reason   uint32
}

func (f *toyFramer) Ready() bool { return f.ready }

func (f *toyFramer) Begin(r *Request) string {
	f.number++
	r.Number = f.number
	return ""
}

func (f *toyFramer) next(total, sent int) (int, bool) {
	n := min(f.most, total-sent)
	return n, sent+n == total
}

func (f *toyFramer) Next(r *Request) (int, bool) {
	if r.Opcode == verbs.RDMARead {
		return 0, true
	}
	return f.next(r.Total, r.Sent)
}

func (f *toyFramer) NextResponse(r *Response) (int, bool) { return f.next(r.Total, r.Sent) }

func (f *toyFramer) put(b []byte, n int, kind Kind, flags byte, number, key uint32, addr uint64, length int) []byte {
	b = binary.BigEndian.AppendUint16(b, uint16(n))
	b = append(b, byte(kind), flags)
	b = binary.BigEndian.AppendUint32(b, number)
	b = binary.BigEndian.AppendUint32(b, key)
	b = binary.BigEndian.AppendUint64(b, addr)
	return binary.BigEndian.AppendUint32(b, uint32(length))
}

func (f *toyFramer) PutRequest(b []byte, r *Request, n int, last bool) []byte {
	var flags byte
	if last {
		flags = toyLast
	}
	switch r.Opcode {
	case verbs.RDMAWrite:
		return f.put(b, n, KindWrite, flags, 0, r.RKey, r.Addr+uint64(r.Sent), n)
	case verbs.RDMARead:
		b = f.put(b, 0, KindReadRequest, flags, r.Number, r.RKey, r.Addr, r.Total)
		b = binary.BigEndian.AppendUint32(b, f.sink)
		return binary.BigEndian.AppendUint64(b, uint64(r.Number)<<32)
	case verbs.SendWithInvalidate:
		flags |= toyInv
	}
	if r.Flags&verbs.SendSolicited != 0 {
		flags |= toySolicit
	}
	return f.put(b, n, KindSend, flags, r.Number, r.Invalidate, uint64(r.Sent), 0)
}

func (f *toyFramer) PutResponse(b []byte, r *Response, n int, last bool) []byte {
	var flags byte
	if last {
		flags = toyLast
	}
	return f.put(b, n, KindReadResponse, flags, 0, r.Sink, r.SinkAddr+uint64(r.Sent), n)
}

func (f *toyFramer) Wire(prefix []byte) int {
	size, n := toyHeader, int(binary.BigEndian.Uint16(prefix))
	if Kind(prefix[2]) == KindReadRequest {
		size = toyRequest
	}
	return (size+n+3)&^3 + 4
}

func (f *toyFramer) HeaderSize(prefix []byte) (int, error) {
	switch kind, n := Kind(prefix[2]), binary.BigEndian.Uint16(prefix); {
	case kind > KindReport, n > 0 && (kind == KindNone || kind == KindReadRequest || kind == KindReport):
		return 0, fmt.Errorf("%v of %d bytes: %w", kind, n, errToy)
	case kind == KindReadRequest:
		return toyRequest, nil
	}
	return toyHeader, nil
}

func (f *toyFramer) Decode(to *Frame, b []byte) error {
	f.flags = b[3]
	to.Kind, to.Head, to.Payload = Kind(b[2]), len(b), int(binary.BigEndian.Uint16(b))
	to.Pad = -(to.Head + to.Payload) & 3
	to.End = f.flags&toyLast != 0
	to.Number = binary.BigEndian.Uint32(b[4:])
	to.Key, to.Addr, to.Length = binary.BigEndian.Uint32(b[8:]), binary.BigEndian.Uint64(b[12:]), int(binary.BigEndian.Uint32(b[20:]))
	if to.Kind == KindReadRequest {
		to.Sink, to.SinkAddr = binary.BigEndian.Uint32(b[24:]), binary.BigEndian.Uint64(b[28:])
	}
	return nil
}

func (f *toyFramer) Accept(to *Frame, oldest *Request) error {
	f.ready = true
	switch to.Kind {
	case KindSend:
		if to.Addr != uint64(f.wantSend) {
			return fmt.Errorf("Send at %d, want %d: %w", to.Addr, f.wantSend, errToy)
		}
		to.Begin, to.Offset = f.wantSend == 0, f.wantSend
		if f.wantSend += to.Payload; to.End {
			f.wantSend = 0
		}
	case KindWrite:
		to.Check = to.Length > 0
		if to.Length != to.Payload {
			return fmt.Errorf("Write of %d bytes with %d: %w", to.Length, to.Payload, errToy)
		}
	case KindReadResponse:
		if oldest == nil || to.Key != f.sink || to.Addr != uint64(oldest.Number)<<32+uint64(f.wantRead) {
			return fmt.Errorf("response to %#x at %#x: %w", to.Key, to.Addr, errToy)
		}
		to.Offset = f.wantRead
		f.wantRead += to.Payload
		if f.wantRead > oldest.Total || to.End != (f.wantRead == oldest.Total) {
			return fmt.Errorf("response of %d bytes, want %d: %w", f.wantRead, oldest.Total, errToy)
		}
		if to.End {
			f.wantRead = 0
		}
	case KindReport:
		f.reason = to.Number
	}
	to.Open = f.wantSend > 0 || f.wantRead > 0
	return nil
}

func (f *toyFramer) Control(*Frame, []byte) error { panic("no header is larger than HeaderSize") }
func (f *toyFramer) Observe(*Frame, uint32)       { panic("no frame asks for it") }
func (f *toyFramer) Waits(*Frame, *Response) bool { return false }

func (f *toyFramer) BadSum(_ *Frame, got, want uint32) error {
	return fmt.Errorf("sum %#x, want %#x: %w", got, want, errToy)
}

func (f *toyFramer) Deliver(to *Frame) (Delivery, error) {
	return Delivery{Solicited: f.flags&toySolicit != 0, Invalidate: f.flags&toyInv != 0, Key: to.Key}, nil
}

func (f *toyFramer) Ended(*Frame) (*PeerReport, error) {
	if Reason(f.reason) == ReasonGoodbye {
		return &PeerReport{Goodbye: true}, nil
	}
	status := map[Reason]verbs.Status{
		ReasonAccess: verbs.StatusRemoteAccess, ReasonLength: verbs.StatusRemoteInvalidRequest, ReasonReads: verbs.StatusRemoteInvalidRequest,
		ReasonFormat: verbs.StatusRemoteInvalidRequest, ReasonReceiver: verbs.StatusRNRRetryExceeded, ReasonSlow: verbs.StatusRetryExceeded,
	}[Reason(f.reason)]
	if status == verbs.StatusSuccess {
		status = verbs.StatusRemoteOperation
	}
	return &PeerReport{Status: status, What: fmt.Sprintf("reason %d", f.reason), Caused: func(*Request) bool { return false }}, nil
}

// LastBytes sends the report in any case: a report may come inside other messages.
func (f *toyFramer) LastBytes(b []byte, why *Report, _ Progress) []byte {
	start := len(b)
	b = f.put(b, 0, KindReport, toyLast, uint32(why.Reason), 0, 0, 0)
	if f.plain {
		return append(b, 0, 0, 0, 0)
	}
	return binary.LittleEndian.AppendUint32(b, toySum(0, b[start:]))
}
