package crc

import "encoding/binary"

const (
	// Size is the number of octets of a CRC.
	Size = 4

	// Poly is the generator as draft-williams-rdmatcp-00 §3.4 writes it: the coefficient
	// of x^31 first, without x^32 (R356).
	Poly = 0xdb710641

	// Residue is the checksum of any octets followed by their CRC as Put writes it. A
	// receiver that has a segment with its CRC in one slice can test
	// Checksum(segment) == Residue.
	Residue = 0xb9509bb6
)

// reversed is Poly with the coefficient of x^31 in the least significant bit. This is the
// order in which the octets of a segment are divided.
const reversed = 0x82608edb

// Checksum returns the CRC of p.
func Checksum(p []byte) uint32 { return Update(0, p) }

// Update returns the CRC of octets whose CRC is crc, followed by p. The CRC of no octets
// is 0: Update does the initial and the final complement.
//
// It does not allocate, does not retain p, and may be called from several goroutines.
func Update(crc uint32, p []byte) uint32 {
	r := ^crc
	if canFold && len(p) >= foldMin {
		whole := len(p) &^ 15
		r = fold(r, p[:whole])
		p = p[whole:]
	}
	return ^slicing(r, p)
}

// Put writes crc to the first Size octets of field, the last field of a segment. It
// panics if field is shorter.
func Put(field []byte, crc uint32) { binary.LittleEndian.PutUint32(field, crc) }

// Get returns the CRC that Put wrote to field. It panics if field is shorter than Size.
func Get(field []byte) uint32 { return binary.LittleEndian.Uint32(field) }
