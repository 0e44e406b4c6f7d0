package hand

// Decode reads a reply from the front of b into d and returns its length.
func (d *Dirplus) Decode(b []byte) (int, error) {
	if len(b) < 4 {
		return 0, fail(Short, 0)
	}
	d.Status = Status(be.Uint32(b))
	if !knownStatus(d.Status) {
		return 0, fail(BadEnum, 0)
	}
	off, f := d.DirAttr.decode(b, 4)
	if f != 0 {
		return 0, fail(f, off)
	}
	if d.Status != OK {
		return off, nil
	}
	if len(b)-off < VerifierSize+4 {
		return 0, fail(Short, off)
	}
	w := b[off : off+VerifierSize+4 : off+VerifierSize+4]
	d.Verifier = [VerifierSize]byte(w)
	flag := be.Uint32(w[VerifierSize:])
	off += VerifierSize + 4
	entries := d.Entries[:0]
	for flag == 1 {
		if len(entries) < cap(entries) {
			entries = entries[:len(entries)+1]
		} else {
			entries = append(entries, Entry{})
		}
		if off, f = entries[len(entries)-1].decode(b, off); f != 0 {
			return 0, fail(f, off)
		}
		if len(b)-off < 4 {
			return 0, fail(Short, off)
		}
		flag = be.Uint32(b[off : off+4 : off+4])
		off += 4
	}
	d.Entries = entries
	if flag != 0 {
		return 0, fail(BadBool, off-4)
	}
	if len(b)-off < 4 {
		return 0, fail(Short, off)
	}
	eof := be.Uint32(b[off : off+4 : off+4])
	if eof > 1 {
		return 0, fail(BadBool, off)
	}
	d.EOF = eof == 1
	return off + 4, nil
}

// decode reads e at off and returns the offset after it, or the fault and where
// it is.
func (e *Entry) decode(b []byte, off int) (int, Fault) {
	if len(b)-off < 8 {
		return off, Short
	}
	e.ID = be.Uint64(b[off : off+8 : off+8])
	var f Fault
	if e.Name, off, f = bounded(b, off+8, NameMax); f != 0 {
		return off, f
	}
	if len(b)-off < 8 {
		return off, Short
	}
	e.Cookie = be.Uint64(b[off : off+8 : off+8])
	if off, f = e.Attr.decode(b, off+8); f != 0 {
		return off, f
	}
	if len(b)-off < 4 {
		return off, Short
	}
	flag := be.Uint32(b[off : off+4 : off+4])
	e.HasHandle = flag == 1
	if flag == 0 {
		e.Handle = nil
		return off + 4, 0
	}
	if flag != 1 {
		return off, BadBool
	}
	e.Handle, off, f = bounded(b, off+4, HandleMax)
	return off, f
}

// bounded returns the opaque at off, which may take at most limit bytes (less
// than 2^32-3), and the offset after it; or the fault, at off.
func bounded(b []byte, off int, limit uint) ([]byte, int, Fault) {
	if len(b)-off < 4 {
		return nil, off, Short
	}
	size := uint(be.Uint32(b[off : off+4 : off+4]))
	if size > limit {
		return nil, off, TooLong
	}
	pad := -size & 3
	if uint(len(b)-off-4) < size+pad {
		return nil, off, Short
	}
	end := off + 4 + int(size+pad)
	// The last word holds the padding; without data it is the count, and the
	// mask is 0.
	if be.Uint32(b[end-4:end:end])&(1<<(8*pad)-1) != 0 {
		return nil, off, BadPad
	}
	w := b[off+4 : end : end]
	return w[:size:size], end, 0
}

// decode reads a at off and returns the offset after it, or the fault and where
// it is.
func (a *OptAttr) decode(b []byte, off int) (int, Fault) {
	if len(b)-off < 4 {
		return off, Short
	}
	flag := be.Uint32(b[off : off+4 : off+4])
	a.Present = flag == 1
	if flag == 0 {
		return off + 4, 0
	}
	if flag != 1 {
		return off, BadBool
	}
	off += 4
	if len(b)-off < attrSize {
		return off, Short
	}
	w := b[off : off+attrSize : off+attrSize]
	t := &a.Attr
	t.Type = FileType(be.Uint32(w))
	t.Mode = be.Uint32(w[4:])
	t.Links = be.Uint32(w[8:])
	t.Owner = be.Uint32(w[12:])
	t.Group = be.Uint32(w[16:])
	t.FileSize = be.Uint64(w[20:])
	t.Used = be.Uint64(w[28:])
	t.Device.Major = be.Uint32(w[36:])
	t.Device.Minor = be.Uint32(w[40:])
	t.Volume = be.Uint64(w[44:])
	t.ID = be.Uint64(w[52:])
	t.Accessed.Seconds = be.Uint32(w[60:])
	t.Accessed.Nanoseconds = be.Uint32(w[64:])
	t.Modified.Seconds = be.Uint32(w[68:])
	t.Modified.Nanoseconds = be.Uint32(w[72:])
	t.Changed.Seconds = be.Uint32(w[76:])
	t.Changed.Nanoseconds = be.Uint32(w[80:])
	if t.Type-File > Pipe-File {
		return off, BadEnum
	}
	return off + attrSize, 0
}
