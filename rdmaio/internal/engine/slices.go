package engine

// empty makes a slice empty, and keeps its memory. Most have one element, for which clear is slow.
func empty[T any](s *[]T) {
	switch len(*s) {
	case 0:
		return
	case 1:
		var zero T
		(*s)[0] = zero
	default:
		clear(*s)
	}
	*s = (*s)[:0]
}

// trim frees the memory of an empty slice.
func trim[T any](s *[]T) {
	if len(*s) == 0 {
		*s = nil
	}
}
