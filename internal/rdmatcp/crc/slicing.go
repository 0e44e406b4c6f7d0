package crc

import "encoding/binary"

// tables[k][b] is the content of a register that held zero, after octet b and k zero
// octets. It is written only when the package is initialized.
var tables = newTables()

// newTables returns the tables. It takes some 4 µs, so it runs at initialization.
func newTables() *[16][256]uint32 {
	t := new([16][256]uint32)
	// Octets with one bit set are computed by division; the others are their sums.
	for bit, r := 128, uint32(1); bit > 0; bit >>= 1 {
		r = r>>1 ^ reversed&-(r&1)
		t[0][bit] = r
	}
	for b := range t[0] {
		t[0][b] = t[0][b&(b-1)] ^ t[0][b&-b]
	}
	for k := 1; k < len(t); k++ {
		for b, r := range t[k-1] {
			t[k][b] = r>>8 ^ t[0][byte(r)]
		}
	}
	return t
}

// slicing returns the register r, the complement of a CRC, after the octets of p.
func slicing(r uint32, p []byte) uint32 {
	t := tables
	for ; len(p) >= 16; p = p[16:] {
		a := binary.LittleEndian.Uint64(p) ^ uint64(r)
		b := binary.LittleEndian.Uint64(p[8:])
		r = t[15][byte(a)] ^ t[14][byte(a>>8)] ^ t[13][byte(a>>16)] ^ t[12][byte(a>>24)] ^
			t[11][byte(a>>32)] ^ t[10][byte(a>>40)] ^ t[9][byte(a>>48)] ^ t[8][a>>56] ^
			t[7][byte(b)] ^ t[6][byte(b>>8)] ^ t[5][byte(b>>16)] ^ t[4][byte(b>>24)] ^
			t[3][byte(b>>32)] ^ t[2][byte(b>>40)] ^ t[1][byte(b>>48)] ^ t[0][b>>56]
	}
	if len(p) >= 8 {
		a := binary.LittleEndian.Uint64(p) ^ uint64(r)
		r = t[7][byte(a)] ^ t[6][byte(a>>8)] ^ t[5][byte(a>>16)] ^ t[4][byte(a>>24)] ^
			t[3][byte(a>>32)] ^ t[2][byte(a>>40)] ^ t[1][byte(a>>48)] ^ t[0][a>>56]
		p = p[8:]
	}
	if len(p) >= 4 {
		a := binary.LittleEndian.Uint32(p) ^ r
		r = t[3][byte(a)] ^ t[2][byte(a>>8)] ^ t[1][byte(a>>16)] ^ t[0][a>>24]
		p = p[4:]
	}
	for _, b := range p {
		r = r>>8 ^ t[0][byte(r)^b]
	}
	return r
}
