package rdmatcp_test

import (
	"encoding/binary"
	"encoding/hex"
	"hash/crc32"
	"math/bits"
	"testing"

	"github.com/rpcrdma/rpcrdma/internal/rdmatcp/crc"
	"github.com/rpcrdma/rpcrdma/internal/rdmatcp/segment"
)

// draft-williams-rdmatcp-00 §3.4, CRC-32: one reading of "exactly that used for the ethernet CRC"
// is accepted, and all others are refused (R356). The segments are
//
//	01 0c 001d | CID | 00000010 | 0000 00 00 | 00000000 | 'crc32' | 000000
//
// with the CRCs of other readings, and segments with likely mistakes.
func TestVectorsCRC(t *testing.T) {
	const text = "01 0c 001d | CID | 00000010 | 0000 00 00 | 00000000 | 'crc32' | 000000 "
	p := vectorPeer{t: t}
	whole := p.assemble(text)
	little := func(v uint32) string { return hex.EncodeToString(binary.LittleEndian.AppendUint32(nil, v)) }
	right := divide(whole, rdmaPolynomial)
	big := func(v uint32) string { return hex.EncodeToString(binary.BigEndian.AppendUint32(nil, v)) }

	all := []vector{{
		name: "little-endian register, padding inside", recvs: []int{8}, wire: []string{text + little(right)},
		wcs: []wc{recv(5)}, memory: []placed{{recvAt, "'crc32'"}},
	}}
	for name, field := range map[string]string{
		"big-endian register":                little(bits.ReverseBytes32(right)),
		"zero":                               "00000000",
		"all ones":                           "ffffffff",
		"without the last complement":        little(^right),
		"without the first complement":       little(^divideFrom(0, whole, rdmaPolynomial)),
		"neither complement":                 little(divideFrom(0, whole, rdmaPolynomial)),
		"bits of the register reversed":      little(bits.Reverse32(right)),
		"Ethernet's own polynomial":          little(crc32.ChecksumIEEE(whole)),
		"Ethernet's own, big-endian":         big(crc32.ChecksumIEEE(whole)),
		"Castagnoli's":                       little(crc32.Checksum(whole, crc32.MakeTable(crc32.Castagnoli))),
		"0xdb710641 taken for reversed":      little(divide(whole, 0xdb710641)),
		"register not reflected":             big(^forward(whole)),
		"without the padding":                little(divide(whole[:29], rdmaPolynomial)),
		"of the payload":                     little(divide(whole[24:29], rdmaPolynomial)),
		"without the version":                little(divide(whole[1:], rdmaPolynomial)),
		"of the header":                      little(divide(whole[:24], rdmaPolynomial)),
		"a bit of the field":                 little(right ^ 1<<17),
		"with the CRC field counted as zero": little(divide(append(whole[:32:32], 0, 0, 0, 0), rdmaPolynomial)),
	} {
		all = append(all, vector{name: name, recvs: []int{8}, wire: []string{text + field}, refused: segment.BadCRC, says: "§3.4 CRC-32"})
	}
	all = append(all, []vector{
		// A Write of no bytes, with the CRC of another offset.
		{name: "reference, Write", refused: segment.BadCRC, wire: []string{
			"01 0d 0020 | CID | 00000010 | 0000 00 00 | 00000000 | 00000000 | 00000000 | CRC",
			"01 0d 0022 | CID | 00000011 | 0000 00 00 | KEY | 00001000 | 00000002 | 'no' 0000 | 177be853",
		}},
		{name: "bit of a reserved byte", recvs: []int{8}, refused: segment.BadCRC, wire: []string{flip(&p, 18, text+"CRC")}},
		{name: "bit of the order", recvs: []int{8}, refused: segment.BadCRC, wire: []string{flip(&p, 16, text+"CRC")}},
		{name: "bit of the payload", recvs: []int{8}, refused: segment.BadCRC, wire: []string{flip(&p, 26, text+"CRC")}},
		{name: "bit of the padding", recvs: []int{8}, refused: segment.BadCRC, wire: []string{flip(&p, 30, text+"CRC")}},
		{name: "bit of control data", recvs: []int{8}, refused: segment.BadCRC, wire: []string{
			flip(&p, 25, "01 0c 0020 | CID | 00000010 | 0000 00 01 | 00000000 | 'CTRL' | 'data' | CRC"),
		}},
		{name: "each segment has its own", recvs: []int{16}, refused: segment.BadCRC, wire: []string{
			"01 08 001c | CID | 00000010 | 0000 00 00 | 00000000 | 'good' | CRC",
			"01 04 001c | CID | 00000010 | 0000 00 00 | 00000004 | 'evil' | " + little(divide(p.assemble(
				"01 08 001c | CID | 00000010 | 0000 00 00 | 00000000 | 'good' | CRC 01 04 001c | CID | 00000010 | 0000 00 00 | 00000004 | 'evil'"), rdmaPolynomial)),
		}, memory: []placed{{recvAt, "'good'"}}},
		{name: "first of two segments", recvs: []int{16}, refused: segment.BadCRC, wire: []string{
			"01 08 001c | CID | 00000010 | 0000 00 00 | 00000000 | 'evil' | 12345678",
			"01 04 001c | CID | 00000010 | 0000 00 00 | 00000004 | 'good' | CRC",
		}},
		{name: "of a Write, not placed", refused: segment.BadCRC, wire: []string{
			"01 0d 0024 | CID | 00000010 | 0000 00 00 | KEY | 00000000 | 00000004 | 'evil' | 12345678",
		}},
		{name: "of a Read_Request, not answered", refused: segment.BadCRC, wire: []string{
			"01 0e 0020 | CID | 00000010 | 0000 00 00 | KEY | 00000000 | 00000004 | 12345678",
		}},
		{name: "of a Read_Response, not completed", reads: []int{4}, refused: segment.BadCRC, wire: []string{
			"01 0f 001c | CID | R0 | ffff 00 00 | 00000000 | 'evil' | 12345678",
		}},
		{name: "of a long Send, not delivered", recvs: []int{0x8000}, refused: segment.BadCRC, wire: []string{
			// The content of the target is undefined; a5 hides whether it was changed.
			"01 0c 7018 | CID | 00000010 | 0000 00 00 | 00000000 | a5*28672 | 12345678",
		}},
	}...)
	runVectors(t, all)
}

// flip changes the lowest bit of a byte in a segment.
func flip(p *vectorPeer, at int, text string) string {
	b := p.assemble(text)
	b[at] ^= 1
	return hex.EncodeToString(b)
}

// divideFrom is divide with another initial register, and without the final complement.
func divideFrom(r uint32, b []byte, polynomial uint32) uint32 {
	for _, v := range b {
		r ^= uint32(v)
		for range 8 {
			r = r>>1 ^ -(r&1)&polynomial
		}
	}
	return r
}

// forward divides with each octet's most significant bit first.
func forward(b []byte) uint32 {
	r := ^uint32(0)
	for _, v := range b {
		r ^= uint32(v) << 24
		for range 8 {
			r = r<<1 ^ -(r>>31)&0xdb710641
		}
	}
	return r
}

// The segments of docs/rdmatcp.md, the check value, and the remainder of a segment with its CRC.
func TestKnownCRCs(t *testing.T) {
	for _, tc := range []struct {
		of   string
		want string
	}{
		{"'123456789'", "1e667ee0"},
		{"01 0c 0025 | CID | 00000010 | 0000 00 00 | 00000000 | 'Hello, RDMA!!' | 000000", "18c563e0"},
		{"01 0d 0026 | CID | 00000011 | 0000 00 00 | cafe0001 | 00001000 | 00000006 | deadbeef0102 | 0000", "177be853"},
		{"01 0e 0020 | CID | 00000012 | 0000 00 00 | cafe0002 | 00000020 | 00000008", "d0a46a98"},
		{"01 0f 0020 | CID | 00000012 | ffff 00 00 | 00000000 | 8081828384858687", "2559ef79"},
	} {
		p := vectorPeer{t: t}
		b := p.assemble(tc.of)
		var field [4]byte
		crc.Put(field[:], crc.Checksum(b))
		if got := hex.EncodeToString(field[:]); got != tc.want {
			t.Errorf("%s: CRC %s, want %s", tc.of, got, tc.want)
		}
		if own := divide(b, rdmaPolynomial); own != crc.Checksum(b) {
			t.Errorf("%s: divided bit by bit %08x, package crc has %08x", tc.of, own, crc.Checksum(b))
		}
		// The constant is the register before its complement.
		if left := crc.Checksum(append(b, field[:]...)); left != ^uint32(0x46af6449) {
			t.Errorf("%s: CRC over segment and CRC is %08x", tc.of, left)
		}
	}
}
