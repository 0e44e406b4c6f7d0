// Package rdmap implements the messages of RDMAP, the RDMA protocol over DDP (RFC 5040):
//
//	Opcode       the operation of a message, in the first byte that DDP reserves for RDMAP
//	Check        checks opcode and header of a segment against each other
//	ReadRequest  the body of an RDMA Read Request
//	Terminate    the body of a Terminate message: Append writes it, Decode reads it
//	Reads        our outstanding Reads, against which responses are checked
//
// Every check that fails returns an *Error, whose Rule names the rule and its section.
// Rule.Cause returns layer, error type and error code for a Terminate message. Nothing
// but an Error and the text of one allocates.
//
// # Choices
//
//   - Version 1 is spoken. Version 0, that of the RDMA Consortium, is refused.
//   - The opcodes of RFC 7306 (immediate data, atomics) are known by name and refused as
//     unexpected: no application of this project has a use for them.
//   - A Read Request and a Terminate are one segment each.
//   - A Terminate is a hint. Linux swaps layer and error type on little-endian machines,
//     and puts the header bits at the other end of their byte. Terminate has both
//     readings and the bytes, and Likely chooses one.
//   - A Terminate that ends too early for the parts that it announces is read as far as
//     it goes. Nothing depends on it but a message for people and the status of a
//     request.
package rdmap
