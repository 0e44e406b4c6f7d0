package hand

import "slices"

// Opaque is one opaque<> and nothing else.
type Opaque struct {
	Data []byte
}

// padded is n rounded up to a multiple of four.
func padded(n int) int { return (n + 3) &^ 3 }

// Size returns the bytes o takes on the wire.
func (o *Opaque) Size() int { return 4 + padded(len(o.Data)) }

// EncodeInto writes o to the front of b and returns the bytes written.
func (o *Opaque) EncodeInto(b []byte) (int, error) {
	n := 4 + padded(len(o.Data))
	if uint64(len(o.Data)) > 1<<32-1 {
		return 0, fail(TooLong, 0)
	}
	if len(b) < n {
		return 0, fail(Short, 0)
	}
	w := b[:n:n]
	// The last word first: where there is no data it is the length itself.
	be.PutUint32(w[n-4:], 0)
	be.PutUint32(w, uint32(len(o.Data)))
	copy(w[4:], o.Data)
	return n, nil
}

// Append appends o to b, growing it at most once.
func (o *Opaque) Append(b []byte) ([]byte, error) {
	n := len(b)
	b = slices.Grow(b, o.Size())
	m, err := o.EncodeInto(b[n : n+o.Size()])
	return b[:n+m], err
}

// Decode makes o.Data alias the opaque at the front of b.
func (o *Opaque) Decode(b []byte) (int, error) {
	data, n, f := opaque(b)
	if f != 0 {
		return 0, fail(f, 0)
	}
	o.Data = data
	return n, nil
}

// DecodeCopy copies the opaque at the front of b into o.Data.
func (o *Opaque) DecodeCopy(b []byte) (int, error) {
	data, n, f := opaque(b)
	if f != 0 {
		return 0, fail(f, 0)
	}
	o.Data = append(o.Data[:0], data...)
	return n, nil
}

// CheckOpaque returns the length of the opaque at the front of b.
func CheckOpaque(b []byte) (int, error) {
	_, n, f := opaque(b)
	if f != 0 {
		return 0, fail(f, 0)
	}
	return n, nil
}

// opaque returns the bytes of the opaque at the front of p and its length with
// count and padding.
func opaque(p []byte) (data []byte, n int, f Fault) {
	if len(p) < 4 {
		return nil, 0, Short
	}
	size := uint64(be.Uint32(p))
	pad := -size & 3
	if size+pad > uint64(len(p)-4) {
		return nil, 0, Short
	}
	end := 4 + int(size+pad)
	// The last word holds the padding; without data it is the count, and the
	// mask is 0.
	if be.Uint32(p[end-4:end])&(1<<(8*pad)-1) != 0 {
		return nil, 0, BadPad
	}
	return p[4 : 4+size : 4+size], end, 0
}
