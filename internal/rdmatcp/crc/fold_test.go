package crc

import (
	"hash/crc32"
	"math/bits"
	"testing"
)

// Polynomials up to x^63, not reflected: bit k is the coefficient of x^k. g omits x^32.

// power returns x^n mod G.
func power(n int, g uint32) uint32 {
	r := uint32(1)
	for range n {
		r = r<<1 ^ g&-(r>>31)
	}
	return r
}

// multiplier returns the factor that folds a 64-bit register m bits further.
func multiplier(m int, g uint32) uint64 {
	return uint64(reverse32(power(m-32, g))) << 1
}

// quotient returns x^64 / G, 33 bits.
func quotient(g uint32) uint64 {
	q, r := uint64(1), g // x^32 goes once, which leaves g·x^32
	for range 32 {
		q = q<<1 | uint64(r>>31)
		r = r<<1 ^ g&-(r>>31)
	}
	return q
}

// reverse32 puts the coefficient of x^31 into bit 0. It must not be inlined: with a constant, Go
// 1.26.8 for arm64 compares its result wrongly.
//
//go:noinline
func reverse32(p uint32) uint32 { return bits.Reverse32(p) }

// reverse33 puts the coefficient of x^32 into bit 0.
func reverse33(p uint64) uint64 { return bits.Reverse64(p) >> 31 }

func derive(g uint32) constants {
	return constants{
		by128:   [2]uint64{multiplier(1024+64, g), multiplier(1024, g)},
		by64:    [2]uint64{multiplier(512+64, g), multiplier(512, g)},
		by16:    [2]uint64{multiplier(128+64, g), multiplier(128, g)},
		reduce:  [2]uint64{multiplier(128, g), multiplier(96, g)},
		barrett: [2]uint64{reverse33(quotient(g)), reverse33(1<<32 | uint64(g))},
	}
}

func TestFoldingFollowsFromTheGenerator(t *testing.T) {
	if got := derive(Poly); got != folding {
		t.Errorf("folding is\n%#x, by arithmetic it is\n%#x", folding, got)
	}
}

// The same arithmetic gives the constants that are published for Ethernet's
// generator (Gopal et al., Intel, 2009).
func TestConstantsOfEthernet(t *testing.T) {
	derived := derive(reverse32(crc32.IEEE))
	want := constants{
		by128:   derived.by128, // not among them
		by64:    [2]uint64{0x154442bd4, 0x1c6e41596},
		by16:    [2]uint64{0x1751997d0, 0x0ccaa009e},
		reduce:  [2]uint64{0x0ccaa009e, 0x163cd6124},
		barrett: [2]uint64{0x1f7011641, 0x1db710641},
	}
	if derived != want {
		t.Errorf("got\n%#x, published\n%#x", derived, want)
	}
}
