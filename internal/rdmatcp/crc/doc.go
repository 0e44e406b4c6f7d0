// Package crc computes the CRC-32 that ends every segment of
// draft-williams-rdmatcp-00 §3.4, "CRC-32".
//
// The algorithm is Ethernet's (IEEE 802.3 §3.2.9) with another generator. In
// the words of the CRC catalogues:
//
//	width=32 poly=0xdb710641 init=0xffffffff refin=true refout=true xorout=0xffffffff
//	check("123456789")=0xe07e661e
//
// The draft leaves three choices open. This package makes them as follows:
//
//   - Bit order: Ethernet's, the least significant bit of each octet first. The
//     generator in that order is 0x82608edb. It is not crc32.IEEE, 0xedb88320: the
//     draft's generator is the mirror image of Ethernet's, whereas crc32.IEEE is
//     Ethernet's generator itself with its bits in reverse order.
//   - Order of the four octets of the field: Ethernet's, so that a segment with its CRC
//     always has the checksum [Residue]. In code, the value is little-endian: use
//     [Put] and [Get].
//   - Coverage: header, control data, payload and padding.
//
// hash/crc32 is fast for two generators only. Any other one is computed byte by byte, 50
// times slower. This package has two implementations. Folding with carry-less
// multiplication is used if the processor has it: in assembly for amd64 (PCLMULQDQ, and
// VPCLMULQDQ at twice the speed) and arm64 (PMULL). Elsewhere tables handle 16 octets at
// a time. The build tag purego disables the assembly.
package crc
