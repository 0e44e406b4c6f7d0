// Package segment implements the wire format of draft-williams-rdmatcp-00: RDMA
// messages cut into segments in a byte stream.
//
// A segment consists of a header of 24 or 32 bytes, control data, payload, up to three
// bytes of padding, and a CRC-32 of all of them:
//
//	Header         the header: Decode reads it and checks it by itself, Put writes it
//	Append, Open   write and read a whole segment in memory
//	Stream         the receiver's state of one direction of a connection; it checks a
//	               segment against those before it
//
// Every check that fails returns an *Error, whose Rule names the rule of the draft. The
// stream cannot be used after an error: an attacker could forge whatever might mark the
// start of the next segment. Nothing but an Error allocates.
//
// # What the draft leaves open
//
// The draft has nine pages, and no other implementation is known. This package makes
// these choices, in the order of the draft's fields:
//
//   - Control data is sent in the first segment of a message. It is accepted in all
//     segments, as parts of one string.
//   - The 8 reserved bits next to CLEN are sent as zero and ignored on receipt. The 4
//     bits of the client protocol are passed to the caller and never refused.
//   - A message has at most 2^32-1 bytes of payload. No RDMA range ends beyond offset
//     2^32: offsets do not wrap.
//   - The CRC covers the padding, whose bytes may have any value.
//   - The octets of the CRC are sent in Ethernet's order, that of iSCSI and MPA: the
//     register of the reflected algorithm, least significant octet first. A segment
//     with its CRC therefore has a constant CRC.
//   - Read_Responses come in the order of their requests. They are sent with Order
//     0xFFFF, and the receiver ignores their Order.
//   - Order is computed with serial arithmetic modulo 2^32. A message that was never
//     sent counts as processed.
package segment
