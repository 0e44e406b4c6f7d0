// Package segment is the wire format of draft-williams-rdmatcp-00: RDMA
// messages cut into segments inside a byte stream.
//
// A segment is a header of 24 or 32 bytes, control data, payload, zero to three
// bytes of padding and a CRC-32 of all of that:
//
//	Header         Decode takes one apart and checks it alone; Put writes one
//	Append, Open   a whole segment in memory
//	Stream         what a receiver knows of one direction of a connection, and
//	               the rules between segments
//
// Every refusal is an *Error whose Rule names the broken sentence, and after any
// of them the stream is lost: there is no way to find the next segment that an
// attacker could not forge. Nothing here allocates except to say what is wrong.
//
// # What the draft leaves open
//
// The draft is an idea of nine pages and no implementation is known. Choices
// that it does not make, in the order of its fields:
//
//   - Control data goes out in the first segment of a message only, and is
//     accepted in each, as the parts of one string.
//   - The 8 reserved bits next to CLEN are sent as zero and not looked at. The 4
//     bits that belong to the client protocol are handed up, never refused.
//   - No message has more than 2^32-1 bytes of payload, and no RDMA range goes
//     beyond offset 2^32: offsets do not wrap.
//   - Padding is inside the CRC, whatever its bytes are.
//   - The CRC's octets stand in Ethernet's order: the register of the reflected
//     algorithm, least significant octet first. So header to CRC has a constant
//     CRC of its own, and iSCSI and MPA do the same.
//   - Read_Responses come in the order of their requests, with order 0xFFFF,
//     which the receiver ignores.
//   - Order is counted by serial arithmetic modulo 2^32; what was never sent
//     counts as processed.
package segment
