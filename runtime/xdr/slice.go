package xdr

import (
	"encoding/binary"
	"slices"
)

// Resize gives s n elements, in its old memory where that suffices.
// Elements keep what they held, so that their own slices are used again; the
// caller sets every field. size is the memory of an element in bytes, off
// the offset for a message about the budget. For generated code.
func Resize[S ~[]T, T any](d *Decoder, s *S, n, size, off int) error {
	if n <= cap(*s) {
		*s = (*s)[:n] // stores the length alone
		return nil
	}
	return enlarge(d, s, n, size, off)
}

func enlarge[S ~[]T, T any](d *Decoder, s *S, n, size, off int) error {
	old := (*s)[:cap(*s)]
	if err := d.charge(n, size, off); err != nil {
		return err
	}
	*s = slices.Grow(old, n-len(old))[:n]
	return nil
}

// Extend gives s room for more elements than it has room for, and returns all
// of it. For generated code: lists, whose length is not known beforehand.
func Extend[S ~[]T, T any](d *Decoder, s *S, size, off int) (S, error) {
	had := cap(*s)
	return extend(d, s, max(had, 4-had), size, off)
}

// ExtendFixed is Extend for lists whose elements have one size on the wire: the
// words that lead on are counted, from the element in b at off, which has step
// bytes with the word behind it. For generated code.
func ExtendFixed[S ~[]T, T any](d *Decoder, s *S, size int, b []byte, off, step int) (S, error) {
	// Doubling at least, as a lenient decoder goes on at words that are not 1.
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

// extend gives s room for more elements, or as many as the budget has left.
func extend[S ~[]T, T any](d *Decoder, s *S, more, size, off int) (S, error) {
	if fit := d.left() / uint64(max(size, 1)); fit < uint64(more) {
		more = max(1, int(fit))
	}
	if err := d.charge(more, size, off); err != nil {
		return nil, err
	}
	t := make(S, cap(*s)+more)
	copy(t, (*s)[:cap(*s)])
	*s = t
	return t, nil
}

// Arm sees that *p, an arm of a union that is held by pointer, has memory. What it
// has it keeps; the caller sets every field. size is its memory in bytes, charged
// to the budget where it is new. For generated code.
func Arm[T any](d *Decoder, p **T, size, off int) error {
	if *p != nil {
		return nil
	}
	return newArm(d, p, size, off)
}

func newArm[T any](d *Decoder, p **T, size, off int) error {
	if err := d.charge(1, size, off); err != nil {
		return err
	}
	*p = new(T)
	return nil
}

// slab is memory for values of one type.
type slab interface{ rewind() }

// typedSlab gives out values of one type, again and again after rewind.
type typedSlab[T any] struct {
	values []*T
	used   int
}

func (s *typedSlab[T]) rewind() { s.used = 0 }

func (s *typedSlab[T]) next() *T {
	if s.used == len(s.values) {
		s.values = append(s.values, new(T))
	}
	s.used++
	return s.values[s.used-1]
}

// New returns a *T for a decoded value, from the Decoder's slab for that
// type. In aliasing mode the memory is used again after Reset, and keeps the
// capacity of its slices; in copying mode it belongs to the value. size is
// its memory in bytes, charged to the budget. For generated code.
func New[T any](d *Decoder, size, off int) (*T, error) {
	if err := d.charge(1, size, off); err != nil {
		return nil, err
	}
	if !d.alias {
		return new(T), nil
	}
	d.used = true
	for _, s := range d.slabs {
		if s, ok := s.(*typedSlab[T]); ok {
			return s.next(), nil
		}
	}
	s := new(typedSlab[T])
	d.slabs = append(d.slabs, s)
	return s.next(), nil
}
