package hand

// Decode reads a header from the front of b into h and returns its length; the
// RPC message that may follow is left to the caller.
func (h *Header) Decode(b []byte) (int, error) {
	if len(b) < fixedSize {
		return 0, fail(Short, 0)
	}
	h.XID = be.Uint32(b)
	h.Vers = be.Uint32(b[4:])
	h.Credit = be.Uint32(b[8:])
	h.Proc = Proc(be.Uint32(b[12:]))
	off := fixedSize
	switch h.Proc {
	case Msg, NoMsg:
	case MsgP:
		if len(b) < fixedSize+8 {
			return 0, fail(Short, off)
		}
		w := b[fixedSize : fixedSize+8 : fixedSize+8]
		h.Align = be.Uint32(w)
		h.Thresh = be.Uint32(w[4:])
		off += 8
	case Done:
		return off, nil
	case ErrorProc:
		return h.decodeError(b)
	default:
		return 0, fail(BadEnum, 12)
	}
	off, f := h.Lists.decode(b, off)
	if f != 0 {
		return 0, fail(f, off)
	}
	return off, nil
}

func (h *Header) decodeError(b []byte) (int, error) {
	p := b[fixedSize:]
	if len(p) < 4 {
		return 0, fail(Short, fixedSize)
	}
	h.Code = ErrCode(be.Uint32(p))
	switch h.Code {
	case ErrVers:
		if len(p) < 12 {
			return 0, fail(Short, fixedSize)
		}
		h.VersLow = be.Uint32(p[4:])
		h.VersHigh = be.Uint32(p[8:])
		return fixedSize + 12, nil
	case ErrChunk:
		return fixedSize + 4, nil
	}
	return 0, fail(BadEnum, fixedSize)
}

// decode reads the lists at off and returns the offset after them, or the fault
// and where it is.
func (l *ChunkLists) decode(b []byte, off int) (int, Fault) {
	if len(b)-off < 4 {
		return off, Short
	}
	flag := be.Uint32(b[off : off+4 : off+4])
	off += 4
	reads := l.Reads[:0]
	for flag == 1 {
		// The entry and the flag that follows it.
		if len(b)-off < readSize+4 {
			return off, Short
		}
		w := b[off : off+24 : off+24]
		reads = append(reads, ReadChunk{
			Position: be.Uint32(w),
			Target: Segment{
				Handle: be.Uint32(w[4:]),
				Length: be.Uint32(w[8:]),
				Offset: be.Uint64(w[12:]),
			},
		})
		flag = be.Uint32(w[20:])
		off += 24
	}
	l.Reads = reads
	if flag != 0 {
		return off - 4, BadBool
	}

	if len(b)-off < 4 {
		return off, Short
	}
	flag = be.Uint32(b[off : off+4 : off+4])
	off += 4
	writes := l.Writes[:0]
	for flag == 1 {
		// The count and the flag that follows the segments.
		if len(b)-off < 8 {
			return off, Short
		}
		n := int(be.Uint32(b[off : off+4 : off+4]))
		if uint(n) > uint(len(b)-off-8)/segmentSize {
			return off, Short
		}
		if len(writes) < cap(writes) {
			writes = writes[:len(writes)+1]
		} else {
			writes = append(writes, WriteChunk{})
		}
		c := &writes[len(writes)-1]
		c.Target, off = getSegments(c.Target, n, b, off+4)
		flag = be.Uint32(b[off : off+4 : off+4])
		off += 4
	}
	l.Writes = writes
	if flag != 0 {
		return off - 4, BadBool
	}

	if len(b)-off < 4 {
		return off, Short
	}
	flag = be.Uint32(b[off : off+4 : off+4])
	l.HasReply = flag == 1
	if flag == 0 {
		l.Reply.Target = l.Reply.Target[:0]
		return off + 4, 0
	}
	if flag != 1 {
		return off, BadBool
	}
	off += 4
	if len(b)-off < 4 {
		return off, Short
	}
	n := int(be.Uint32(b[off : off+4 : off+4]))
	if uint(n) > uint(len(b)-off-4)/segmentSize {
		return off, Short
	}
	l.Reply.Target, off = getSegments(l.Reply.Target, n, b, off+4)
	return off, 0
}

// getSegments reads n segments, which the caller has seen b to hold at off,
// into t; it returns the offset after them.
func getSegments(t []Segment, n int, b []byte, off int) ([]Segment, int) {
	if n > cap(t) {
		t = make([]Segment, n)
	}
	t = t[:n]
	for i := range t {
		w := b[off : off+segmentSize : off+segmentSize]
		t[i] = Segment{
			Handle: be.Uint32(w),
			Length: be.Uint32(w[4:]),
			Offset: be.Uint64(w[8:]),
		}
		off += segmentSize
	}
	return t, off
}
