// Package iwarp is a verbs provider over TCP that speaks iWARP: MPA (RFC 5044, RFC 6581), DDP (RFC
// 5041) and RDMAP (RFC 5040). It needs no hardware, kernel module or privilege, and connects to
// Linux's siw and to RDMA hardware with iWARP as well as to itself.
//
// # Use
//
//	dev, err := iwarp.Open(nil)
//	ln, err := dev.Listen(ctx, ":20049")      // one side
//	info, err := dev.Dial(ctx, addr, qp, nil) // the other
//
// Device.DialConn and Device.AcceptConn do the same over an existing stream. docs/iwarp.md says
// what interoperates, lists the limits of Config and the attacks that they answer, and names the
// workarounds for faults of other implementations.
//
// # Parts
//
//	internal/mpa     requests and replies, their negotiation; length, padding and CRC of an FPDU
//	internal/ddp     headers of segments; numbers and offsets
//	internal/rdmap   operations, Read Requests, Terminates
//	setup.go         the set-up of a connection (stream.Framing)
//	framer.go        its FPDUs (stream.Framer): send.go, receive.go, terminate.go
//	internal/stream  of the providers over a byte stream: all else
//
// An FPDU is a frame of package stream:
//
//	ULPDU_Length | DDP header | Read Request, Terminate | payload | padding | CRC
//	└───────────────────── header ─────────────────────┘
//
// # What differs from other verbs providers
//
//   - A responder does not send before it has heard from the initiator: its requests wait.
//     Config.PeerToPeer makes an initiator speak at once.
//   - A Write has no length on the wire. Each of its FPDUs is checked before its payload is
//     placed. If a Write begins in the region and ends outside, the first FPDUs are placed.
//   - A Send or Write completes when it was written to the stream. The peer's error may come
//     later: it breaks the connection, and such a request has completed with success.
//   - An FPDU of up to 5 KiB is placed after its CRC was checked. The payload of a longer one is
//     placed while the CRC is computed. If that is wrong, the connection breaks, and the content
//     of the target is undefined.
package iwarp
