package rdmaio_test

import (
	"math/bits"
	"testing"
)

// linear looks for an order of operations on one register in which each has its effect at one moment between its begin and its end, and
// finds what it returned: a history is linearizable if there is one (Herlihy and Wing, 1990). The search is the
// usual one, over what has been ordered and the register's value, each pair visited once.

// swap is an operation: it puts a value into the register and returns the one before. A read puts nothing.
type swap struct {
	begin, end int // moments, no two the same
	put, got   uint64
	read       bool
	lost       bool // nobody knows whether it had, or will have, its effect, nor what it returned: it has no end
}

// mostOps is how many a history may have.
const mostOps = 64

// linear reports whether a history is linearizable; the register begins as 0.
func linear(h []swap) bool {
	type state struct {
		done  uint64 // operations that had their effect
		value uint64
	}
	var must uint64
	for i := range h {
		if !h[i].lost {
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
		first := int(^uint(0) >> 1) // the end that comes first: what begins behind it is not next
		for left := must &^ s.done; left != 0; left &= left - 1 {
			first = min(first, h[bits.TrailingZeros64(left)].end)
		}
		for i := range h {
			o := &h[i]
			if s.done>>i&1 != 0 || o.begin > first || !o.lost && o.got != s.value {
				continue
			}
			next := state{s.done | 1<<i, o.put}
			if o.read {
				next.value = s.value
			}
			if search(next) {
				return true
			}
		}
		return false
	}
	return len(h) <= mostOps && search(state{})
}

// The search's canary.
func TestLinearSees(t *testing.T) {
	for name, c := range map[string]struct {
		h    []swap
		want bool
	}{
		"nothing":                              {nil, true},
		"one after the other":                  {[]swap{{begin: 1, end: 2, put: 5}, {begin: 3, end: 4, put: 6, got: 5}}, true},
		"two at a time, the later first":       {[]swap{{begin: 1, end: 4, put: 5, got: 6}, {begin: 2, end: 3, put: 6}}, true},
		"the later first, one after the other": {[]swap{{begin: 1, end: 2, put: 5, got: 6}, {begin: 3, end: 4, put: 6}}, false},
		"a value from nowhere":                 {[]swap{{begin: 1, end: 2, put: 5, got: 7}}, false},
		"an old value":                         {[]swap{{begin: 1, end: 2, put: 5}, {begin: 3, end: 4, read: true}}, false},
		"executed twice":                       {[]swap{{begin: 1, end: 2, put: 5, got: 5}}, false},
		"executed again later":                 {[]swap{{begin: 1, end: 2, put: 5}, {begin: 3, end: 4, put: 6, got: 5}, {begin: 5, end: 6, read: true, got: 5}}, false},
		"two that both came first":             {[]swap{{begin: 1, end: 4, put: 5}, {begin: 2, end: 3, put: 6}}, false},
		"lost, and had its effect late":        {[]swap{{begin: 1, put: 5, lost: true}, {begin: 2, end: 3, read: true}, {begin: 4, end: 5, read: true, got: 5}}, true},
		"lost, and never had it":               {[]swap{{begin: 1, put: 5, lost: true}, {begin: 2, end: 3, read: true}}, true},
		"lost, and had it twice": {[]swap{
			{begin: 1, put: 5, lost: true}, {begin: 2, end: 3, read: true, got: 5}, {begin: 4, end: 5, put: 6, got: 5}, {begin: 6, end: 7, read: true, got: 5},
		}, false},
		"lost, and had it before it began": {[]swap{{begin: 1, end: 2, read: true, got: 5}, {begin: 3, put: 5, lost: true}}, false},
		"too many to say":                  {make([]swap, mostOps+1), false},
	} {
		if got := linear(c.h); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
