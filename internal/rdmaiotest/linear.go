package rdmaiotest

import "math/bits"

// Swap is an operation on a register: it puts a value in and returns the one before.
type Swap struct {
	Begin, End int // times; no two are equal
	Put, Got   uint64
	Read       bool // it only reads
	Lost       bool // the reply was lost: it may have had its effect, or have it at any later time
}

// MaxSwaps is the largest number of operations in a history.
const MaxSwaps = 64

// Linearizable reports whether there is an order of the operations in which each takes effect at
// one moment between its begin and its end, and returns the value that the register has then
// (Herlihy and Wing, 1990). The register starts at 0. The search visits each pair of operations
// done and register value once.
func Linearizable(h []Swap) bool {
	type state struct {
		done  uint64 // operations that took effect
		value uint64
	}
	var must uint64
	for i := range h {
		if !h[i].Lost {
			must |= 1 << i
		}
	}
	seen := make(map[state]bool)
	var search func(s state) bool
	search = func(s state) bool {
		if s.done&must == must {
			return true
		}
		if seen[s] {
			return false
		}
		seen[s] = true
		first := int(^uint(0) >> 1) // the earliest end: no operation that begins after it is next
		for left := must &^ s.done; left != 0; left &= left - 1 {
			first = min(first, h[bits.TrailingZeros64(left)].End)
		}
		for i := range h {
			o := &h[i]
			if s.done>>i&1 != 0 || o.Begin > first || !o.Lost && o.Got != s.value {
				continue
			}
			next := state{s.done | 1<<i, o.Put}
			if o.Read {
				next.value = s.value
			}
			if search(next) {
				return true
			}
		}
		return false
	}
	return len(h) <= MaxSwaps && search(state{})
}
