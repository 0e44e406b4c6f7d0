package shapes

import "github.com/rpcrdma/rpcrdma/bench/codec/hand"

func headerEncoders(message string, h *hand.Header) []Shape {
	s := func(name string, run func([]byte) (int, error)) Shape {
		return Shape{message, "encode", name, run}
	}
	var e encoder
	return []Shape{
		s("hand (window b[off:off+n:off+n], check a run)", h.EncodeInto),
		s("size first, then windows unchecked", func(b []byte) (int, error) { return preflight(h, b) }),
		s("size first, one check a list", func(b []byte) (int, error) { return checkPerList(h, b) }),
		s("reslice b = b[n:]", func(b []byte) (int, error) { return reslice(h, b) }),
		s("Encoder in memory, e.next(n) a run", func(b []byte) (int, error) {
			e = encoder{b: b}
			return encoderNext(h, &e)
		}),
		s("Encoder in memory, b and off local per type", func(b []byte) (int, error) {
			e = encoder{b: b}
			return encoderLocal(h, &e)
		}),
		s("Encoder outside, (b, off) inside", func(b []byte) (int, error) {
			e = encoder{b: b}
			err := encoderOutside(h, &e)
			return e.off, err
		}),
		s("Encoder in memory, a call a word, sticky error", func(b []byte) (int, error) {
			e = encoder{b: b}
			return encoderWord(h, &e)
		}),
		s("a function a type, called per element (b, off)", func(b []byte) (int, error) { return perType(h, b) }),
		s("append a field", func(b []byte) (int, error) { return len(appendField(h, b[:0])), nil }),
		s("append a run of zeros, then a window", func(b []byte) (int, error) { return len(appendRun(h, b[:0])), nil }),
	}
}

func putHead(w []byte, h *hand.Header) {
	be.PutUint32(w, h.XID)
	be.PutUint32(w[4:], h.Vers)
	be.PutUint32(w[8:], h.Credit)
	be.PutUint32(w[12:], uint32(h.Proc))
}

func putRead(w []byte, r *hand.ReadChunk) {
	be.PutUint32(w, 1)
	be.PutUint32(w[4:], r.Position)
	be.PutUint32(w[8:], r.Target.Handle)
	be.PutUint32(w[12:], r.Target.Length)
	be.PutUint64(w[16:], r.Target.Offset)
}

func putSegment(w []byte, s *hand.Segment) {
	be.PutUint32(w, s.Handle)
	be.PutUint32(w[4:], s.Length)
	be.PutUint64(w[8:], s.Offset)
}

func preflight(h *hand.Header, b []byte) (int, error) {
	if len(b) < h.Size() {
		return 0, errShort
	}
	w := b[:16:16]
	be.PutUint32(w, h.XID)
	be.PutUint32(w[4:], h.Vers)
	be.PutUint32(w[8:], h.Credit)
	be.PutUint32(w[12:], uint32(h.Proc))
	off := 16
	for i := range h.Lists.Reads {
		r := &h.Lists.Reads[i]
		w := b[off : off+24 : off+24]
		be.PutUint32(w, 1)
		be.PutUint32(w[4:], r.Position)
		be.PutUint32(w[8:], r.Target.Handle)
		be.PutUint32(w[12:], r.Target.Length)
		be.PutUint64(w[16:], r.Target.Offset)
		off += 24
	}
	be.PutUint32(b[off:off+4:off+4], 0)
	off += 4
	for i := range h.Lists.Writes {
		t := h.Lists.Writes[i].Target
		w := b[off : off+8 : off+8]
		be.PutUint32(w, 1)
		be.PutUint32(w[4:], uint32(len(t)))
		off += 8
		for j := range t {
			s := &t[j]
			w := b[off : off+16 : off+16]
			be.PutUint32(w, s.Handle)
			be.PutUint32(w[4:], s.Length)
			be.PutUint64(w[8:], s.Offset)
			off += 16
		}
	}
	w = b[off : off+8 : off+8]
	be.PutUint64(w, 0)
	return off + 8, nil
}

func checkPerList(h *hand.Header, b []byte) (int, error) {
	if len(b) < 16 {
		return 0, errShort
	}
	w := b[:16:16]
	be.PutUint32(w, h.XID)
	be.PutUint32(w[4:], h.Vers)
	be.PutUint32(w[8:], h.Credit)
	be.PutUint32(w[12:], uint32(h.Proc))
	off := 16
	reads := h.Lists.Reads
	if len(b)-off < 4 || len(reads) > (len(b)-off-4)/24 {
		return 0, errShort
	}
	for i := range reads {
		r := &reads[i]
		w := b[off : off+24 : off+24]
		be.PutUint32(w, 1)
		be.PutUint32(w[4:], r.Position)
		be.PutUint32(w[8:], r.Target.Handle)
		be.PutUint32(w[12:], r.Target.Length)
		be.PutUint64(w[16:], r.Target.Offset)
		off += 24
	}
	be.PutUint32(b[off:off+4:off+4], 0)
	off += 4
	for i := range h.Lists.Writes {
		t := h.Lists.Writes[i].Target
		n := 8 + 16*len(t)
		if len(b)-off < n {
			return 0, errShort
		}
		w := b[off : off+n : off+n]
		be.PutUint32(w, 1)
		be.PutUint32(w[4:], uint32(len(t)))
		p := 8
		for j := range t {
			s := &t[j]
			w := w[p : p+16 : p+16]
			be.PutUint32(w, s.Handle)
			be.PutUint32(w[4:], s.Length)
			be.PutUint64(w[8:], s.Offset)
			p += 16
		}
		off += n
	}
	if len(b)-off < 8 {
		return 0, errShort
	}
	be.PutUint64(b[off:off+8:off+8], 0)
	return off + 8, nil
}

func reslice(h *hand.Header, b []byte) (int, error) {
	size := len(b)
	if len(b) < 16 {
		return 0, errShort
	}
	be.PutUint32(b, h.XID)
	be.PutUint32(b[4:], h.Vers)
	be.PutUint32(b[8:], h.Credit)
	be.PutUint32(b[12:], uint32(h.Proc))
	b = b[16:]
	for i := range h.Lists.Reads {
		r := &h.Lists.Reads[i]
		if len(b) < 24 {
			return 0, errShort
		}
		be.PutUint32(b, 1)
		be.PutUint32(b[4:], r.Position)
		be.PutUint32(b[8:], r.Target.Handle)
		be.PutUint32(b[12:], r.Target.Length)
		be.PutUint64(b[16:], r.Target.Offset)
		b = b[24:]
	}
	if len(b) < 4 {
		return 0, errShort
	}
	be.PutUint32(b, 0)
	b = b[4:]
	for i := range h.Lists.Writes {
		t := h.Lists.Writes[i].Target
		if len(b) < 8 {
			return 0, errShort
		}
		be.PutUint32(b, 1)
		be.PutUint32(b[4:], uint32(len(t)))
		b = b[8:]
		for j := range t {
			s := &t[j]
			if len(b) < 16 {
				return 0, errShort
			}
			be.PutUint32(b, s.Handle)
			be.PutUint32(b[4:], s.Length)
			be.PutUint64(b[8:], s.Offset)
			b = b[16:]
		}
	}
	if len(b) < 8 {
		return 0, errShort
	}
	be.PutUint64(b, 0)
	return size - len(b) + 8, nil
}

func perType(h *hand.Header, b []byte) (int, error) {
	if len(b) < 16 {
		return 0, errShort
	}
	putHead(b[:16:16], h)
	off := 16
	for i := range h.Lists.Reads {
		r := &h.Lists.Reads[i]
		if len(b)-off < 8 {
			return 0, errShort
		}
		w := b[off : off+8 : off+8]
		be.PutUint32(w, 1)
		be.PutUint32(w[4:], r.Position)
		if off = encodeSegment(&r.Target, b, off+8); off < 0 {
			return 0, errShort
		}
	}
	if len(b)-off < 4 {
		return 0, errShort
	}
	be.PutUint32(b[off:off+4:off+4], 0)
	off += 4
	for i := range h.Lists.Writes {
		t := h.Lists.Writes[i].Target
		if len(b)-off < 8 {
			return 0, errShort
		}
		w := b[off : off+8 : off+8]
		be.PutUint32(w, 1)
		be.PutUint32(w[4:], uint32(len(t)))
		off += 8
		for j := range t {
			if off = encodeSegment(&t[j], b, off); off < 0 {
				return 0, errShort
			}
		}
	}
	if len(b)-off < 8 {
		return 0, errShort
	}
	be.PutUint64(b[off:off+8:off+8], 0)
	return off + 8, nil
}

//go:noinline
func encodeSegment(s *hand.Segment, b []byte, off int) int {
	if len(b)-off < 16 {
		return -1
	}
	w := b[off : off+16 : off+16]
	be.PutUint32(w, s.Handle)
	be.PutUint32(w[4:], s.Length)
	be.PutUint64(w[8:], s.Offset)
	return off + 16
}

func appendField(h *hand.Header, b []byte) []byte {
	b = be.AppendUint32(b, h.XID)
	b = be.AppendUint32(b, h.Vers)
	b = be.AppendUint32(b, h.Credit)
	b = be.AppendUint32(b, uint32(h.Proc))
	for i := range h.Lists.Reads {
		r := &h.Lists.Reads[i]
		b = be.AppendUint32(b, 1)
		b = be.AppendUint32(b, r.Position)
		b = be.AppendUint32(b, r.Target.Handle)
		b = be.AppendUint32(b, r.Target.Length)
		b = be.AppendUint64(b, r.Target.Offset)
	}
	b = be.AppendUint32(b, 0)
	for i := range h.Lists.Writes {
		t := h.Lists.Writes[i].Target
		b = be.AppendUint32(b, 1)
		b = be.AppendUint32(b, uint32(len(t)))
		for j := range t {
			b = be.AppendUint32(b, t[j].Handle)
			b = be.AppendUint32(b, t[j].Length)
			b = be.AppendUint64(b, t[j].Offset)
		}
	}
	return be.AppendUint64(b, 0)
}

func appendRun(h *hand.Header, b []byte) []byte {
	var zero [24]byte
	n := len(b)
	b = append(b, zero[:16]...)
	putHead(b[n:n+16:n+16], h)
	for i := range h.Lists.Reads {
		n := len(b)
		b = append(b, zero[:]...)
		putRead(b[n:n+24:n+24], &h.Lists.Reads[i])
	}
	b = append(b, zero[:4]...)
	for i := range h.Lists.Writes {
		t := h.Lists.Writes[i].Target
		n := len(b)
		b = append(b, zero[:8]...)
		w := b[n : n+8 : n+8]
		be.PutUint32(w, 1)
		be.PutUint32(w[4:], uint32(len(t)))
		for j := range t {
			n := len(b)
			b = append(b, zero[:16]...)
			putSegment(b[n:n+16:n+16], &t[j])
		}
	}
	return append(b, zero[:8]...)
}
