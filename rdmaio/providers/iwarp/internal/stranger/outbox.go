package stranger

import "sync"

// outgoing is a piece of the stream that is due to be written.
type outgoing struct {
	b     []byte
	last  bool // the stream ends behind it
	whole bool // not chopped
}

// outbox is the queue of Endpoint.writer.
//
//	held ── the first FPDU of an initiator ──> open ──> closed
type outbox struct {
	crc      bool // CRCs are generated
	queue    []outgoing
	writable sync.Cond // take may have something to return
	held     bool      // a responder must not send yet (RFC 5044 §7.1.2 rule 4)
	closed   bool
}

// put makes a piece due.
func (o *outbox) put(piece outgoing) {
	o.queue = append(o.queue, piece)
	o.writable.Broadcast()
}

// message makes the segments of a message due, each as a write of its own.
func (o *outbox) message(all []Segment) {
	for _, s := range all {
		o.put(outgoing{b: wire(o.crc, s)})
	}
}

// wire returns the FPDUs of segments.
func wire(crc bool, segments ...Segment) (b []byte) {
	for i := range segments {
		b = append(b, Frame(segments[i].Bytes(), crc)...)
	}
	return b
}

// take waits for a piece that may be sent. It returns false when the outbox is closed.
func (o *outbox) take() (piece outgoing, ok bool) {
	for !o.closed && (len(o.queue) == 0 || o.held) {
		o.writable.Wait()
	}
	if o.closed {
		return piece, false
	}
	piece, o.queue = o.queue[0], o.queue[1:]
	return piece, true
}

// release lets a responder send.
func (o *outbox) release() {
	o.held = false
	o.writable.Broadcast()
}

func (o *outbox) close() {
	o.closed = true
	o.writable.Broadcast()
}
