package codec

import (
	"math"
	"slices"

	"github.com/rpcrdma/rpcrdma/runtime/xdr"
)

// Reinserts reports whether an item may be out of line at the current place. d may be nil.
func Reinserts(d *xdr.Decoder) bool {
	return d != nil && len(d.Placed.Items) != 0 && !d.Placed.Within
}

// Within sets whether d reads the elements of an array that came out of line. Eligible items
// in them came with the array.
func Within(d *xdr.Decoder, on bool) { d.Placed.Within = on }

// Take returns the item of n bytes that belongs at offset off of the input, and reports whether
// it is out of line. If it is inline, d.Placed.Room is the memory for it, if there is any.
func Take(d *xdr.Decoder, s xdr.Site, off, n int) ([]byte, bool, *xdr.Error) {
	p := &d.Placed
	it := &p.Items[0]
	p.Room = nil
	switch {
	case !p.InOrder:
		if it.Position != p.Base+uint64(off)+p.Inserted || n == 0 {
			return nil, false, nil
		}
	case !slices.Contains(p.Sites, s):
		return nil, false, nil
	case it.Data == nil:
		p.Room = next(d)
		return nil, false, nil
	}
	// R53: the count in the stream and the chunk must agree. A peer of version 1
	// may have put the roundup bytes into the chunk (R70, R83).
	if len(it.Data) != n && len(it.Data) != xdr.Padded(n) {
		return nil, false, Fail(xdr.CodeChunk, off, uint64(len(it.Data)), uint64(n), "")
	}
	next(d)
	if p.InStream {
		return nil, false, nil
	}
	p.Inserted += uint64(xdr.Padded(n))
	return it.Data[:n:n], true, nil
}

// next drops the first item, and returns the memory for it.
func next(d *xdr.Decoder) (room []byte) {
	p := &d.Placed
	p.Items = p.Items[1:]
	if len(p.Memory) > 0 {
		room, p.Memory = p.Memory[0], p.Memory[1:]
	}
	return room
}

// TakeArray is [Take] for an array of n elements, of size bytes each, or of at least size bytes
// each if they are not fixed.
func TakeArray(d *xdr.Decoder, s xdr.Site, off int, n uint32, size int, fixed bool) ([]byte, bool, *xdr.Error) {
	p := &d.Placed
	want := uint64(n) * uint64(size)
	it := &p.Items[0]
	if got := uint64(len(it.Data)); !fixed && got > want {
		want = got
	}
	byPosition := !p.InOrder && !p.InStream
	if want > uint64(len(it.Data)) && byPosition && it.Position != p.Base+uint64(off)+p.Inserted {
		return nil, false, nil
	}
	if want > math.MaxInt32 {
		want = math.MaxInt32 // no item is as large: refused as a mismatch
	}
	return Take(d, s, off, int(want))
}
