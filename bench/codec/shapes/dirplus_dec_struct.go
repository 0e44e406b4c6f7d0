package shapes

import "github.com/rpcrdma/rpcrdma/bench/codec/hand"

func dirDecodeNext(v *hand.Dirplus, d *decoder) (int, error) {
	w := d.next(4)
	if w == nil {
		return 0, errShort
	}
	v.Status = hand.Status(be.Uint32(w))
	if err := attrNext(&v.DirAttr, d); err != nil {
		return 0, err
	}
	if w = d.next(12); w == nil {
		return 0, errShort
	}
	copy(v.Verifier[:], w)
	flag := be.Uint32(w[8:])
	entries := v.Entries[:0]
	for flag == 1 {
		if len(entries) < cap(entries) {
			entries = entries[:len(entries)+1]
		} else {
			entries = append(entries, hand.Entry{})
		}
		if err := entryNext(&entries[len(entries)-1], d); err != nil {
			return 0, err
		}
		w := d.next(4)
		if w == nil {
			return 0, errShort
		}
		flag = be.Uint32(w)
	}
	v.Entries = entries
	if w = d.next(4); flag != 0 || w == nil {
		return 0, errFlag
	}
	v.EOF = be.Uint32(w) == 1
	return d.off, nil
}

func entryNext(e *hand.Entry, d *decoder) error {
	w := d.next(8)
	if w == nil {
		return errShort
	}
	e.ID = be.Uint64(w)
	if e.Name = bytesNext(d, hand.NameMax); e.Name == nil {
		return errShort
	}
	if w = d.next(8); w == nil {
		return errShort
	}
	e.Cookie = be.Uint64(w)
	if err := attrNext(&e.Attr, d); err != nil {
		return err
	}
	if w = d.next(4); w == nil {
		return errShort
	}
	if e.HasHandle = be.Uint32(w) == 1; !e.HasHandle {
		return errFlag
	}
	if e.Handle = bytesNext(d, hand.HandleMax); e.Handle == nil {
		return errShort
	}
	return nil
}

func bytesNext(d *decoder, limit uint32) []byte {
	w := d.next(4)
	if w == nil {
		return nil
	}
	size := be.Uint32(w)
	if size > limit {
		return nil
	}
	pad := -size & 3
	if w = d.next(int(size + pad)); w == nil {
		return nil
	}
	if pad != 0 && be.Uint32(w[len(w)-4:])&(1<<(8*pad)-1) != 0 {
		return nil
	}
	return w[:size:size]
}

func attrNext(a *hand.OptAttr, d *decoder) error {
	w := d.next(4)
	if w == nil {
		return errShort
	}
	if a.Present = be.Uint32(w) == 1; !a.Present {
		return errFlag
	}
	if w = d.next(84); w == nil {
		return errShort
	}
	t := &a.Attr
	t.Type = hand.FileType(be.Uint32(w))
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
	if t.Type-hand.File > hand.Pipe-hand.File {
		return errEnum
	}
	return nil
}

// dirPointers has its attributes behind pointers: lent from slab while it has
// room, else allocated.
type dirPointers struct {
	slab    []hand.OptAttr
	dirAttr *hand.OptAttr
	entries []pointerEntry
}

type pointerEntry struct {
	id, cookie   uint64
	name, handle []byte
	attr         *hand.OptAttr
}

func (v *dirPointers) attr(b []byte, off int) (*hand.OptAttr, int) {
	var a *hand.OptAttr
	if n := len(v.slab); n < cap(v.slab) {
		v.slab = v.slab[:n+1]
		a = &v.slab[n]
	} else {
		a = new(hand.OptAttr)
	}
	return a, attrOffset(a, b, off)
}

func (v *dirPointers) decode(b []byte) (int, error) {
	if len(b) < 8 {
		return 0, errShort
	}
	var off int
	if v.dirAttr, off = v.attr(b, 4); off < 0 || len(b)-off < 12 {
		return 0, errShort
	}
	flag := be.Uint32(b[off+8:])
	off += 12
	entries := v.entries[:0]
	for flag == 1 {
		entries = append(entries, pointerEntry{})
		e := &entries[len(entries)-1]
		if len(b)-off < 12 {
			return 0, errShort
		}
		e.id = be.Uint64(b[off : off+8 : off+8])
		if e.name, off = bytesAt(b, off+8, hand.NameMax); off < 0 || len(b)-off < 12 {
			return 0, errShort
		}
		e.cookie = be.Uint64(b[off : off+8 : off+8])
		if e.attr, off = v.attr(b, off+8); off < 0 || len(b)-off < 8 {
			return 0, errShort
		}
		if be.Uint32(b[off:off+4:off+4]) != 1 {
			return 0, errFlag
		}
		if e.handle, off = bytesAt(b, off+4, hand.HandleMax); off < 0 || len(b)-off < 4 {
			return 0, errShort
		}
		flag = be.Uint32(b[off : off+4 : off+4])
		off += 4
	}
	v.entries = entries
	if flag != 0 || len(b)-off < 4 {
		return 0, errFlag
	}
	return off + 4, nil
}
