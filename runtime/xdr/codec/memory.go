package codec

import (
	"encoding/binary"
	"slices"

	"github.com/rpcrdma/rpcrdma/runtime/xdr"
)

const (
	defaultMemoryFactor = 64
	defaultMemoryBase   = 4096
)

// Amplify raises the default memory budget to rate bytes for each byte of the message, for
// types whose legal values may need that. It returns d.
func Amplify(d *xdr.Decoder, rate uint64) *xdr.Decoder {
	if rate > max(d.Rate, defaultMemoryFactor) {
		d.Rate, d.Used = rate, true
	}
	return d
}

// left returns how many bytes of the budget are left. It computes in 64 bits: on a 32-bit
// machine a product may not fit an int.
func left(d *xdr.Decoder) uint64 {
	all := (uint64(len(d.Buf))+d.Outside)*max(d.Rate, defaultMemoryFactor) + defaultMemoryBase
	if o := d.Rules.Options; o != nil && o.Limits.MaxMemory != 0 {
		all = uint64(limit(o.Limits.MaxMemory, 0))
	}
	return all - min(all, d.Charged)
}

// charge takes the memory for n values, size bytes each, from the budget.
func charge(d *xdr.Decoder, n, size, off int) error {
	left, want := left(d), uint64(n)*uint64(size)
	if want > left {
		return Fail(xdr.CodeMemory, off, want, left, "")
	}
	if o := d.Rules.Options; o != nil && o.Reserve != nil && !o.Reserve(int(want)) {
		return Fail(xdr.CodeMemory, off, want, 0, "")
	}
	d.Charged += want
	d.Used = true
	return nil
}

// In the following functions, size is the memory of a value in bytes, and off the offset for an
// error of the budget.

// Resize gives s n elements, in its old memory if they fit. Elements keep what they held, so
// that their own slices are reused; the caller sets every field.
func Resize[S ~[]T, T any](d *xdr.Decoder, s *S, n, size, off int) error {
	if n <= cap(*s) {
		*s = (*s)[:n] // stores only the length
		return nil
	}
	return enlarge(d, s, n, size, off)
}

func enlarge[S ~[]T, T any](d *xdr.Decoder, s *S, n, size, off int) error {
	old := (*s)[:cap(*s)]
	if err := charge(d, n, size, off); err != nil {
		return err
	}
	*s = slices.Grow(old, n-len(old))[:n]
	return nil
}

// Extend enlarges the capacity of s and returns s up to its capacity. It is for lists, whose
// length is not known beforehand.
func Extend[S ~[]T, T any](d *xdr.Decoder, s *S, size, off int) (S, error) {
	if off < 0 {
		return nil, unread
	}
	had := cap(*s)
	return extend(d, s, max(had, 4-had), size, off)
}

// ExtendFixed is [Extend] for a list whose elements take step bytes each, including the word
// that follows. It counts the elements that follow the one in b at off.
func ExtendFixed[S ~[]T, T any](d *xdr.Decoder, s *S, size int, b []byte, off, step int) (S, error) {
	if off < 0 {
		return nil, unread
	}
	// Double the capacity: links stops at a word other than 1, but a lenient decoder reads past it.
	return extend(d, s, max(cap(*s), links(b, off, step)), size, off)
}

// links counts the elements of a list from the one in b at off.
func links(b []byte, off, step int) int {
	n := 1
	for step <= len(b)-off && binary.BigEndian.Uint32(b[off+step-4:]) == 1 {
		n++
		off += step
	}
	return n
}

// extend gives s room for more elements, or for as many as the budget allows.
func extend[S ~[]T, T any](d *xdr.Decoder, s *S, more, size, off int) (S, error) {
	if fit := left(d) / uint64(max(size, 1)); fit < uint64(more) {
		more = max(1, int(fit))
	}
	if err := charge(d, more, size, off); err != nil {
		return nil, err
	}
	t := make(S, cap(*s)+more)
	copy(t, (*s)[:cap(*s)])
	*s = t
	return t, nil
}

// Arm allocates *p, an arm of a union that is held by pointer, unless it has memory already.
// The caller sets every field.
func Arm[T any](d *xdr.Decoder, p **T, size, off int) error {
	if *p != nil {
		return nil
	}
	return newArm(d, p, size, off)
}

func newArm[T any](d *xdr.Decoder, p **T, size, off int) error {
	if err := charge(d, 1, size, off); err != nil {
		return err
	}
	*p = new(T)
	return nil
}

// slab gives out values of one type, and the same ones after Rewind.
type slab[T any] struct {
	values []*T
	used   int
}

// Rewind makes all values available again.
func (s *slab[T]) Rewind() { s.used = 0 }

func (s *slab[T]) next() *T {
	if s.used == len(s.values) {
		s.values = append(s.values, new(T))
	}
	s.used++
	return s.values[s.used-1]
}

// New returns a *T for a part of a decoded value. In copying mode, the memory belongs to the
// value. In aliasing mode, it comes from the Decoder's slab for T: it is reused after Reset, and
// keeps the capacity of its slices.
func New[T any](d *xdr.Decoder, size, off int) (*T, error) {
	if err := charge(d, 1, size, off); err != nil {
		return nil, err
	}
	if !d.Alias {
		return new(T), nil
	}
	d.Used = true
	for _, s := range d.Slabs {
		if s, ok := s.(*slab[T]); ok {
			return s.next(), nil
		}
	}
	s := new(slab[T])
	d.Slabs = append(d.Slabs, s)
	return s.next(), nil
}
