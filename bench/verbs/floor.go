package verbs

import (
	"fmt"
	"io"
	"net"

	"github.com/rpcrdma/rpcrdma/internal/rdmatcp/crc"
	"github.com/rpcrdma/rpcrdma/internal/rdmatcp/segment"
)

// floorEnd is one end of a connection that has the messages of rdmaio over rdmatcp. It sends and
// receives segments, without the checks of segment.Stream, without registered memory and without
// queues.
type floorEnd struct {
	conn   net.Conn
	id     uint64 // Connection ID
	number uint32 // of the next message that is no Read Response
	r      *reader
	w      *writer
	h      segment.Header // of the segment received last
}

const (
	// profileWords is the control data for which a message of rdmatcp leaves space.
	profileWords = 8
	// resSolicited and resReport are the client protocol's bits in rdmatcp's connection profile.
	resSolicited, resReport = 0x1, 0xf
	// inBatch is the most payload that waits for one write: while it is sent, the CRCs of what
	// follows are computed.
	inBatch = 256 << 10
)

// newFloorEnd returns an end whose reader writes the queued segments before it waits for input.
func newFloorEnd(conn net.Conn, s Shape) floorEnd {
	f := floorEnd{conn: conn, r: newReader(conn, s), w: newWriter(conn)}
	f.r.idle = func() error { return f.w.flush(false) }
	return f
}

// next returns the number of a new message.
func (f *floorEnd) next() uint32 {
	f.number++
	return f.number - 1
}

// begin appends a segment's header to b and returns its place there.
func (f *floorEnd) begin(b *batch, h *segment.Header, payload int) int {
	at := len(b.own)
	var head [segment.LongHeader]byte
	h.ConnID = f.id
	h.SetPayload(payload)
	b.own = append(b.own, head[:h.Put(head[:])]...)
	return at
}

// end appends the padding and the CRC of a segment. sum is the CRC of what precedes them.
func (f *floorEnd) end(b *batch, h *segment.Header, sum uint32) {
	var pad [3 + segment.TrailerSize]byte
	n := h.Padding()
	crc.Put(pad[n:], crc.Update(sum, pad[:n]))
	b.own = append(b.own, pad[:n+segment.TrailerSize]...)
}

// send appends the Send of a message, which is in two parts. The message fits in one segment. The
// writer's lock is held.
func (f *floorEnd) send(b *batch, head, body []byte) {
	h := segment.Header{Type: segment.Send, Res: resSolicited, Begin: true, End: true, Number: f.next()}
	at := f.begin(b, &h, len(head)+len(body))
	b.own = append(append(b.own, head...), body...)
	f.end(b, &h, crc.Checksum(b.own[at:]))
}

// request appends a Read Request. The writer's lock is held.
func (f *floorEnd) request(b *batch, from remote) (number uint32) {
	h := segment.Header{
		Type: segment.ReadRequest, Begin: true, End: true, Number: f.next(),
		BufferID: from.handle, Offset: uint32(from.offset), RDMALength: from.length,
	}
	at := f.begin(b, &h, 0)
	f.end(b, &h, crc.Checksum(b.own[at:]))
	return h.Number
}

// transfer queues body, in the caller's memory, as the message with the header h: a Write or a Read
// Response. It writes full batches.
func (f *floorEnd) transfer(h segment.Header, body []byte) error {
	most, base := h.Type.MaxPayload(), h.Offset
	if h.Type == segment.Write {
		most -= profileWords
	}
	each := perSegment(len(body), most)
	for from := 0; from < len(body); from += each {
		part := body[from:min(from+each, len(body))]
		h.Begin, h.End, h.Offset = from == 0, from+each >= len(body), base+uint32(from)
		full := false
		f.w.queue(func(b *batch) {
			at := f.begin(b, &h, len(part))
			sum := crc.Update(crc.Checksum(b.own[at:]), part)
			b.add(part)
			f.end(b, &h, sum)
			full = b.lent >= inBatch
		})
		if full {
			if err := f.w.flush(false); err != nil {
				return err
			}
		}
	}
	return nil
}

// perSegment returns the size of each segment but the last of a message: it is divided evenly, as
// rdmatcp does.
func perSegment(total, most int) int {
	if total <= most {
		return total
	}
	n := (total + most - 1) / most
	return min(((total+n-1)/n+63)&^63, most)
}

// receive reads a segment. It returns the payload of a Send, which is valid until the next call.
// The payload of a Write or Read Response goes to the memory that place returns for the header h.
func (f *floorEnd) receive(place func() ([]byte, error)) ([]byte, error) {
	b, err := f.r.peek(segment.ShortHeader)
	if err != nil {
		return nil, err
	}
	size, err := segment.Prefix(b)
	if err != nil {
		return nil, err
	}
	if b, err = f.r.peek(size); err != nil {
		return nil, err
	}
	if err := f.h.Decode(b); err != nil {
		return nil, err
	}
	if f.h.Type == segment.Write || f.h.Type == segment.ReadResponse {
		return nil, f.fill(place, size)
	}
	if b, err = f.r.next(f.h.Wire()); err != nil {
		return nil, err
	}
	if crc.Checksum(b) != crc.Residue {
		return nil, errCRC
	}
	if f.h.Res == resReport { // why the peer closes the connection: most often a goodbye
		return nil, io.EOF
	}
	return b[size+f.h.Control() : f.h.Length], nil
}

// fill reads a segment whose payload goes to the memory that place returns.
func (f *floorEnd) fill(place func() ([]byte, error), size int) error {
	to, err := place()
	if err != nil {
		return err
	}
	if len(to) != f.h.Payload() || f.h.CLEN > 0 {
		return fmt.Errorf("found a %v of %d octets and %d of control data, expected at most %d and none", f.h.Type, f.h.Payload(), f.h.Control(), len(to))
	}
	b, err := f.r.next(size)
	if err != nil {
		return err
	}
	sum, err := f.r.place(to, crc.Checksum(b))
	if err != nil {
		return err
	}
	if b, err = f.r.next(f.h.Padding() + segment.TrailerSize); err != nil {
		return err
	}
	if n := f.h.Padding(); crc.Get(b[n:]) != crc.Update(sum, b[:n]) {
		return errCRC
	}
	return nil
}

// cut returns h's part of the memory of a message that begins at base.
func (f *floorEnd) cut(memory []byte, base uint64) ([]byte, error) {
	from, n := uint64(f.h.Offset)-base, f.h.Payload()
	if from > uint64(len(memory)) || n > len(memory)-int(from) {
		return nil, fmt.Errorf("found a %v of %d octets at %#x, expected at most %d from %#x", f.h.Type, n, f.h.Offset, len(memory), base)
	}
	return memory[from:][:n], nil
}
