package crc

import "math/bits"

// bitwise returns the CRC, computed as the document defines it.
func bitwise(p []byte) uint32 { return bitwiseUpdate(0, p) }

// bitwiseUpdate divides by IEEE 802.3 §3.2.9 a to e with the generator of
// draft-williams-rdmatcp-00 §3. The register holds the remainder as it is
// written on paper, x^31 first.
func bitwiseUpdate(crc uint32, p []byte) uint32 {
	const generator = 1<<31 | 1<<30 | 1<<28 | 1<<27 | 1<<25 | 1<<24 | 1<<22 |
		1<<21 | 1<<20 | 1<<16 | 1<<10 | 1<<9 | 1<<6 | 1
	// At the start this is all ones, which has the effect of complementing the first 32 bits
	// of the message.
	remainder := ^bits.Reverse32(crc)
	for _, octet := range p {
		for bit := range 8 {
			out := remainder>>31 ^ uint32(octet>>bit)&1
			remainder = remainder<<1 ^ generator*out
		}
	}
	// The coefficient of x^31 leaves first, in the least significant bit of
	// the first octet.
	return bits.Reverse32(^remainder)
}
