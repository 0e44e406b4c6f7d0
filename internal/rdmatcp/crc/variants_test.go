package crc

import (
	"math/rand/v2"
	"testing"
)

// A variant is one way to compute the CRC, with the complements of Update.
type variant struct {
	name   string
	update func(crc uint32, p []byte) uint32
}

// variants returns Update and the variants that it chooses from, as far as this processor has
// them.
func variants() []variant {
	all := []variant{
		{"Update", Update},
		{"slicing", func(crc uint32, p []byte) uint32 { return ^slicing(^crc, p) }},
	}
	for _, f := range folds() {
		all = append(all, variant{f.name, func(crc uint32, p []byte) uint32 {
			r, whole := ^crc, len(p)&^15
			if whole > 0 {
				r = f.update(r, p[:whole])
			}
			return ^slicing(r, p[whole:])
		}})
	}
	return all
}

// Every length up to 600 at every alignment up to 32, for all combinations of loops and tails,
// and some longer ones.
func TestLengthsAndAlignments(t *testing.T) {
	for _, v := range variants() {
		t.Logf("with %s", v.name)
	}
	b := random(1, 1<<17)
	room := make([]byte, 1024)
	for n := range 600 {
		want := bitwise(b[64 : 64+n])
		for shift := range 32 {
			moved := room[shift:][:n]
			copy(moved, b[64:])
			for _, v := range variants() {
				if got := v.update(0, moved); got != want {
					t.Fatalf("%s: %d octets at %d: %#08x, want %#08x", v.name, n, shift, got, want)
				}
			}
		}
	}
	for _, n := range []int{1023, 1024, 1460, 4096, 65500, 65535, 65536, 1<<17 - 3} {
		want := bitwise(b[3:][:n])
		for _, v := range variants() {
			if got := v.update(0, b[3:][:n]); got != want {
				t.Errorf("%s: %d octets: %#08x, want %#08x", v.name, n, got, want)
			}
		}
	}
}

func TestChecksumOfPartsIsTheWholes(t *testing.T) {
	b := random(2, 5000)
	want := bitwise(b)
	r := rand.New(rand.NewPCG(1, 2))
	for _, v := range variants() {
		for range 300 {
			var crc uint32
			for rest := b; len(rest) > 0; {
				n := min(len(rest), r.IntN(1<<r.IntN(12)+1))
				crc = v.update(crc, rest[:n])
				rest = rest[n:]
			}
			if crc != want {
				t.Fatalf("%s: in pieces: %#08x, want %#08x", v.name, crc, want)
			}
		}
	}
}

// A CRC detects every error of one bit: no octet is omitted or used twice.
func TestEveryBit(t *testing.T) {
	b := random(4, 1024+37)
	for _, v := range variants() {
		want := v.update(0, b)
		for i := range len(b) * 8 {
			b[i/8] ^= 1 << (i % 8)
			if v.update(0, b) == want {
				t.Errorf("%s: bit %d of octet %d is not covered", v.name, i%8, i/8)
			}
			b[i/8] ^= 1 << (i % 8)
		}
	}
}

func FuzzUpdate(f *testing.F) {
	f.Add(uint32(0), []byte("123456789"), uint16(4))
	f.Add(uint32(1), random(6, 300), uint16(17))
	f.Add(^uint32(0), make([]byte, 1500), uint16(1025))
	f.Fuzz(func(t *testing.T, crc uint32, p []byte, cut uint16) {
		want := bitwiseUpdate(crc, p)
		n := min(int(cut), len(p))
		for _, v := range variants() {
			if got := v.update(crc, p); got != want {
				t.Errorf("%s(%#x, %d octets) = %#08x, want %#08x", v.name, crc, len(p), got, want)
			}
			if got := v.update(v.update(crc, p[:n]), p[n:]); got != want {
				t.Errorf("%s(%#x, %d octets, cut at %d) = %#08x, want %#08x", v.name, crc, len(p), n, got, want)
			}
		}
	})
}
