package crc

import (
	"encoding/hex"
	"hash/crc32"
	"math/bits"
	"math/rand/v2"
	"strings"
	"testing"
)

func TestPoly(t *testing.T) {
	if got := bits.Reverse32(Poly); got != reversed {
		t.Errorf("Poly reversed is %#x, the constant is %#x", got, reversed)
	}
	// "The standard ethernet polynomial with a left-right reversal": over 33
	// bits, which hash/crc32 writes reflected over 32.
	ethernet := 1<<32 | uint64(bits.Reverse32(crc32.IEEE))
	if got := bits.Reverse64(ethernet) >> 31; got != 1<<32|Poly {
		t.Errorf("Ethernet's generator backwards is %#x, Poly is %#x", got, 1<<32|uint64(Poly))
	}
}

// The segments of one small connection: Send, Write, Read_Request and
// Read_Response, each with its CRC as the last four octets. They were worked
// out by hand and by another program.
var segments = []struct{ name, hex string }{
	{"Send", "010c0025 0123456789abcdef 00000010 00000000 00000000 48656c6c6f2c2052444d412121 000000 18c563e0"},
	{"Write", "010d0026 0123456789abcdef 00000011 00000000 cafe0001 00001000 00000006 deadbeef0102 0000 177be853"},
	{"Read_Request", "010e0020 0123456789abcdef 00000012 00000000 cafe0002 00000020 00000008 d0a46a98"},
	{"Read_Response", "010f0020 0123456789abcdef 00000012 ffff0000 00000000 8081828384858687 2559ef79"},
}

func TestSegments(t *testing.T) {
	for _, s := range segments {
		b, err := hex.DecodeString(strings.ReplaceAll(s.hex, " ", ""))
		if err != nil {
			t.Fatal(err)
		}
		covered, field := b[:len(b)-Size], b[len(b)-Size:]
		if got, want := Checksum(covered), Get(field); got != want {
			t.Errorf("%s: %#08x, want %#08x", s.name, got, want)
		}
		if got := bitwise(covered); got != Get(field) {
			t.Errorf("%s: division gives %#08x, want %#08x", s.name, got, Get(field))
		}
		if got := Checksum(b); got != Residue {
			t.Errorf("%s with its CRC: %#08x, want Residue %#08x", s.name, got, uint32(Residue))
		}
		var put [Size]byte
		if Put(put[:], Checksum(covered)); string(put[:]) != string(field) {
			t.Errorf("%s: Put writes % x, want % x", s.name, put, field)
		}
	}
}

func TestValues(t *testing.T) {
	for _, c := range []struct {
		in   string
		want uint32
	}{
		{"", 0},
		{"123456789", 0xe07e661e},
	} {
		if got := Checksum([]byte(c.in)); got != c.want {
			t.Errorf("Checksum(%q) = %#08x, want %#08x", c.in, got, c.want)
		}
		if got := bitwise([]byte(c.in)); got != c.want {
			t.Errorf("division of %q gives %#08x, want %#08x", c.in, got, c.want)
		}
	}
}

// The register values that other descriptions of this CRC state: what is left
// after a segment and its CRC, in both orders of its bits.
func TestResidue(t *testing.T) {
	if got := ^uint32(Residue); got != 0x46af6449 || bits.Reverse32(got) != 0x9226f562 {
		t.Errorf("register %#08x, reversed %#08x", got, bits.Reverse32(got))
	}
}

// random returns n octets that depend on seed only.
func random(seed uint64, n int) []byte {
	var s [32]byte
	s[0], s[1] = byte(seed), byte(seed>>8)
	b := make([]byte, n)
	rand.NewChaCha8(s).Read(b)
	return b
}

// Every length up to 600 at every alignment to 16, so that all combinations of
// loops and tails are met, and some longer ones.
func TestLengthsAndAlignments(t *testing.T) {
	b := random(1, 1<<17)
	for n := range 600 {
		want := bitwise(b[64 : 64+n])
		for shift := range 16 {
			// The same octets at another address.
			moved := append(make([]byte, 0, 1024)[:shift], b[64:64+n]...)[shift:]
			if got := Checksum(moved); got != want {
				t.Fatalf("%d octets at %d: %#08x, want %#08x", n, shift, got, want)
			}
		}
	}
	for _, n := range []int{1023, 1024, 1460, 4096, 65500, 65535, 65536, 1<<17 - 3} {
		if got, want := Checksum(b[3:][:n]), bitwise(b[3:][:n]); got != want {
			t.Errorf("%d octets: %#08x, want %#08x", n, got, want)
		}
	}
}

func TestSplits(t *testing.T) {
	b := random(2, 5000)
	want := bitwise(b)
	r := rand.New(rand.NewPCG(1, 2))
	for range 500 {
		var crc uint32
		for rest := b; len(rest) > 0; {
			n := min(len(rest), r.IntN(1<<r.IntN(12)+1))
			crc = Update(crc, rest[:n])
			rest = rest[n:]
		}
		if crc != want {
			t.Fatalf("in pieces: %#08x, want %#08x", crc, want)
		}
	}
}

func TestAllocations(t *testing.T) {
	b := random(3, 4099)
	if n := testing.AllocsPerRun(100, func() { Update(1, b) }); n != 0 {
		t.Errorf("%v allocations, want none", n)
	}
}
