package shapes

import "github.com/rpcrdma/rpcrdma/bench/codec/hand"

func dirplusEncoders(v *hand.Dirplus) []Shape {
	s := func(name string, run func([]byte) (int, error)) Shape {
		return Shape{"d", "encode", name, run}
	}
	var e encoder
	return []Shape{
		s("hand (window a run, a function a type)", v.EncodeInto),
		s("size first, then windows unchecked", func(b []byte) (int, error) { return dirPreflight(v, b) }),
		s("Encoder in memory, e.next(n) a run", func(b []byte) (int, error) {
			e = encoder{b: b}
			return dirNext(v, &e)
		}),
		s("append a field", func(b []byte) (int, error) { return len(dirAppend(v, b[:0])), nil }),
	}
}

// attrAt writes a at off and returns the offset after it.
func attrAt(b []byte, off int, a *hand.OptAttr) int {
	if !a.Present {
		be.PutUint32(b[off:off+4:off+4], 0)
		return off + 4
	}
	w := b[off : off+88 : off+88]
	be.PutUint32(w, 1)
	t := &a.Attr
	be.PutUint32(w[4:], uint32(t.Type))
	be.PutUint32(w[8:], t.Mode)
	be.PutUint32(w[12:], t.Links)
	be.PutUint32(w[16:], t.Owner)
	be.PutUint32(w[20:], t.Group)
	be.PutUint64(w[24:], t.FileSize)
	be.PutUint64(w[32:], t.Used)
	be.PutUint32(w[40:], t.Device.Major)
	be.PutUint32(w[44:], t.Device.Minor)
	be.PutUint64(w[48:], t.Volume)
	be.PutUint64(w[56:], t.ID)
	be.PutUint32(w[64:], t.Accessed.Seconds)
	be.PutUint32(w[68:], t.Accessed.Nanoseconds)
	be.PutUint32(w[72:], t.Modified.Seconds)
	be.PutUint32(w[76:], t.Modified.Nanoseconds)
	be.PutUint32(w[80:], t.Changed.Seconds)
	be.PutUint32(w[84:], t.Changed.Nanoseconds)
	return off + 88
}

func dirPreflight(v *hand.Dirplus, b []byte) (int, error) {
	if len(b) < v.Size() {
		return 0, errShort
	}
	be.PutUint32(b, uint32(v.Status))
	off := attrAt(b, 4, &v.DirAttr)
	off += copy(b[off:off+8], v.Verifier[:])
	for i := range v.Entries {
		e := &v.Entries[i]
		if len(e.Name) > hand.NameMax || len(e.Handle) > hand.HandleMax {
			return 0, errShort
		}
		pad := (len(e.Name) + 3) &^ 3
		n := 24 + pad
		w := b[off : off+n : off+n]
		be.PutUint32(w, 1)
		be.PutUint64(w[4:], e.ID)
		be.PutUint32(w[12+pad:], 0)
		be.PutUint32(w[12:], uint32(len(e.Name)))
		copy(w[16:], e.Name)
		be.PutUint64(w[16+pad:], e.Cookie)
		off = attrAt(b, off+n, &e.Attr)
		pad = (len(e.Handle) + 3) &^ 3
		n = 8 + pad
		w = b[off : off+n : off+n]
		be.PutUint32(w, 1)
		be.PutUint32(w[4+pad:], 0)
		be.PutUint32(w[4:], uint32(len(e.Handle)))
		copy(w[8:], e.Handle)
		off += n
	}
	be.PutUint64(b[off:off+8:off+8], 1)
	return off + 8, nil
}

func nextAttr(e *encoder, a *hand.OptAttr) error {
	if !a.Present {
		w := e.next(4)
		if w == nil {
			return errShort
		}
		be.PutUint32(w, 0)
		return nil
	}
	w := e.next(88)
	if w == nil {
		return errShort
	}
	be.PutUint32(w, 1)
	t := &a.Attr
	be.PutUint32(w[4:], uint32(t.Type))
	be.PutUint32(w[8:], t.Mode)
	be.PutUint32(w[12:], t.Links)
	be.PutUint32(w[16:], t.Owner)
	be.PutUint32(w[20:], t.Group)
	be.PutUint64(w[24:], t.FileSize)
	be.PutUint64(w[32:], t.Used)
	be.PutUint32(w[40:], t.Device.Major)
	be.PutUint32(w[44:], t.Device.Minor)
	be.PutUint64(w[48:], t.Volume)
	be.PutUint64(w[56:], t.ID)
	be.PutUint32(w[64:], t.Accessed.Seconds)
	be.PutUint32(w[68:], t.Accessed.Nanoseconds)
	be.PutUint32(w[72:], t.Modified.Seconds)
	be.PutUint32(w[76:], t.Modified.Nanoseconds)
	be.PutUint32(w[80:], t.Changed.Seconds)
	be.PutUint32(w[84:], t.Changed.Nanoseconds)
	return nil
}

func nextBytes(e *encoder, v []byte) error {
	pad := (len(v) + 3) &^ 3
	w := e.next(4 + pad)
	if w == nil {
		return errShort
	}
	be.PutUint32(w[pad:], 0)
	be.PutUint32(w, uint32(len(v)))
	copy(w[4:], v)
	return nil
}

func dirNext(v *hand.Dirplus, e *encoder) (int, error) {
	w := e.next(4)
	if w == nil {
		return 0, errShort
	}
	be.PutUint32(w, uint32(v.Status))
	if err := nextAttr(e, &v.DirAttr); err != nil {
		return 0, err
	}
	if w = e.next(8); w == nil {
		return 0, errShort
	}
	copy(w, v.Verifier[:])
	for i := range v.Entries {
		x := &v.Entries[i]
		if w = e.next(12); w == nil {
			return 0, errShort
		}
		be.PutUint32(w, 1)
		be.PutUint64(w[4:], x.ID)
		if err := nextBytes(e, x.Name); err != nil {
			return 0, err
		}
		if w = e.next(8); w == nil {
			return 0, errShort
		}
		be.PutUint64(w, x.Cookie)
		if err := nextAttr(e, &x.Attr); err != nil {
			return 0, err
		}
		if w = e.next(4); w == nil {
			return 0, errShort
		}
		be.PutUint32(w, 1)
		if err := nextBytes(e, x.Handle); err != nil {
			return 0, err
		}
	}
	if w = e.next(8); w == nil {
		return 0, errShort
	}
	be.PutUint64(w, 1)
	return e.off, nil
}

func dirAppend(v *hand.Dirplus, b []byte) []byte {
	b = be.AppendUint32(b, uint32(v.Status))
	b = attrAppend(b, &v.DirAttr)
	b = append(b, v.Verifier[:]...)
	for i := range v.Entries {
		e := &v.Entries[i]
		b = be.AppendUint32(b, 1)
		b = be.AppendUint64(b, e.ID)
		b = bytesAppend(b, e.Name)
		b = be.AppendUint64(b, e.Cookie)
		b = attrAppend(b, &e.Attr)
		b = be.AppendUint32(b, 1)
		b = bytesAppend(b, e.Handle)
	}
	return be.AppendUint64(b, 1)
}

func bytesAppend(b, v []byte) []byte {
	b = be.AppendUint32(b, uint32(len(v)))
	b = append(b, v...)
	var zero [3]byte
	return append(b, zero[:-len(v)&3]...)
}

func attrAppend(b []byte, a *hand.OptAttr) []byte {
	if !a.Present {
		return be.AppendUint32(b, 0)
	}
	t := &a.Attr
	b = be.AppendUint32(b, 1)
	b = be.AppendUint32(b, uint32(t.Type))
	b = be.AppendUint32(b, t.Mode)
	b = be.AppendUint32(b, t.Links)
	b = be.AppendUint32(b, t.Owner)
	b = be.AppendUint32(b, t.Group)
	b = be.AppendUint64(b, t.FileSize)
	b = be.AppendUint64(b, t.Used)
	b = be.AppendUint32(b, t.Device.Major)
	b = be.AppendUint32(b, t.Device.Minor)
	b = be.AppendUint64(b, t.Volume)
	b = be.AppendUint64(b, t.ID)
	b = be.AppendUint32(b, t.Accessed.Seconds)
	b = be.AppendUint32(b, t.Accessed.Nanoseconds)
	b = be.AppendUint32(b, t.Modified.Seconds)
	b = be.AppendUint32(b, t.Modified.Nanoseconds)
	b = be.AppendUint32(b, t.Changed.Seconds)
	return be.AppendUint32(b, t.Changed.Nanoseconds)
}
