package hand

// Decode reads a reply from the front of b into d and returns its length.
func (d *Dirplus) Decode(b []byte) (int, error) {
	if len(b) < 8 {
		return 0, fail(Short, len(b))
	}
	d.Status = Status(be.Uint32(b))
	if !knownStatus(d.Status) {
		return 0, fail(BadEnum, 0)
	}
	p, f := d.DirAttr.decode(b[4:])
	if f != 0 {
		return 0, fail(f, len(b)-len(p))
	}
	if d.Status != OK {
		return len(b) - len(p), nil
	}
	if len(p) < VerifierSize+4 {
		return 0, fail(Short, len(b))
	}
	copy(d.Verifier[:], p)
	flag := be.Uint32(p[VerifierSize:])
	p = p[VerifierSize+4:]
	entries := d.Entries[:0]
	for flag == 1 {
		if len(entries) < cap(entries) {
			entries = entries[:len(entries)+1]
		} else {
			entries = append(entries, Entry{})
		}
		if p, f = entries[len(entries)-1].decode(p); f != 0 {
			return 0, fail(f, len(b)-len(p))
		}
		if len(p) < 4 {
			return 0, fail(Short, len(b))
		}
		flag = be.Uint32(p)
		p = p[4:]
	}
	d.Entries = entries
	if flag != 0 {
		return 0, fail(BadBool, len(b)-len(p)-4)
	}
	if len(p) < 4 {
		return 0, fail(Short, len(b))
	}
	eof := be.Uint32(p)
	if eof > 1 {
		return 0, fail(BadBool, len(b)-len(p))
	}
	d.EOF = eof == 1
	return len(b) - len(p) + 4, nil
}

// decode returns what is left of p after the entry, or at the fault.
func (e *Entry) decode(p []byte) ([]byte, Fault) {
	if len(p) < 12 {
		return p, Short
	}
	e.ID = be.Uint64(p)
	size := uint(be.Uint32(p[8:]))
	if size > NameMax {
		return p[8:], TooLong
	}
	pad := -size & 3
	end := 12 + size + pad
	// The name, its padding, the cookie and the attributes' flag.
	if uint(len(p)) < end+12 {
		return p[8:], Short
	}
	if be.Uint32(p[end-4:])&(1<<(8*pad)-1) != 0 {
		return p[8:], BadPad
	}
	e.Name = p[12 : 12+size : 12+size]
	p = p[end:]
	e.Cookie = be.Uint64(p)
	p, f := e.Attr.decode(p[8:])
	if f != 0 {
		return p, f
	}
	if len(p) < 4 {
		return p, Short
	}
	flag := be.Uint32(p)
	e.HasHandle = flag == 1
	if flag == 0 {
		e.Handle = nil
		return p[4:], 0
	}
	if flag != 1 {
		return p, BadBool
	}
	p = p[4:]
	if len(p) < 4 {
		return p, Short
	}
	size = uint(be.Uint32(p))
	if size > HandleMax {
		return p, TooLong
	}
	pad = -size & 3
	end = 4 + size + pad
	if uint(len(p)) < end {
		return p, Short
	}
	if be.Uint32(p[end-4:])&(1<<(8*pad)-1) != 0 {
		return p, BadPad
	}
	e.Handle = p[4 : 4+size : 4+size]
	return p[end:], 0
}

// decode returns what is left of p after the attributes, or at the fault.
func (a *OptAttr) decode(p []byte) ([]byte, Fault) {
	if len(p) < 4 {
		return p, Short
	}
	flag := be.Uint32(p)
	a.Present = flag == 1
	if flag == 0 {
		return p[4:], 0
	}
	if flag != 1 {
		return p, BadBool
	}
	if len(p) < 4+attrSize {
		return p, Short
	}
	w := p[4 : 4+attrSize]
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
		return p[4:], BadEnum
	}
	return p[4+attrSize:], 0
}
