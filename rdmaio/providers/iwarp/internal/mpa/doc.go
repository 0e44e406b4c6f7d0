// Package mpa implements the wire format and the negotiation of MPA, which frames RDMA
// messages in a TCP stream: RFC 5044, and the enhanced connection set-up of RFC 6581.
//
// A connection starts with a request of the initiator and a reply of the responder.
// FPDUs follow in both directions, each with one ULPDU, which is a segment of package
// ddp:
//
//	Frame                 a request or reply: Append writes it, Decode reads it
//	Initiator, Responder  the negotiation of either side, as a state machine
//	Wire, Pad, AppendFPDU, OpenFPDU, Update
//	                      the length, padding and CRC32C of an FPDU
//	MULPDU                the size of the longest ULPDU for a TCP segment size
//
// Every check that fails returns an *Error, whose Rule names the rule and its section.
// Rule.Code is the error code for a Terminate message, where the RFCs have one.
// Nothing but an Error allocates.
//
// # Choices
//
//   - Revisions 1 and 2 are spoken. Revision 0 belongs to the protocols of the RDMA
//     Consortium, whose other layers have other version numbers. It is refused, and so is
//     3 or more.
//   - Markers are never asked for, and a peer that asks for them is refused. RFC 5044
//     §4.3 requires senders to be able to insert them, but no user of this format that
//     is in use asks: Linux refuses such peers as well.
//   - In a frame of revision 1 the flag S and all reserved bits are ignored, because
//     RFC 5044 does not know S.
//   - A reply to an enhanced request must be enhanced, unless it rejects the request.
//     The flag A of a reply is ignored if the request did not have it.
//   - A zero-length Send that is the ready-to-receive indication uses up a message
//     sequence number and no Receive: the applications do not know of it. RFC 6581
//     leaves this open.
package mpa
