package shapes

import (
	"bytes"

	"github.com/rpcrdma/rpcrdma/bench/codec/hand"
)

// What a decoder may have to carry along beside (b, off): a mode, a budget, and
// a place for the fault.

type carried struct {
	copying bool
	arena   []byte
	budget  int
	fault   hand.Fault
	at      int
}

// sampleBytes are the bytes of names and handles in message d, which a check
// could have counted.
const sampleBytes = 128*28 + 8*16*(8+23)/2

// bytes takes an opaque as the mode says.
func (c *carried) bytes(v []byte) []byte {
	if !c.copying {
		return v
	}
	n := len(c.arena)
	c.arena = append(c.arena, v...)
	return c.arena[n:len(c.arena):len(c.arena)]
}

func (c *carried) fail(f hand.Fault, off int) int {
	c.fault, c.at = f, off
	return -1
}

func threadedDecoders() []Shape {
	s := func(name string, run func([]byte) (int, error)) Shape {
		return Shape{"d", "decode", name, run}
	}
	var alias, copies, fresh hand.Dirplus
	var c, keep carried
	return []Shape{
		s("(d, b, off), mode and budget in d, aliasing", func(b []byte) (int, error) {
			c = carried{budget: 1 << 20}
			return dirThreaded(&alias, &c, b)
		}),
		s("(d, b, off), copying into a kept arena", func(b []byte) (int, error) {
			keep = carried{budget: 1 << 20, copying: true, arena: keep.arena[:0]}
			return dirThreaded(&copies, &keep, b)
		}),
		s("clone b once, then alias the clone", func(b []byte) (int, error) {
			c = carried{budget: 1 << 20}
			return dirThreaded(&fresh, &c, bytes.Clone(b))
		}),
		s("check first, then copy into a new arena that fits", func(b []byte) (int, error) {
			if _, err := hand.CheckDirplus(b); err != nil {
				return 0, err
			}
			c = carried{budget: 1 << 20, copying: true, arena: make([]byte, 0, sampleBytes)}
			return dirThreaded(&fresh, &c, b)
		}),
		s("(d, b, off), copying into a new arena of len(b)", func(b []byte) (int, error) {
			c = carried{budget: 1 << 20, copying: true, arena: make([]byte, 0, len(b))}
			return dirThreaded(&fresh, &c, b)
		}),
		s("(b, off) with error results", func(b []byte) (int, error) { return dirErrors(&alias, b) }),
	}
}

func dirThreaded(v *hand.Dirplus, c *carried, b []byte) (int, error) {
	off := dirBody(v, c, b)
	if off < 0 {
		return 0, &hand.Error{Fault: c.fault, Offset: c.at}
	}
	return off, nil
}

func dirBody(v *hand.Dirplus, c *carried, b []byte) int {
	if len(b) < 8 {
		return c.fail(hand.Short, 0)
	}
	v.Status = hand.Status(be.Uint32(b))
	off := attrThreaded(&v.DirAttr, c, b, 4)
	if off < 0 {
		return off
	}
	if len(b)-off < 12 {
		return c.fail(hand.Short, off)
	}
	w := b[off : off+12 : off+12]
	v.Verifier = [8]byte(w)
	flag := be.Uint32(w[8:])
	off += 12
	entries := v.Entries[:0]
	for flag == 1 {
		if len(entries) < cap(entries) {
			entries = entries[:len(entries)+1]
		} else {
			entries = append(entries, hand.Entry{})
		}
		if c.budget -= 176; c.budget < 0 {
			return c.fail(hand.TooLong, off)
		}
		if off = entryThreaded(&entries[len(entries)-1], c, b, off); off < 0 {
			return off
		}
		if len(b)-off < 4 {
			return c.fail(hand.Short, off)
		}
		flag = be.Uint32(b[off : off+4 : off+4])
		off += 4
	}
	v.Entries = entries
	if flag != 0 {
		return c.fail(hand.BadBool, off-4)
	}
	if len(b)-off < 4 {
		return c.fail(hand.Short, off)
	}
	eof := be.Uint32(b[off : off+4 : off+4])
	if eof > 1 {
		return c.fail(hand.BadBool, off)
	}
	v.EOF = eof == 1
	return off + 4
}

func entryThreaded(e *hand.Entry, c *carried, b []byte, off int) int {
	if len(b)-off < 8 {
		return c.fail(hand.Short, off)
	}
	e.ID = be.Uint64(b[off : off+8 : off+8])
	name, off := bytesAt(b, off+8, hand.NameMax)
	if off < 0 {
		return c.fail(hand.Short, off)
	}
	e.Name = c.bytes(name)
	if len(b)-off < 8 {
		return c.fail(hand.Short, off)
	}
	e.Cookie = be.Uint64(b[off : off+8 : off+8])
	if off = attrThreaded(&e.Attr, c, b, off+8); off < 0 {
		return off
	}
	if len(b)-off < 4 {
		return c.fail(hand.Short, off)
	}
	if e.HasHandle = be.Uint32(b[off:off+4:off+4]) == 1; !e.HasHandle {
		return c.fail(hand.BadBool, off)
	}
	handle, off := bytesAt(b, off+4, hand.HandleMax)
	if off < 0 {
		return c.fail(hand.Short, off)
	}
	e.Handle = c.bytes(handle)
	return off
}

func attrThreaded(a *hand.OptAttr, c *carried, b []byte, off int) int {
	next := attrOffset(a, b, off)
	if next < 0 {
		return c.fail(hand.Short, off)
	}
	return next
}

func dirErrors(v *hand.Dirplus, b []byte) (int, error) {
	if len(b) < 8 {
		return 0, errShort
	}
	v.Status = hand.Status(be.Uint32(b))
	off, err := attrError(&v.DirAttr, b, 4)
	if err != nil {
		return 0, err
	}
	if len(b)-off < 12 {
		return 0, errShort
	}
	flag := be.Uint32(b[off+8:])
	off += 12
	entries := v.Entries[:0]
	for flag == 1 {
		if len(entries) < cap(entries) {
			entries = entries[:len(entries)+1]
		} else {
			entries = append(entries, hand.Entry{})
		}
		if off, err = entryError(&entries[len(entries)-1], b, off); err != nil {
			return 0, err
		}
		if len(b)-off < 4 {
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

func entryError(e *hand.Entry, b []byte, off int) (int, error) {
	if len(b)-off < 8 {
		return 0, errShort
	}
	e.ID = be.Uint64(b[off : off+8 : off+8])
	var err error
	if e.Name, off, err = bytesError(b, off+8, hand.NameMax); err != nil {
		return 0, err
	}
	if len(b)-off < 8 {
		return 0, errShort
	}
	e.Cookie = be.Uint64(b[off : off+8 : off+8])
	if off, err = attrError(&e.Attr, b, off+8); err != nil {
		return 0, err
	}
	if len(b)-off < 4 {
		return 0, errShort
	}
	if e.HasHandle = be.Uint32(b[off:off+4:off+4]) == 1; !e.HasHandle {
		return 0, errFlag
	}
	e.Handle, off, err = bytesError(b, off+4, hand.HandleMax)
	return off, err
}

func bytesError(b []byte, off int, limit uint) ([]byte, int, error) {
	v, off := bytesAt(b, off, limit)
	if off < 0 {
		return nil, 0, errShort
	}
	return v, off, nil
}

func attrError(a *hand.OptAttr, b []byte, off int) (int, error) {
	next := attrOffset(a, b, off)
	if next < 0 {
		return 0, errShort
	}
	return next, nil
}
