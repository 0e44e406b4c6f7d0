package xdr

import "slices"

// Resize returns s with n elements, in its old memory where that suffices.
// Elements keep what they held, so that their own slices are used again; the
// caller sets every field. size is the memory of an element in bytes, off
// the offset for a message about the budget. For generated code.
func Resize[T any](d *Decoder, s []T, n, size, off int) ([]T, *Error) {
	if n <= cap(s) {
		return s[:n], nil
	}
	return enlarge(d, s, n, size, off)
}

func enlarge[T any](d *Decoder, s []T, n, size, off int) ([]T, *Error) {
	if err := d.charge(n, size, off); err != nil {
		return s, err
	}
	return slices.Grow(s[:cap(s)], n-cap(s))[:n], nil
}

// Extend returns s with room for at least one element more than it has. For
// generated code: lists, whose length is not known beforehand.
func Extend[T any](d *Decoder, s []T, size, off int) ([]T, *Error) {
	if len(s) < cap(s) {
		return s, nil
	}
	n := max(2*cap(s), 4)
	if err := d.charge(n-cap(s), size, off); err != nil {
		// A budget too small for spare elements may do for this one.
		n = cap(s) + 1
		if err := d.charge(1, size, off); err != nil {
			return s, err
		}
	}
	t := make([]T, len(s), n)
	copy(t, s)
	return t, nil
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
func New[T any](d *Decoder, size, off int) (*T, *Error) {
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
