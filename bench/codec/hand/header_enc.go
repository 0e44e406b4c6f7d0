package hand

import (
	"encoding/binary"
	"slices"
)

var be = binary.BigEndian

// EncodeInto writes h to the front of b and returns the bytes written.
func (h *Header) EncodeInto(b []byte) (int, error) {
	if len(b) < fixedSize {
		return 0, fail(Short, 0)
	}
	w := b[:fixedSize:fixedSize]
	be.PutUint32(w, h.XID)
	be.PutUint32(w[4:], h.Vers)
	be.PutUint32(w[8:], h.Credit)
	be.PutUint32(w[12:], uint32(h.Proc))
	off := fixedSize
	switch h.Proc {
	case Msg, NoMsg:
	case MsgP:
		if len(b) < fixedSize+8 {
			return 0, fail(Short, off)
		}
		w := b[fixedSize : fixedSize+8 : fixedSize+8]
		be.PutUint32(w, h.Align)
		be.PutUint32(w[4:], h.Thresh)
		off += 8
	case Done:
		return off, nil
	case ErrorProc:
		return h.encodeError(b, off)
	default:
		return 0, fail(BadEnum, 12)
	}
	return h.Lists.encode(b, off)
}

// Append appends h to b, growing it at most once.
func (h *Header) Append(b []byte) ([]byte, error) {
	n := len(b)
	size := h.Size()
	b = slices.Grow(b, size)
	m, err := h.EncodeInto(b[n : n+size])
	return b[:n+m], err
}

func (h *Header) encodeError(b []byte, off int) (int, error) {
	if len(b)-off < 4 {
		return 0, fail(Short, off)
	}
	be.PutUint32(b[off:], uint32(h.Code))
	off += 4
	switch h.Code {
	case ErrVers:
		if len(b)-off < 8 {
			return 0, fail(Short, off)
		}
		be.PutUint32(b[off:], h.VersLow)
		be.PutUint32(b[off+4:], h.VersHigh)
		return off + 8, nil
	case ErrChunk:
		return off, nil
	}
	return 0, fail(BadEnum, off-4)
}

func (l *ChunkLists) encode(b []byte, off int) (int, error) {
	for i := range l.Reads {
		r := &l.Reads[i]
		if len(b)-off < 24 {
			return 0, fail(Short, off)
		}
		w := b[off : off+24 : off+24]
		be.PutUint32(w, 1)
		be.PutUint32(w[4:], r.Position)
		be.PutUint32(w[8:], r.Target.Handle)
		be.PutUint32(w[12:], r.Target.Length)
		be.PutUint64(w[16:], r.Target.Offset)
		off += 24
	}
	if len(b)-off < 4 {
		return 0, fail(Short, off)
	}
	be.PutUint32(b[off:off+4:off+4], 0)
	off += 4
	for i := range l.Writes {
		t := l.Writes[i].Target
		// 8 bytes of flag and count, the segments, and the flag that follows.
		if len(b)-off < 12 || len(t) > (len(b)-off-12)/segmentSize {
			return 0, fail(Short, off)
		}
		w := b[off : off+8 : off+8]
		be.PutUint32(w, 1)
		be.PutUint32(w[4:], uint32(len(t)))
		off = putSegments(b, off+8, t)
	}
	if len(b)-off < 8 {
		return 0, fail(Short, off)
	}
	w := b[off : off+8 : off+8]
	be.PutUint32(w, 0)
	if !l.HasReply {
		be.PutUint32(w[4:], 0)
		return off + 8, nil
	}
	be.PutUint32(w[4:], 1)
	off += 8
	t := l.Reply.Target
	if len(b)-off < 4 || len(t) > (len(b)-off-4)/segmentSize {
		return 0, fail(Short, off)
	}
	be.PutUint32(b[off:off+4:off+4], uint32(len(t)))
	return putSegments(b, off+4, t), nil
}

// putSegments writes t at off and returns the offset after it; the caller has
// seen that it fits.
func putSegments(b []byte, off int, t []Segment) int {
	for i := range t {
		s := &t[i]
		w := b[off : off+segmentSize : off+segmentSize]
		be.PutUint32(w, s.Handle)
		be.PutUint32(w[4:], s.Length)
		be.PutUint64(w[8:], s.Offset)
		off += segmentSize
	}
	return off
}
