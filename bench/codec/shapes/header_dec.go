package shapes

import "github.com/rpcrdma/rpcrdma/bench/codec/hand"

func headerDecoders(message string) []Shape {
	s := func(name string, run func([]byte) (int, error)) Shape {
		return Shape{message, "decode", name, run}
	}
	var hands, offset, resliced, indexed, windows, perTypes, nexts, peels, words hand.Header
	var d decoder
	var p peeler
	return []Shape{
		s("hand (offset cursor, append a literal, all arms)", hands.Decode),
		s("the same, one arm, one function", func(b []byte) (int, error) { return offsetCursor(&offset, b) }),
		s("reslice, append a literal", func(b []byte) (int, error) { return resliceLists(&resliced, b) }),
		s("reslice, grow the slice and fill fields", func(b []byte) (int, error) { return growAndFill(&indexed, b) }),
		s("reslice, count links first, fill after", func(b []byte) (int, error) { return twoPasses(&windows, b) }),
		s("reslice, a function a type (p) per element", func(b []byte) (int, error) { return elementCalls(&perTypes, b) }),
		s("Decoder in memory, d.next(n), offset", func(b []byte) (int, error) {
			d = decoder{b: b}
			return nextOffset(&nexts, &d)
		}),
		s("Decoder in memory, d.next(n), rest as slice", func(b []byte) (int, error) {
			p = peeler{b}
			err := nextSlice(&peels, &p)
			return len(b) - len(p.p), err
		}),
		s("Decoder in memory, a call a word, sticky error", func(b []byte) (int, error) {
			d = decoder{b: b}
			return decoderWord(&words, &d)
		}),
	}
}

func getHead(h *hand.Header, p []byte) {
	h.XID = be.Uint32(p)
	h.Vers = be.Uint32(p[4:])
	h.Credit = be.Uint32(p[8:])
	h.Proc = hand.Proc(be.Uint32(p[12:]))
}

func offsetCursor(h *hand.Header, b []byte) (int, error) {
	if len(b) < 20 {
		return 0, errShort
	}
	w := b[:20:20]
	getHead(h, w)
	if h.Proc != hand.Msg {
		return 0, errEnum
	}
	flag := be.Uint32(w[16:])
	off := 20
	reads := h.Lists.Reads[:0]
	for flag == 1 {
		if len(b)-off < 24 {
			return 0, errShort
		}
		w := b[off : off+24 : off+24]
		reads = append(reads, hand.ReadChunk{Position: be.Uint32(w), Target: hand.Segment{
			Handle: be.Uint32(w[4:]), Length: be.Uint32(w[8:]), Offset: be.Uint64(w[12:]),
		}})
		flag = be.Uint32(w[20:])
		off += 24
	}
	h.Lists.Reads = reads
	if flag != 0 {
		return 0, errFlag
	}
	if len(b)-off < 4 {
		return 0, errShort
	}
	flag = be.Uint32(b[off : off+4 : off+4])
	off += 4
	writes := h.Lists.Writes[:0]
	for flag == 1 {
		if len(b)-off < 8 {
			return 0, errShort
		}
		n := int(be.Uint32(b[off : off+4 : off+4]))
		off += 4
		if uint(n) > uint(len(b)-off-4)/16 {
			return 0, errShort
		}
		var c *hand.WriteChunk
		writes, c = nextWrite(writes)
		t := c.Target
		if n > cap(t) {
			t = make([]hand.Segment, n)
		}
		t = t[:n]
		for i := range t {
			w := b[off : off+16 : off+16]
			t[i] = hand.Segment{Handle: be.Uint32(w), Length: be.Uint32(w[4:]), Offset: be.Uint64(w[8:])}
			off += 16
		}
		c.Target = t
		flag = be.Uint32(b[off : off+4 : off+4])
		off += 4
	}
	h.Lists.Writes = writes
	if flag != 0 {
		return 0, errFlag
	}
	if len(b)-off < 4 {
		return 0, errShort
	}
	if be.Uint32(b[off:off+4:off+4]) != 0 {
		return 0, errFlag // the samples have no reply chunk
	}
	h.Lists.HasReply = false
	return off + 4, nil
}

func nextWrite(writes []hand.WriteChunk) ([]hand.WriteChunk, *hand.WriteChunk) {
	if len(writes) < cap(writes) {
		writes = writes[:len(writes)+1]
	} else {
		writes = append(writes, hand.WriteChunk{})
	}
	return writes, &writes[len(writes)-1]
}

// start reads the head and the first flag; finish what follows the read list.
func start(h *hand.Header, p []byte) (flag uint32, rest []byte, err error) {
	if len(p) < 20 {
		return 0, p, errShort
	}
	getHead(h, p)
	if h.Proc != hand.Msg {
		return 0, p, errEnum
	}
	return be.Uint32(p[16:]), p[20:], nil
}

func finish(l *hand.ChunkLists, flag uint32, p []byte) (left int, err error) {
	if flag != 0 {
		return 0, errFlag
	}
	if len(p) < 4 {
		return 0, errShort
	}
	flag = be.Uint32(p)
	p = p[4:]
	writes := l.Writes[:0]
	for flag == 1 {
		if len(p) < 8 {
			return 0, errShort
		}
		n := int(be.Uint32(p))
		if uint(n) > uint(len(p)-8)/16 {
			return 0, errShort
		}
		var c *hand.WriteChunk
		writes, c = nextWrite(writes)
		t := c.Target
		if n > cap(t) {
			t = make([]hand.Segment, n)
		}
		t = t[:n]
		p = p[4:]
		for i := range t {
			if len(p) < 20 {
				return 0, errShort
			}
			t[i] = hand.Segment{Handle: be.Uint32(p), Length: be.Uint32(p[4:]), Offset: be.Uint64(p[8:])}
			p = p[16:]
		}
		c.Target = t
		flag = be.Uint32(p)
		p = p[4:]
	}
	l.Writes = writes
	if flag != 0 {
		return 0, errFlag
	}
	if len(p) < 4 {
		return 0, errShort
	}
	if be.Uint32(p) != 0 {
		return 0, errFlag
	}
	l.HasReply = false
	return len(p) - 4, nil
}

func resliceLists(h *hand.Header, b []byte) (int, error) {
	flag, p, err := start(h, b)
	if err != nil {
		return 0, err
	}
	return decodeLists(&h.Lists, flag, p, b)
}

func growAndFill(h *hand.Header, b []byte) (int, error) {
	flag, p, err := start(h, b)
	if err != nil {
		return 0, err
	}
	reads := h.Lists.Reads[:0]
	for flag == 1 {
		if len(p) < 24 {
			return 0, errShort
		}
		if len(reads) < cap(reads) {
			reads = reads[:len(reads)+1]
		} else {
			reads = append(reads, hand.ReadChunk{})
		}
		r := &reads[len(reads)-1]
		r.Position = be.Uint32(p)
		r.Target.Handle = be.Uint32(p[4:])
		r.Target.Length = be.Uint32(p[8:])
		r.Target.Offset = be.Uint64(p[12:])
		flag = be.Uint32(p[20:])
		p = p[24:]
	}
	h.Lists.Reads = reads
	left, err := finish(&h.Lists, flag, p)
	return len(b) - left, err
}

func twoPasses(h *hand.Header, b []byte) (int, error) {
	flag, p, err := start(h, b)
	if err != nil {
		return 0, err
	}
	n := 0
	for q := p; flag == 1; n++ {
		if len(q) < 24 {
			return 0, errShort
		}
		flag = be.Uint32(q[20:])
		q = q[24:]
	}
	reads := h.Lists.Reads
	if n > cap(reads) {
		reads = make([]hand.ReadChunk, n)
	}
	reads = reads[:n]
	for i := range reads {
		if len(p) < 24 {
			return 0, errShort
		}
		reads[i] = hand.ReadChunk{Position: be.Uint32(p), Target: hand.Segment{
			Handle: be.Uint32(p[4:]), Length: be.Uint32(p[8:]), Offset: be.Uint64(p[12:]),
		}}
		p = p[24:]
	}
	h.Lists.Reads = reads
	left, err := finish(&h.Lists, flag, p)
	return len(b) - left, err
}

func elementCalls(h *hand.Header, b []byte) (int, error) {
	flag, p, err := start(h, b)
	if err != nil {
		return 0, err
	}
	reads := h.Lists.Reads[:0]
	for flag == 1 {
		if len(reads) < cap(reads) {
			reads = reads[:len(reads)+1]
		} else {
			reads = append(reads, hand.ReadChunk{})
		}
		if p, err = decodeRead(&reads[len(reads)-1], p); err != nil {
			return 0, err
		}
		if len(p) < 4 {
			return 0, errShort
		}
		flag = be.Uint32(p)
		p = p[4:]
	}
	h.Lists.Reads = reads
	left, err := finish(&h.Lists, flag, p)
	return len(b) - left, err
}

//go:noinline
func decodeRead(r *hand.ReadChunk, p []byte) ([]byte, error) {
	if len(p) < 20 {
		return p, errShort
	}
	r.Position = be.Uint32(p)
	r.Target.Handle = be.Uint32(p[4:])
	r.Target.Length = be.Uint32(p[8:])
	r.Target.Offset = be.Uint64(p[12:])
	return p[20:], nil
}
