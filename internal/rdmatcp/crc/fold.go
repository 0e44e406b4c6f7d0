package crc

// Folding
//
// A message of n bits is a polynomial A, and its CRC is the remainder of A·x^32 by the
// generator G. In that remainder, x^m can be replaced by x^m mod G. Therefore 128 bits at
// the front of a message can be folded m bits further: their product with x^m mod G is
// added to the 128 bits there.
//
// Four such registers, each folded over the other three, consume 64 octets a round; four
// registers of 256 bits, where the processor has them, consume 128. Then three registers
// are folded onto the fourth, and the rest is consumed 16 octets at a time. The last 128
// bits are reduced to 96, to 64, and to the remainder.
//
// Octets arrive with their least significant bit first. So a 64-bit register holds the
// coefficient of x^63 in bit 0, a product of two registers is one place off (127
// coefficients in 128 bits), and a 32-bit remainder in the low half of a register stands
// for x^32 times itself. Multiplication by x^m therefore uses the remainder of x^(m-32),
// reversed and shifted up by one, as multiplier in fold_test.go computes it.

// foldMin is the smallest length in octets that is folded. Tables are as fast for shorter
// input only while they are in the processor's cache, as they are in benchmarks.
const foldMin = 32

// constants holds the multipliers for one generator. The first of a pair is for the 64
// bits that come first in the message, which are folded 64 bits further.
type constants struct {
	by128   [2]uint64 // fold 128 octets further: x^1088, x^1024
	by64    [2]uint64 // fold 64 octets further: x^576, x^512
	by16    [2]uint64 // fold 16 octets further: x^192, x^128
	reduce  [2]uint64 // 128 bits to 96, and 96 to 64: x^128, x^96
	barrett [2]uint64 // x^64 / G, and G; 33 bits each, reversed
}

// folding holds the constants for the generator of draft-williams-rdmatcp-00 §3.4. It is
// read-only.
var folding = constants{
	by128:   [2]uint64{0x1608131ea, 0x06ff458b6},
	by64:    [2]uint64{0x0487b9c8a, 0x10ebe3b70},
	by16:    [2]uint64{0x09259a548, 0x0d02dd974},
	reduce:  [2]uint64{0x0d02dd974, 0x0cbf1acda},
	barrett: [2]uint64{0x0c8851aab, 0x104c11db7},
}
