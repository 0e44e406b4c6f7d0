package engine

import (
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
)

// The table has the contents of a map to which the same was done.
func TestCallsAreAMap(t *testing.T) {
	var c calls
	want := map[uint32]*pending{}
	rng := rand.New(rand.NewPCG(1, 2))
	full := 0
	for range 20_000 {
		xid := rng.Uint32N(400) * 0x10001
		p := c.get(xid)
		if p != want[xid] {
			t.Fatalf("XID %#x: got %p, want %p", xid, p, want[xid])
		}
		if p == nil {
			p = &pending{xid: xid}
			c.add(p)
			want[xid] = p
		} else if rng.Uint32N(4) > 0 {
			c.remove(p)
			delete(want, xid)
		}
		if c.n != len(want) {
			t.Fatalf("%d Calls, want %d", c.n, len(want))
		}
		full = max(full, c.n)
	}
	var got []uint32
	for _, p := range c.sorted() {
		got = append(got, p.xid)
	}
	if xids := slices.Sorted(maps.Keys(want)); !slices.Equal(got, xids) {
		t.Fatalf("got %v, want %v", got, xids)
	}
	if full < 100 {
		t.Fatalf("at most %d Calls at a time, want more", full)
	}
}

// XIDs that increase by any power of 2 spread over the buckets.
func TestCallsSpread(t *testing.T) {
	const n = 256
	for shift := range 24 {
		var c calls
		for i := range uint32(n) {
			c.add(&pending{xid: 7 + i<<shift})
		}
		longest := 0
		for _, p := range c.buckets {
			length := 0
			for ; p != nil; p = p.next {
				length++
			}
			longest = max(longest, length)
		}
		if longest > 5 {
			t.Errorf("step %d: a list of %d Calls in %d buckets, want at most 5", 1<<shift, longest, len(c.buckets))
		}
	}
}
