package shapes

import "github.com/rpcrdma/rpcrdma/bench/codec/hand"

func dirplusDecoders() []Shape {
	s := func(name string, run func([]byte) (int, error)) Shape {
		return Shape{"d", "decode", name, run}
	}
	var hands, offset, nexts, literal hand.Dirplus
	var pointers dirPointers
	var d decoder
	return []Shape{
		s("hand (offset cursor, a function a type, fill in place)", hands.Decode),
		s("the same, entry by function value", func(b []byte) (int, error) {
			return dirWalk(&offset, b, entryOffset)
		}),
		s("offset cursor, attributes as a literal", func(b []byte) (int, error) {
			return dirWalk(&literal, b, entryLiteral)
		}),
		s("Decoder in memory, d.next(n) a run", func(b []byte) (int, error) {
			d = decoder{b: b}
			return dirDecodeNext(&nexts, &d)
		}),
		s("optional attributes as pointers, new each time", func(b []byte) (int, error) {
			pointers.slab = nil
			return pointers.decode(b)
		}),
		s("optional attributes as pointers into a slab", func(b []byte) (int, error) {
			if pointers.slab == nil {
				pointers.slab = make([]hand.OptAttr, 0, 129)
			}
			pointers.slab = pointers.slab[:0]
			return pointers.decode(b)
		}),
	}
}

// dirWalk decodes the frame of the message and gives each entry to entry.
func dirWalk(v *hand.Dirplus, b []byte, entry func(*hand.Entry, []byte, int) int) (int, error) {
	if len(b) < 8 {
		return 0, errShort
	}
	v.Status = hand.Status(be.Uint32(b))
	off := attrOffset(&v.DirAttr, b, 4)
	if off < 0 || len(b)-off < 12 {
		return 0, errShort
	}
	copy(v.Verifier[:], b[off:])
	flag := be.Uint32(b[off+8:])
	off += 12
	entries := v.Entries[:0]
	for flag == 1 {
		if len(entries) < cap(entries) {
			entries = entries[:len(entries)+1]
		} else {
			entries = append(entries, hand.Entry{})
		}
		off = entry(&entries[len(entries)-1], b, off)
		if off < 0 || len(b)-off < 4 {
			return 0, errShort
		}
		flag = be.Uint32(b[off : off+4 : off+4])
		off += 4
	}
	v.Entries = entries
	if flag != 0 || len(b)-off < 4 {
		return 0, errFlag
	}
	v.EOF = be.Uint32(b[off:off+4:off+4]) == 1
	return off + 4, nil
}

// bytesAt returns the opaque at off and the offset after it, negative when it
// is not well formed.
func bytesAt(b []byte, off int, limit uint) ([]byte, int) {
	if len(b)-off < 4 {
		return nil, -1
	}
	size := uint(be.Uint32(b[off : off+4 : off+4]))
	if size > limit {
		return nil, -1
	}
	pad := -size & 3
	end := off + 4 + int(size+pad)
	if end > len(b) {
		return nil, -1
	}
	w := b[off:end:end]
	if be.Uint32(w[len(w)-4:])&(1<<(8*pad)-1) != 0 {
		return nil, -1
	}
	return w[4 : 4+size : 4+size], end
}

func entryOffset(e *hand.Entry, b []byte, off int) int {
	if len(b)-off < 12 {
		return -1
	}
	e.ID = be.Uint64(b[off : off+8 : off+8])
	if e.Name, off = bytesAt(b, off+8, hand.NameMax); off < 0 || len(b)-off < 12 {
		return -1
	}
	e.Cookie = be.Uint64(b[off : off+8 : off+8])
	if off = attrOffset(&e.Attr, b, off+8); off < 0 || len(b)-off < 8 {
		return -1
	}
	if e.HasHandle = be.Uint32(b[off:off+4:off+4]) == 1; !e.HasHandle {
		return -1
	}
	e.Handle, off = bytesAt(b, off+4, hand.HandleMax)
	return off
}

func attrOffset(a *hand.OptAttr, b []byte, off int) int {
	if len(b)-off < 88 {
		return -1
	}
	w := b[off : off+88 : off+88]
	if a.Present = be.Uint32(w) == 1; !a.Present {
		return -1
	}
	t := &a.Attr
	t.Type = hand.FileType(be.Uint32(w[4:]))
	t.Mode = be.Uint32(w[8:])
	t.Links = be.Uint32(w[12:])
	t.Owner = be.Uint32(w[16:])
	t.Group = be.Uint32(w[20:])
	t.FileSize = be.Uint64(w[24:])
	t.Used = be.Uint64(w[32:])
	t.Device.Major = be.Uint32(w[40:])
	t.Device.Minor = be.Uint32(w[44:])
	t.Volume = be.Uint64(w[48:])
	t.ID = be.Uint64(w[56:])
	t.Accessed.Seconds = be.Uint32(w[64:])
	t.Accessed.Nanoseconds = be.Uint32(w[68:])
	t.Modified.Seconds = be.Uint32(w[72:])
	t.Modified.Nanoseconds = be.Uint32(w[76:])
	t.Changed.Seconds = be.Uint32(w[80:])
	t.Changed.Nanoseconds = be.Uint32(w[84:])
	if t.Type-hand.File > hand.Pipe-hand.File {
		return -1
	}
	return off + 88
}

func entryLiteral(e *hand.Entry, b []byte, off int) int {
	if len(b)-off < 12 {
		return -1
	}
	e.ID = be.Uint64(b[off : off+8 : off+8])
	if e.Name, off = bytesAt(b, off+8, hand.NameMax); off < 0 || len(b)-off < 104 {
		return -1
	}
	e.Cookie = be.Uint64(b[off : off+8 : off+8])
	w := b[off+8 : off+96 : off+96]
	if e.Attr.Present = be.Uint32(w) == 1; !e.Attr.Present {
		return -1
	}
	e.Attr.Attr = attrLiteral(w)
	if e.Attr.Attr.Type-hand.File > hand.Pipe-hand.File {
		return -1
	}
	off += 96
	if e.HasHandle = be.Uint32(b[off:off+4:off+4]) == 1; !e.HasHandle {
		return -1
	}
	e.Handle, off = bytesAt(b, off+4, hand.HandleMax)
	return off
}

func attrLiteral(w []byte) hand.Attr {
	_ = w[87]
	return hand.Attr{
		Type: hand.FileType(be.Uint32(w[4:])), Mode: be.Uint32(w[8:]), Links: be.Uint32(w[12:]),
		Owner: be.Uint32(w[16:]), Group: be.Uint32(w[20:]),
		FileSize: be.Uint64(w[24:]), Used: be.Uint64(w[32:]),
		Device: hand.Device{Major: be.Uint32(w[40:]), Minor: be.Uint32(w[44:])},
		Volume: be.Uint64(w[48:]), ID: be.Uint64(w[56:]),
		Accessed: hand.Time{Seconds: be.Uint32(w[64:]), Nanoseconds: be.Uint32(w[68:])},
		Modified: hand.Time{Seconds: be.Uint32(w[72:]), Nanoseconds: be.Uint32(w[76:])},
		Changed:  hand.Time{Seconds: be.Uint32(w[80:]), Nanoseconds: be.Uint32(w[84:])},
	}
}
