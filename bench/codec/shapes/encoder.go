package shapes

// encoder is a cursor in memory, as a generated EncodeXDR(*Encoder) sees it.
type encoder struct {
	b   []byte
	off int
	err error
}

// next returns the n bytes to fill, or nil once the buffer is too small. It is
// small enough to be inlined.
func (e *encoder) next(n int) []byte {
	off := e.off
	if len(e.b)-off < n {
		return nil
	}
	e.off = off + n
	return e.b[off : off+n : off+n]
}

// uint32 is the word at a time shape, with a sticky error.
func (e *encoder) uint32(v uint32) {
	if e.err != nil {
		return
	}
	if len(e.b)-e.off < 4 {
		e.err = errShort
		return
	}
	be.PutUint32(e.b[e.off:], v)
	e.off += 4
}

func (e *encoder) uint64(v uint64) {
	e.uint32(uint32(v >> 32))
	e.uint32(uint32(v))
}

// decoder is the same for reading.
type decoder struct {
	b   []byte
	off int
	err error
}

func (d *decoder) next(n int) []byte {
	off := d.off
	if len(d.b)-off < n {
		return nil
	}
	d.off = off + n
	return d.b[off : off+n : off+n]
}

// peeler is a decoder that keeps the rest of the buffer as a slice.
type peeler struct {
	p []byte
}

func (d *peeler) next(n int) []byte {
	p := d.p
	if len(p) < n {
		return nil
	}
	d.p = p[n:]
	return p[:n:n]
}

func (d *decoder) uint32() uint32 {
	if d.err != nil {
		return 0
	}
	if len(d.b)-d.off < 4 {
		d.err = errShort
		return 0
	}
	v := be.Uint32(d.b[d.off:])
	d.off += 4
	return v
}

func (d *decoder) uint64() uint64 {
	hi := d.uint32()
	return uint64(hi)<<32 | uint64(d.uint32())
}
