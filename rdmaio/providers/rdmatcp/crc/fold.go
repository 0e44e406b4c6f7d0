package crc

// Folding. A message of n bits is a polynomial A, and its CRC the remainder of
// A·x^32 by the generator G. Since x^m and its remainder by G are the same to
// that end, 128 bits at the front of a message can be moved m bits on: their
// product with x^m mod G is added to the 128 bits that lie there. Four such
// registers, each moved over the other three, take 64 octets a round (and four
// of 256 bits take 128, where there are such); then three are moved onto the
// fourth; then what is left is taken 16 octets at a time. The last 128 bits are
// reduced to 96, to 64, and to the remainder.
//
// Octets arrive with their least significant bit first. So a 64-bit register
// holds the coefficient of x^63 in bit 0, a product of two registers is one
// place off (127 coefficients in 128 bits), and a 32-bit remainder in the low
// half of a register stands for x^32 times itself. As a consequence, to
// multiply by x^m takes the remainder of x^(m-32), reversed and moved up by
// one: what multiplier in fold_test.go computes.

// foldMin is the length from which folding is worth its last steps. Tables are
// as fast up to there while they are in the processor's cache, which they
// seldom are in a program that does anything else.
const foldMin = 32

// constants are multipliers for one generator. The first of a pair is for the
// 64 bits that come first in the message, which lie 64 bits further back.
type constants struct {
	by128   [2]uint64 // move on by 128 octets: x^1088, x^1024
	by64    [2]uint64 // move on by 64 octets: x^576, x^512
	by16    [2]uint64 // move on by 16 octets: x^192, x^128
	reduce  [2]uint64 // 128 bits to 96, and 96 to 64: x^128, x^96
	barrett [2]uint64 // x^64 / G, and G; 33 bits each, reversed
}

// folding is for the generator of draft-williams-rdmatcp-00 §3. It is never written.
var folding = constants{
	by128:   [2]uint64{0x1608131ea, 0x06ff458b6},
	by64:    [2]uint64{0x0487b9c8a, 0x10ebe3b70},
	by16:    [2]uint64{0x09259a548, 0x0d02dd974},
	reduce:  [2]uint64{0x0d02dd974, 0x0cbf1acda},
	barrett: [2]uint64{0x0c8851aab, 0x104c11db7},
}
