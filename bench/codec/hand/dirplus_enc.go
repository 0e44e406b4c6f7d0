package hand

import "slices"

// EncodeInto writes d to the front of b and returns the bytes written.
func (d *Dirplus) EncodeInto(b []byte) (int, error) {
	if len(b) < 4 {
		return 0, fail(Short, 0)
	}
	if !knownStatus(d.Status) {
		return 0, fail(BadEnum, 0)
	}
	be.PutUint32(b, uint32(d.Status))
	off, f := d.DirAttr.encode(b, 4)
	if f != 0 {
		return 0, fail(f, off)
	}
	if d.Status != OK {
		return off, nil
	}
	if len(b)-off < VerifierSize {
		return 0, fail(Short, off)
	}
	copy(b[off:off+VerifierSize], d.Verifier[:])
	off += VerifierSize
	for i := range d.Entries {
		if off, f = d.Entries[i].encode(b, off); f != 0 {
			return 0, fail(f, off)
		}
	}
	if len(b)-off < 8 {
		return 0, fail(Short, off)
	}
	w := b[off : off+8 : off+8]
	be.PutUint32(w, 0)
	var eof uint32
	if d.EOF {
		eof = 1
	}
	be.PutUint32(w[4:], eof)
	return off + 8, nil
}

// Append appends d to b, growing it at most once.
func (d *Dirplus) Append(b []byte) ([]byte, error) {
	n, size := len(b), d.Size()
	b = slices.Grow(b, size)
	m, err := d.EncodeInto(b[n : n+size])
	return b[:n+m], err
}

// encode writes the flag that announces e, and e.
func (e *Entry) encode(b []byte, off int) (int, Fault) {
	name := e.Name
	if len(name) > NameMax || len(e.Handle) > HandleMax {
		return off, TooLong
	}
	pad := padded(len(name))
	n := 24 + pad
	if len(b)-off < n {
		return off, Short
	}
	w := b[off : off+n : off+n]
	be.PutUint32(w, 1)
	be.PutUint64(w[4:], e.ID)
	// The name's last word first: without a name it is the count.
	be.PutUint32(w[12+pad:], 0)
	be.PutUint32(w[12:], uint32(len(name)))
	copy(w[16:], name)
	be.PutUint64(w[16+pad:], e.Cookie)
	off, f := e.Attr.encode(b, off+n)
	if f != 0 {
		return off, f
	}
	if !e.HasHandle {
		if len(b)-off < 4 {
			return off, Short
		}
		be.PutUint32(b[off:off+4:off+4], 0)
		return off + 4, 0
	}
	pad = padded(len(e.Handle))
	n = 8 + pad
	if len(b)-off < n {
		return off, Short
	}
	w = b[off : off+n : off+n]
	be.PutUint32(w, 1)
	be.PutUint32(w[4+pad:], 0)
	be.PutUint32(w[4:], uint32(len(e.Handle)))
	copy(w[8:], e.Handle)
	return off + n, 0
}

func (a *OptAttr) encode(b []byte, off int) (int, Fault) {
	if !a.Present {
		if len(b)-off < 4 {
			return off, Short
		}
		be.PutUint32(b[off:off+4:off+4], 0)
		return off + 4, 0
	}
	const n = 4 + attrSize
	if len(b)-off < n {
		return off, Short
	}
	if a.Attr.Type-File > Pipe-File {
		return off, BadEnum
	}
	w := b[off : off+n : off+n]
	t := &a.Attr
	be.PutUint32(w, 1)
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
	return off + n, 0
}
