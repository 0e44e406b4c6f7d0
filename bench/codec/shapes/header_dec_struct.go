package shapes

import "github.com/rpcrdma/rpcrdma/bench/codec/hand"

// nextOffset keeps buffer and offset in memory, nextSlice the rest of the
// buffer; both take a window a run.
func nextOffset(h *hand.Header, d *decoder) (int, error) {
	w := d.next(20)
	if w == nil {
		return 0, errShort
	}
	getHead(h, w)
	if h.Proc != hand.Msg {
		return 0, errEnum
	}
	flag := be.Uint32(w[16:])
	reads := h.Lists.Reads[:0]
	for flag == 1 {
		w := d.next(24)
		if w == nil {
			return 0, errShort
		}
		reads = append(reads, hand.ReadChunk{Position: be.Uint32(w), Target: hand.Segment{
			Handle: be.Uint32(w[4:]), Length: be.Uint32(w[8:]), Offset: be.Uint64(w[12:]),
		}})
		flag = be.Uint32(w[20:])
	}
	h.Lists.Reads = reads
	if flag != 0 {
		return 0, errFlag
	}
	if w = d.next(4); w == nil {
		return 0, errShort
	}
	flag = be.Uint32(w)
	writes := h.Lists.Writes[:0]
	for flag == 1 {
		w := d.next(4)
		if w == nil {
			return 0, errShort
		}
		n := int(be.Uint32(w))
		if uint(n) > uint(len(d.b)-d.off)/16 {
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
			w := d.next(16)
			if w == nil {
				return 0, errShort
			}
			t[i] = hand.Segment{Handle: be.Uint32(w), Length: be.Uint32(w[4:]), Offset: be.Uint64(w[8:])}
		}
		c.Target = t
		if w = d.next(4); w == nil {
			return 0, errShort
		}
		flag = be.Uint32(w)
	}
	h.Lists.Writes = writes
	if flag != 0 {
		return 0, errFlag
	}
	if w = d.next(4); w == nil {
		return 0, errShort
	}
	if be.Uint32(w) != 0 {
		return 0, errFlag
	}
	h.Lists.HasReply = false
	return d.off, nil
}

func nextSlice(h *hand.Header, d *peeler) error {
	w := d.next(20)
	if w == nil {
		return errShort
	}
	getHead(h, w)
	if h.Proc != hand.Msg {
		return errEnum
	}
	flag := be.Uint32(w[16:])
	reads := h.Lists.Reads[:0]
	for flag == 1 {
		w := d.next(24)
		if w == nil {
			return errShort
		}
		reads = append(reads, hand.ReadChunk{Position: be.Uint32(w), Target: hand.Segment{
			Handle: be.Uint32(w[4:]), Length: be.Uint32(w[8:]), Offset: be.Uint64(w[12:]),
		}})
		flag = be.Uint32(w[20:])
	}
	h.Lists.Reads = reads
	left, err := finish(&h.Lists, flag, d.p)
	d.p = d.p[len(d.p)-left:]
	return err
}

func decoderWord(h *hand.Header, d *decoder) (int, error) {
	h.XID = d.uint32()
	h.Vers = d.uint32()
	h.Credit = d.uint32()
	h.Proc = hand.Proc(d.uint32())
	if h.Proc != hand.Msg {
		return 0, errEnum
	}
	reads := h.Lists.Reads[:0]
	flag := d.uint32()
	for flag == 1 {
		reads = append(reads, hand.ReadChunk{Position: d.uint32(), Target: hand.Segment{
			Handle: d.uint32(), Length: d.uint32(), Offset: d.uint64(),
		}})
		flag = d.uint32()
	}
	h.Lists.Reads = reads
	if flag != 0 {
		return 0, errFlag
	}
	writes := h.Lists.Writes[:0]
	for flag = d.uint32(); flag == 1; flag = d.uint32() {
		n := int(d.uint32())
		if uint(n) > uint(len(d.b)-d.off)/16 {
			return 0, errShort
		}
		var c *hand.WriteChunk
		writes, c = nextWrite(writes)
		c.Target = c.Target[:0]
		for range n {
			c.Target = append(c.Target, hand.Segment{Handle: d.uint32(), Length: d.uint32(), Offset: d.uint64()})
		}
	}
	h.Lists.Writes = writes
	if flag != 0 || d.uint32() != 0 {
		return 0, errFlag
	}
	h.Lists.HasReply = false
	return d.off, d.err
}
