package admission_test

import (
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/admission"
)

// The connections that are unused come in the order in which they were used last, however many
// there are, and those in use do not.
func TestLongestUnusedComesFirst(t *testing.T) {
	start := time.Unix(1000, 0)
	conns, looks := map[int]time.Time{}, 0
	u := admission.Unused[int]{Since: func(c int) (time.Time, bool) {
		looks++
		at := conns[c]
		return at, !at.IsZero()
	}}
	const n = 1000
	for i := range n {
		conns[i] = start.Add(time.Duration(i) * time.Second)
	}
	conns[5], conns[8] = time.Time{}, time.Time{} // in use
	var got []int
	now := start.Add(2 * n * time.Second)
	for range n {
		c, ok := u.Longest(maps.Keys(conns), now)
		if !ok {
			break
		}
		if len(got) == 10 { // one is used again, another is in use
			conns[20], conns[21] = start.Add(n*time.Second), time.Time{}
		}
		got = append(got, c)
		delete(conns, c)
		u.Forget(c)
	}
	want := []int{}
	for i := range n {
		if !slices.Contains([]int{5, 8, 20, 21}, i) {
			want = append(want, i)
		}
	}
	if want = append(want, 20); !slices.Equal(got, want) {
		t.Errorf("found %v\nwant  %v", got, want)
	}
	if looks > 20*n {
		t.Errorf("%d connections were looked at for %d answers", looks, len(got))
	}
	looks = 0
	conns = map[int]time.Time{1: {}, 2: {}}
	for range 100 {
		if c, ok := u.Longest(maps.Keys(conns), now); ok {
			t.Errorf("found %d, which is in use", c)
		}
	}
	if looks > 4 {
		t.Errorf("%d looks at two connections in use at one time", looks)
	}
	conns[2] = start
	if c, ok := u.Longest(maps.Keys(conns), now.Add(time.Second)); !ok || c != 2 {
		t.Errorf("a second later: found %d, %v", c, ok)
	}
}

// A connection that is unused for an instant makes no room.
func TestUnusedForAnInstant(t *testing.T) {
	start := time.Unix(1000, 0)
	for _, tt := range []struct {
		unused time.Duration
		found  bool
	}{{0, false}, {admission.LeastUnused - 1, false}, {admission.LeastUnused, true}, {time.Hour, true}} {
		u := admission.Unused[int]{Since: func(int) (time.Time, bool) { return start, true }}
		if _, ok := u.Longest(slices.Values([]int{1}), start.Add(tt.unused)); ok != tt.found {
			t.Errorf("unused for %v: found: %v, want %v", tt.unused, ok, tt.found)
		}
	}
}

// A connection that is unused for the limit is expired, and the next look comes when the next one
// may be, but not often.
func TestUnusedConnectionsExpire(t *testing.T) {
	start := time.Unix(1000, 0)
	for _, tt := range []struct {
		name    string
		unused  []time.Duration // for how long; negative: in use
		expired []int
		next    time.Duration
	}{
		{"none", nil, nil, 16 * time.Second},
		{"in use", []time.Duration{-1}, nil, 16 * time.Second},
		{"not yet", []time.Duration{10 * time.Second, 12 * time.Second}, nil, 4 * time.Second},
		{"now", []time.Duration{16 * time.Second, -1, 17 * time.Second, 9 * time.Second}, []int{0, 2}, 7 * time.Second},
		{"soon", []time.Duration{16*time.Second - 1}, nil, time.Second},
	} {
		u := admission.Unused[int]{Since: func(c int) (time.Time, bool) { return start.Add(-tt.unused[c]), tt.unused[c] >= 0 }}
		all := func(yield func(int) bool) {
			for c := range tt.unused {
				if !yield(c) {
					return
				}
			}
		}
		expired, next := u.Expired(all, 16*time.Second, start)
		if !slices.Equal(expired, tt.expired) || next != tt.next {
			t.Errorf("%s: found %v, next in %v, want %v, %v", tt.name, expired, next, tt.expired, tt.next)
		}
	}
}
