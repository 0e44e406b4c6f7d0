package admission_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"net/netip"
	"testing"

	"github.com/rpcrdma/rpcrdma/internal/admission"
)

// at returns the source of the i-th address.
func at(i int) admission.Source {
	return admission.SourceAt(netip.AddrFrom4([4]byte{192, 0, 2, byte(i)}))
}

// greedy takes as much as a source may have, and returns it.
func greedy(s *admission.Share) int {
	n := s.Left()
	if !s.Take(n, nil) {
		return 0
	}
	return n
}

// A source alone has half of the limit M at most, and otherwise x bytes with (T - x)² >= 2 x M,
// where others have not taken T. With a reserve, M is the other half of the Budget.
func TestSourceTakesLessTheMoreOthersHave(t *testing.T) {
	for _, tt := range []struct{ others, most int }{
		{0, 500_000}, {1, 267_948}, {100_000, 226_679}, {500_000, 85_786}, {900_000, 4554}, {999_000, 0}, {1_000_000, 0},
	} {
		for _, reply := range []int{0, 100} {
			t.Run(fmt.Sprint(tt, reply), func(t *testing.T) {
				b := admission.Budget{Most: 1_000_000, Reply: reply}
				if reply > 0 {
					b.Most *= 2
				}
				if !b.Take(tt.others) {
					t.Fatal("not taken")
				}
				s := b.Join(at(1))
				if left := s.Left(); left != tt.most || s.Take(tt.most+1, nil) || !s.Take(tt.most, nil) || tt.most > 0 && s.Left() != 0 {
					t.Errorf("%d bytes are left to the source, want %d exactly", left, tt.most)
				}
				if used := b.Used(); used != int64(tt.others+tt.most) {
					t.Errorf("%d bytes are used", used)
				}
				s.Give(tt.most)
				if used := b.Used(); used != int64(tt.others) {
					t.Errorf("%d bytes are used after all was given back", used)
				}
			})
		}
	}
}

// R309: n greedy sources leave at least 2/(n+3) of the Budget, and a further one gets the
// part 2/(n+4)²: if they come one after the other, and if they take and give back at random.
func TestGreedySourcesLeaveMemoryToOthers(t *testing.T) {
	const most = 1 << 28
	rng := rand.New(rand.NewPCG(1, 2))
	for _, random := range []bool{false, true} {
		b := admission.Budget{Most: most}
		var shares []*admission.Share
		var has []int
		for n := 1; n <= 200; n++ {
			shares, has = append(shares, b.Join(at(n))), append(has, 0)
			has[n-1] = greedy(shares[n-1])
			for range 20 {
				if i := rng.IntN(n); random {
					give := rng.IntN(has[i] + 1)
					shares[i].Give(give)
					has[i] -= give
					i = rng.IntN(n)
					has[i] += greedy(shares[i])
				}
			}
			left, next := b.Left(), b.Join(at(250))
			if left < most/(n+3)*2 {
				t.Fatalf("%d sources leave %d bytes, want %d (random: %t)", n, left, most/(n+3)*2, random)
			}
			if want := most / (n + 4) / (n + 4) * 2; next.Left() < want {
				t.Fatalf("a source after %d others may have %d bytes, want %d (random: %t)", n, next.Left(), want, random)
			}
			next.Leave()
		}
		for i, s := range shares {
			s.Give(has[i])
			s.Leave()
		}
		if b.Used() != 0 {
			t.Errorf("%d bytes are used after all was given back", b.Used())
		}
	}
}

// Connections of one source have one share until the last one leaves. A connection from this
// machine shares with no other.
func TestConnectionsOfASourceShareItsPart(t *testing.T) {
	network := func(host string) admission.Source { return admission.SourceAt(netip.MustParseAddr(host)) }
	for _, tt := range []struct {
		name       string
		one, other admission.Source
		together   bool
	}{
		{"an address of IPv4", at(1), at(1), true},
		{"two addresses of IPv4", at(1), at(2), false},
		{"the same in IPv6", network("192.0.2.1"), network("::ffff:192.0.2.1"), true},
		{"a network of IPv6", network("2001:db8::1"), network("2001:db8::2:2:2:2"), true},
		{"two networks of IPv6", network("2001:db8::1"), network("2001:db8:0:1::1"), false},
		{"this machine", network("127.0.0.1"), network("127.0.0.1"), false},
		{"this machine by its own address", admission.SourceOf("192.0.2.1:1", "192.0.2.1:2"), admission.SourceOf("192.0.2.1:1", "192.0.2.1:3"), false},
		{"no address", admission.SourceOf("", "pipe"), admission.SourceOf("", "pipe"), false},
	} {
		b := admission.Budget{Most: 1 << 20}
		one, gone := b.Join(tt.one), b.Join(tt.one)
		n := greedy(one)
		gone.Leave()
		other := b.Join(tt.other)
		if left := other.Left(); (left == 0) != tt.together {
			t.Errorf("%s: another connection may take %d bytes", tt.name, left)
		}
		one.Give(n)
		one.Leave()
		if left := other.Left(); left != n {
			t.Errorf("%s: another connection may take %d bytes at last, want %d", tt.name, left, n)
		}
		other.Leave()
		if fresh := b.Join(tt.one); fresh == one && !tt.one.Local {
			t.Errorf("%s: the share of a source without connections is kept", tt.name)
		}
	}
}

// Without a limit, nothing is refused.
func TestShareWithoutALimit(t *testing.T) {
	var b admission.Budget
	s := b.Join(at(1))
	if s.Never(math.MaxInt32) || !s.Take(math.MaxInt32, nil) || !s.Take(math.MaxInt32, nil) || s.Left() < math.MaxInt32 {
		t.Errorf("%d bytes are left", s.Left())
	}
	b.Most = 1000
	if s.Never(500) || !s.Never(501) {
		t.Error("a source may have half of the Budget, and never more")
	}
}

// A source has more than an even part if another one could not have as much.
func TestExcessiveSources(t *testing.T) {
	b := admission.Budget{Most: 1000}
	one, other := b.Join(at(1)), b.Join(at(2))
	one.Take(500, nil)
	if one.Excessive() {
		t.Error("half is not too much")
	}
	other.Take(80, nil)
	if !one.Excessive() || other.Excessive() {
		t.Errorf("one of 500 bytes: %t, one of 80: %t; a third is 333", one.Excessive(), other.Excessive())
	}
	if other.Give(80); one.Excessive() {
		t.Error("another source has nothing any more, and counts")
	}
	one.Give(499)
	if one.Excessive() || other.Excessive() {
		t.Error("almost nothing is taken")
	}
	one.Give(1)
}
