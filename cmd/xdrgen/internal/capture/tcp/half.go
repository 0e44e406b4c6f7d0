// Package tcp puts the bytes of captured TCP segments in order: segments may come out of order,
// several times, with overlaps, or not at all.
package tcp

import "slices"

// Limits on what a Half holds while it waits for a missing segment.
const (
	MaxHeld     = 4 << 20 // bytes
	maxSegments = 1024
	patience    = 16      // segments that come after the peer has acknowledged the missing one
	maxJump     = 1 << 30 // largest window (RFC 7323 §2.3); segments beyond it are ignored
)

// Receiver gets the bytes of a Half in order.
type Receiver interface {
	// Bytes gets bytes that were captured in one segment at a time in nanoseconds since 1970. b is
	// not kept.
	Bytes(at int64, b []byte)

	// Gap reports that n bytes are missing. If n is 0, their number is not known.
	Gap(at int64, n uint32)
}

// Half is one direction of a connection. Its zero value takes the first segment as the first one of
// the stream. It is not safe for concurrent use.
type Half struct {
	next    uint32 // number of the next byte
	started bool
	held    []segment // after next, by number
	bytes   int       // in held
	acked   uint32    // what the peer has acknowledged
	hasAck  bool
	late    int // segments since the peer acknowledged bytes that are missing here
}

// segment is a segment that waits for those before it.
type segment struct {
	seq     uint32
	at      int64
	data    []byte
	missing uint32 // bytes after data that the capture left out
}

// end returns the number after the segment's last byte.
func (s *segment) end() uint32 { return s.seq + uint32(len(s.data)) + s.missing }

// What a held segment takes besides its data, in bytes on 64-bit machines: its place in held, and
// the least that its data are rounded up to.
const (
	placeSize = 48
	leastData = 8
)

// Held returns the memory for segments that wait for a missing one, in bytes.
func (h *Half) Held() int { return h.bytes + cap(h.held)*placeSize + len(h.held)*leastData }

// Start begins a stream, whose SYN has the number seq. Bytes of a stream before it are lost.
func (h *Half) Start(seq uint32) { *h = Half{next: seq + 1, started: true} }

// Begins reports whether a SYN with the number seq begins another stream.
func (h *Half) Begins(seq uint32) bool { return !h.started || seq+1 != h.next || len(h.held) > 0 }

// Ack notes that the peer has all bytes before seq.
func (h *Half) Ack(seq uint32) {
	if !h.hasAck || int32(seq-h.acked) > 0 {
		h.acked, h.hasAck = seq, true
	}
}

// Segment takes the payload of a segment. missing is the number of bytes after it that the capture
// left out.
func (h *Half) Segment(at int64, seq uint32, data []byte, missing int, to Receiver) {
	if len(data) == 0 && missing == 0 {
		return
	}
	if !h.started {
		h.next, h.started = seq, true
	}
	s := segment{seq: seq, at: at, data: data, missing: uint32(missing)}
	switch ahead := int32(seq - h.next); {
	case ahead <= 0:
		h.take(s, to)
	case ahead < maxJump:
		h.hold(s)
	default:
		return
	}
	h.drain(to)
	h.giveUp(at, to)
}

// take passes on what the stream does not have yet of a segment that begins at or before next.
func (h *Half) take(s segment, to Receiver) {
	if int32(s.end()-h.next) <= 0 {
		return
	}
	if old := h.next - s.seq; old < uint32(len(s.data)) {
		s.data = s.data[old:]
	} else {
		s.missing -= old - uint32(len(s.data))
		s.data = nil
	}
	h.late = 0
	if len(s.data) > 0 {
		h.next += uint32(len(s.data))
		to.Bytes(s.at, s.data)
	}
	if s.missing > 0 {
		h.next += s.missing
		to.Gap(s.at, s.missing)
	}
}

// hold keeps a segment that begins after next. Of two that begin with the same byte, the longer one
// stays.
func (h *Half) hold(s segment) {
	i, found := slices.BinarySearchFunc(h.held, s, func(a, b segment) int { return int(int32(a.seq - b.seq)) })
	if found && len(h.held[i].data) >= len(s.data) {
		return
	}
	s.data = slices.Clone(s.data)
	h.bytes += len(s.data)
	if found {
		h.bytes -= len(h.held[i].data)
		h.held[i] = s
		return
	}
	h.held = slices.Insert(h.held, i, s)
}

// drain passes on the held segments that the stream has reached.
func (h *Half) drain(to Receiver) {
	n := 0
	for n < len(h.held) && int32(h.held[n].seq-h.next) <= 0 {
		h.bytes -= len(h.held[n].data)
		h.take(h.held[n], to)
		h.held[n].data = nil
		n++
	}
	if n == len(h.held) {
		h.held = nil // with its places
		return
	}
	h.held = slices.Delete(h.held, 0, n)
}

// giveUp passes over missing bytes if they will not come: too much is held, or the peer has
// acknowledged them some time ago, so that only the capture lacks them.
func (h *Half) giveUp(at int64, to Receiver) {
	if len(h.held) == 0 {
		h.late = 0
		return
	}
	if h.hasAck && int32(h.acked-h.held[0].seq) >= 0 {
		h.late++
	}
	if h.late > patience || h.bytes > MaxHeld || len(h.held) > maxSegments {
		h.pass(at, to)
	}
}

// pass passes over the bytes before the first held segment.
func (h *Half) pass(at int64, to Receiver) {
	n := h.held[0].seq - h.next
	h.next, h.late = h.held[0].seq, 0
	to.Gap(at, n)
	h.drain(to)
}

// End passes on all that is held. A later segment continues the stream.
func (h *Half) End(at int64, to Receiver) {
	for len(h.held) > 0 {
		h.pass(at, to)
	}
}
