package gss

// window is the server's memory of a context's sequence numbers: the highest one, and which of the
// size numbers up to it were seen (RFC 2203 §5.3.3.1).
type window struct {
	size uint32
	last uint32   // the highest, if there is any
	seen []uint64 // a bit for each number modulo size
	any  bool
}

func newWindow(size int) window {
	return window{size: uint32(size), seen: make([]uint64, (size+63)/64)}
}

// take reports whether a number is new, and remembers it.
func (w *window) take(seq uint32) bool {
	switch {
	case !w.any || seq > w.last:
		if !w.any || seq-w.last >= w.size {
			clear(w.seen)
		} else {
			for s := w.last + 1; s != seq; s++ {
				w.seen[s%w.size/64] &^= 1 << (s % w.size % 64)
			}
		}
		w.any, w.last = true, seq
	case w.last-seq >= w.size || w.seen[seq%w.size/64]&(1<<(seq%w.size%64)) != 0:
		return false
	}
	w.seen[seq%w.size/64] |= 1 << (seq % w.size % 64)
	return true
}
