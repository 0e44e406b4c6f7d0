package crc

import (
	"encoding/hex"
	"hash/crc32"
	"math/rand/v2"
	"strings"
	"testing"
)

func TestGeneratorIsEthernetsBackwards(t *testing.T) {
	if got := reverse32(Poly); got != reversed {
		t.Errorf("Poly reversed is %#x, the constant is %#x", got, uint32(reversed))
	}
	// "The standard ethernet polynomial with a left-right reversal": over 33
	// bits, which hash/crc32 writes reflected over 32.
	ethernet := 1<<32 | uint64(reverse32(crc32.IEEE))
	if got := reverse33(ethernet); got != 1<<32|Poly {
		t.Errorf("Ethernet's generator backwards is %#x, Poly is %#x", got, uint64(1<<32|Poly))
	}
}

// The segments of a small connection: Send, Write, Read_Request and Read_Response, each with its
// CRC as the last four octets. They were computed by hand and by another program.
var segments = []struct{ name, hex string }{
	{"Send", "010c0025 0123456789abcdef 00000010 00000000 00000000 48656c6c6f2c2052444d412121 000000 18c563e0"},
	{"Write", "010d0026 0123456789abcdef 00000011 00000000 cafe0001 00001000 00000006 deadbeef0102 0000 177be853"},
	{"Read_Request", "010e0020 0123456789abcdef 00000012 00000000 cafe0002 00000020 00000008 d0a46a98"},
	{"Read_Response", "010f0020 0123456789abcdef 00000012 ffff0000 00000000 8081828384858687 2559ef79"},
}

func TestSegmentsHaveTheirCRC(t *testing.T) {
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

func TestChecksumHasKnownValues(t *testing.T) {
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

// The register values that other descriptions of this CRC give: those after a segment and its
// CRC, in both orders of the bits.
func TestRegistersAreThoseOfOtherDescriptions(t *testing.T) {
	if got := ^uint32(Residue); got != 0x46af6449 || reverse32(got) != 0x9226f562 {
		t.Errorf("register %#08x, reversed %#08x", got, reverse32(got))
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

func TestChecksumAllocatesNothing(t *testing.T) {
	b := random(3, 4099)
	if n := testing.AllocsPerRun(100, func() { Update(1, b) }); n != 0 {
		t.Errorf("%v allocations, want none", n)
	}
}
