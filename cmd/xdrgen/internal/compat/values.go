package compat

import (
	"math"
	"sort"

	"github.com/rpcrdma/rpcrdma/cmd/internal/ir"
)

// set is a set of numbers that a word on the wire may have.
type set struct {
	open      bool // all numbers from low to high, else those in list
	low, high int64
	list      map[int64]bool
}

// isWord reports whether a type is encoded as one word with a number (RFC 4506 §4.1 to
// §4.4).
func isWord(t *ir.Type) bool {
	switch t.Kind {
	case ir.Bool, ir.Int, ir.Uint:
		return true
	case ir.Ref:
		return t.Ref.Kind == ir.Enum
	}
	return false
}

// values returns the numbers that a word of type t may have.
func values(t *ir.Type) set {
	switch t.Kind {
	case ir.Bool:
		return set{list: map[int64]bool{0: true, 1: true}}
	case ir.Uint:
		return set{open: true, high: math.MaxUint32}
	case ir.Int:
		return set{open: true, low: math.MinInt32, high: math.MaxInt32}
	}
	if t.Ref.Open {
		return set{open: true, low: math.MinInt32, high: math.MaxInt32}
	}
	s := set{list: map[int64]bool{}}
	for _, m := range t.Ref.Members {
		s.list[int64(m.Value)] = true
	}
	return s
}

// domain returns the numbers that a union's discriminant may have.
func domain(u *ir.Decl) set { return values(u.Disc.Type.Underlying()) }

func (s set) has(v int64) bool {
	if s.open {
		return v >= s.low && v <= s.high
	}
	return s.list[v]
}

// within reports whether s is a subset of t.
func (s set) within(t set) bool {
	switch {
	case s.open:
		return t.open && t.low <= s.low && t.high >= s.high
	case !t.open && len(s.list) > len(t.list):
		return false
	}
	for v := range s.list {
		if !t.has(v) {
			return false
		}
	}
	return true
}

func (s set) equal(t set) bool { return s.within(t) && t.within(s) }

// labels returns, in order, the numbers of all cases and of all members of closed enum
// discriminants of two unions.
func labels(a, b *ir.Decl) []int64 {
	seen := map[int64]bool{}
	for _, u := range []*ir.Decl{a, b} {
		for _, arm := range u.Arms {
			for _, l := range arm.Labels {
				seen[l.Value.Int64()] = true
			}
		}
		for v := range domain(u).list {
			seen[v] = true
		}
	}
	out := make([]int64, 0, len(seen))
	for v := range seen {
		out = append(out, v)
	}
	sort.Slice(out, func(i, j int) bool { return out[i] < out[j] })
	return out
}
