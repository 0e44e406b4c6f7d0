package hand

// Decode reads a header from the front of b into h and returns its length; the
// RPC message that may follow is left to the caller.
func (h *Header) Decode(b []byte) (int, error) {
	if len(b) < fixedSize {
		return 0, fail(Short, len(b))
	}
	h.XID = be.Uint32(b)
	h.Vers = be.Uint32(b[4:])
	h.Credit = be.Uint32(b[8:])
	h.Proc = Proc(be.Uint32(b[12:]))
	p := b[fixedSize:]
	switch h.Proc {
	case Msg, NoMsg:
	case MsgP:
		if len(p) < 8 {
			return 0, fail(Short, len(b))
		}
		h.Align = be.Uint32(p)
		h.Thresh = be.Uint32(p[4:])
		p = p[8:]
	case Done:
		return fixedSize, nil
	case ErrorProc:
		return h.decodeError(b)
	default:
		return 0, fail(BadEnum, 12)
	}
	left, f := h.Lists.decode(p)
	if f != 0 {
		return 0, fail(f, len(b)-left)
	}
	return len(b) - left, nil
}

func (h *Header) decodeError(b []byte) (int, error) {
	p := b[fixedSize:]
	if len(p) < 4 {
		return 0, fail(Short, len(b))
	}
	h.Code = ErrCode(be.Uint32(p))
	switch h.Code {
	case ErrVers:
		if len(p) < 12 {
			return 0, fail(Short, len(b))
		}
		h.VersLow = be.Uint32(p[4:])
		h.VersHigh = be.Uint32(p[8:])
		return fixedSize + 12, nil
	case ErrChunk:
		return fixedSize + 4, nil
	}
	return 0, fail(BadEnum, fixedSize)
}

// decode returns the bytes left of p after the lists, or at the fault.
func (l *ChunkLists) decode(p []byte) (left int, f Fault) {
	if len(p) < 4 {
		return len(p), Short
	}
	flag := be.Uint32(p)
	p = p[4:]
	reads := l.Reads[:0]
	for flag == 1 {
		// The entry and the flag that follows it.
		if len(p) < readSize+4 {
			return len(p), Short
		}
		reads = append(reads, ReadChunk{
			Position: be.Uint32(p),
			Target: Segment{
				Handle: be.Uint32(p[4:]),
				Length: be.Uint32(p[8:]),
				Offset: be.Uint64(p[12:]),
			},
		})
		flag = be.Uint32(p[20:])
		p = p[24:]
	}
	l.Reads = reads
	if flag != 0 {
		return len(p) + 4, BadBool
	}

	if len(p) < 4 {
		return len(p), Short
	}
	flag = be.Uint32(p)
	p = p[4:]
	writes := l.Writes[:0]
	for flag == 1 {
		// The count and the flag that follows the segments.
		if len(p) < 8 {
			return len(p), Short
		}
		n := int(be.Uint32(p))
		if uint(n) > uint(len(p)-8)/segmentSize {
			return len(p), Short
		}
		if len(writes) < cap(writes) {
			writes = writes[:len(writes)+1]
		} else {
			writes = append(writes, WriteChunk{})
		}
		w := &writes[len(writes)-1]
		w.Target = getSegments(w.Target, n, p[4:])
		p = p[4+n*segmentSize:]
		if len(p) < 4 {
			return len(p), Short
		}
		flag = be.Uint32(p)
		p = p[4:]
	}
	l.Writes = writes
	if flag != 0 {
		return len(p) + 4, BadBool
	}

	if len(p) < 4 {
		return len(p), Short
	}
	flag = be.Uint32(p)
	p = p[4:]
	l.HasReply = flag == 1
	if flag == 0 {
		l.Reply.Target = l.Reply.Target[:0]
		return len(p), 0
	}
	if flag != 1 {
		return len(p) + 4, BadBool
	}
	if len(p) < 4 {
		return len(p), Short
	}
	n := int(be.Uint32(p))
	if uint(n) > uint(len(p)-4)/segmentSize {
		return len(p), Short
	}
	l.Reply.Target = getSegments(l.Reply.Target, n, p[4:])
	return len(p) - 4 - n*segmentSize, 0
}

// getSegments reads n segments, which the caller has seen p to hold, into t.
func getSegments(t []Segment, n int, p []byte) []Segment {
	if n > cap(t) {
		t = make([]Segment, n)
	}
	t = t[:n]
	for i := range t {
		if len(p) < segmentSize {
			break // cannot happen: tells the compiler what the caller knows
		}
		t[i] = Segment{
			Handle: be.Uint32(p),
			Length: be.Uint32(p[4:]),
			Offset: be.Uint64(p[8:]),
		}
		p = p[segmentSize:]
	}
	return t
}

// CheckHeader returns the length of the header at the front of b if Decode
// would accept it.
func CheckHeader(b []byte) (int, error) {
	if len(b) < fixedSize {
		return 0, fail(Short, len(b))
	}
	off := fixedSize
	switch Proc(be.Uint32(b[12:])) {
	case Msg, NoMsg:
	case MsgP:
		off += 8
	case Done:
		return off, nil
	case ErrorProc:
		var h Header
		return h.decodeError(b)
	default:
		return 0, fail(BadEnum, 12)
	}
	if len(b) < off {
		return 0, fail(Short, len(b))
	}
	left, f := checkLists(b[off:])
	if f != 0 {
		return 0, fail(f, len(b)-left)
	}
	return len(b) - left, nil
}

func checkLists(p []byte) (left int, f Fault) {
	if len(p) < 4 {
		return len(p), Short
	}
	flag := be.Uint32(p)
	p = p[4:]
	for flag == 1 {
		if len(p) < readSize+4 {
			return len(p), Short
		}
		flag = be.Uint32(p[20:])
		p = p[24:]
	}
	if flag != 0 {
		return len(p) + 4, BadBool
	}
	if len(p) < 4 {
		return len(p), Short
	}
	flag = be.Uint32(p)
	p = p[4:]
	for flag == 1 {
		if len(p) < 8 {
			return len(p), Short
		}
		n := int(be.Uint32(p))
		if uint(n) > uint(len(p)-8)/segmentSize {
			return len(p), Short
		}
		p = p[4+n*segmentSize:]
		if len(p) < 4 {
			return len(p), Short
		}
		flag = be.Uint32(p)
		p = p[4:]
	}
	if flag != 0 {
		return len(p) + 4, BadBool
	}
	if len(p) < 4 {
		return len(p), Short
	}
	flag = be.Uint32(p)
	p = p[4:]
	if flag == 0 {
		return len(p), 0
	}
	if flag != 1 {
		return len(p) + 4, BadBool
	}
	if len(p) < 4 {
		return len(p), Short
	}
	n := int(be.Uint32(p))
	if uint(n) > uint(len(p)-4)/segmentSize {
		return len(p), Short
	}
	return len(p) - 4 - n*segmentSize, 0
}
