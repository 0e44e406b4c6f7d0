package shapes

import "github.com/rpcrdma/rpcrdma/bench/codec/hand"

// encoderNext keeps the cursor in memory and takes a window a run.
func encoderNext(h *hand.Header, e *encoder) (int, error) {
	w := e.next(16)
	if w == nil {
		return 0, errShort
	}
	be.PutUint32(w, h.XID)
	be.PutUint32(w[4:], h.Vers)
	be.PutUint32(w[8:], h.Credit)
	be.PutUint32(w[12:], uint32(h.Proc))
	for i := range h.Lists.Reads {
		r := &h.Lists.Reads[i]
		w := e.next(24)
		if w == nil {
			return 0, errShort
		}
		be.PutUint32(w, 1)
		be.PutUint32(w[4:], r.Position)
		be.PutUint32(w[8:], r.Target.Handle)
		be.PutUint32(w[12:], r.Target.Length)
		be.PutUint64(w[16:], r.Target.Offset)
	}
	if w = e.next(4); w == nil {
		return 0, errShort
	}
	be.PutUint32(w, 0)
	for i := range h.Lists.Writes {
		t := h.Lists.Writes[i].Target
		w := e.next(8)
		if w == nil {
			return 0, errShort
		}
		be.PutUint32(w, 1)
		be.PutUint32(w[4:], uint32(len(t)))
		for j := range t {
			s := &t[j]
			w := e.next(16)
			if w == nil {
				return 0, errShort
			}
			be.PutUint32(w, s.Handle)
			be.PutUint32(w[4:], s.Length)
			be.PutUint64(w[8:], s.Offset)
		}
	}
	if w = e.next(8); w == nil {
		return 0, errShort
	}
	be.PutUint64(w, 0)
	return e.off, nil
}

// encoderOutside is the public method of a type whose parts never see e.
//
//go:noinline
func encoderOutside(h *hand.Header, e *encoder) error {
	n, err := h.EncodeInto(e.b[e.off:])
	e.off += n
	return err
}

// encoderLocal takes the cursor from memory and gives it back once a type.
func encoderLocal(h *hand.Header, e *encoder) (int, error) {
	b, off := e.b, e.off
	if len(b)-off < 16 {
		return 0, errShort
	}
	w := b[off : off+16 : off+16]
	be.PutUint32(w, h.XID)
	be.PutUint32(w[4:], h.Vers)
	be.PutUint32(w[8:], h.Credit)
	be.PutUint32(w[12:], uint32(h.Proc))
	e.off = off + 16
	if err := listsLocal(&h.Lists, e); err != nil {
		return 0, err
	}
	return e.off, nil
}

//go:noinline
func listsLocal(l *hand.ChunkLists, e *encoder) error {
	b, off := e.b, e.off
	for i := range l.Reads {
		r := &l.Reads[i]
		if len(b)-off < 24 {
			return errShort
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
		return errShort
	}
	be.PutUint32(b[off:off+4:off+4], 0)
	off += 4
	for i := range l.Writes {
		if len(b)-off < 4 {
			return errShort
		}
		be.PutUint32(b[off:off+4:off+4], 1)
		e.off = off + 4
		if err := writeLocal(&l.Writes[i], e); err != nil {
			return err
		}
		off = e.off
	}
	if len(b)-off < 8 {
		return errShort
	}
	be.PutUint64(b[off:off+8:off+8], 0)
	e.off = off + 8
	return nil
}

//go:noinline
func writeLocal(c *hand.WriteChunk, e *encoder) error {
	b, off := e.b, e.off
	t := c.Target
	if len(b)-off < 4 || len(t) > (len(b)-off-4)/16 {
		return errShort
	}
	be.PutUint32(b[off:off+4:off+4], uint32(len(t)))
	off += 4
	for j := range t {
		s := &t[j]
		w := b[off : off+16 : off+16]
		be.PutUint32(w, s.Handle)
		be.PutUint32(w[4:], s.Length)
		be.PutUint64(w[8:], s.Offset)
		off += 16
	}
	e.off = off
	return nil
}

func encoderWord(h *hand.Header, e *encoder) (int, error) {
	e.uint32(h.XID)
	e.uint32(h.Vers)
	e.uint32(h.Credit)
	e.uint32(uint32(h.Proc))
	for i := range h.Lists.Reads {
		r := &h.Lists.Reads[i]
		e.uint32(1)
		e.uint32(r.Position)
		e.uint32(r.Target.Handle)
		e.uint32(r.Target.Length)
		e.uint64(r.Target.Offset)
	}
	e.uint32(0)
	for i := range h.Lists.Writes {
		t := h.Lists.Writes[i].Target
		e.uint32(1)
		e.uint32(uint32(len(t)))
		for j := range t {
			e.uint32(t[j].Handle)
			e.uint32(t[j].Length)
			e.uint64(t[j].Offset)
		}
	}
	e.uint64(0)
	return e.off, e.err
}
