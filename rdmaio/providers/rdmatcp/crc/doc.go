// Package crc computes the CRC-32 that ends every segment of
// draft-williams-rdmatcp-00 §3, "CRC-32".
//
// The algorithm is Ethernet's (IEEE 802.3 §3.2.9) with another generator. In
// the words of the CRC catalogues:
//
//	width=32 poly=0xdb710641 init=0xffffffff refin=true refout=true xorout=0xffffffff
//	check("123456789")=0xe07e661e
//
// The draft leaves three things to the reader, which are decided here so:
//
//   - Bit order: Ethernet's, the least significant bit of each octet first.
//     The generator in that order is 0x82608edb. That is not the 0xedb88320
//     that hash/crc32 calls IEEE: the draft's generator is the mirror image of
//     Ethernet's, and what looks like a mirror image in hash/crc32 is only a
//     way to write Ethernet's own down.
//   - Order of the four octets of the field: Ethernet's too, so that a segment
//     and its CRC together always have the checksum [Residue]. In code, the
//     value little-endian; [Put] and [Get] are the only places that know.
//   - Coverage: header, control data, payload and padding.
//
// hash/crc32 knows fast ways for its own two generators only; any other goes
// byte by byte, 50 times slower. Here are two implementations: folding with
// carry-less multiplication, in assembly for amd64 (PCLMULQDQ, and VPCLMULQDQ at
// twice the speed) and arm64 (PMULL) where the processor has it, and tables for
// 16 octets at a time elsewhere. The build tag purego leaves the assembly out.
package crc
