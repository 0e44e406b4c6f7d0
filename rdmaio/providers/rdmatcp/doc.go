// Package rdmatcp is a verbs provider over TCP. It exchanges RDMA messages in the
// format of draft-williams-rdmatcp-00 and needs no hardware, kernel module or
// privilege.
//
// Package internal/rdmatcp/segment implements the format and lists the choices that the draft
// leaves open. A connection profile (profile.go) adds what the format lacks: connection
// set-up, remote invalidation and reasons for closing a connection.
//
// # Use
//
//	dev, err := rdmatcp.Open(nil)
//	ln, err := dev.Listen(ctx, ":20049")      // one side
//	info, err := dev.Dial(ctx, addr, qp, nil) // the other
//
// Config.TLS makes both use TLS: docs/tls.md. Device.DialConn and Device.AcceptConn do the
// same over an existing stream, in the middle of its use (R12) or inside the caller's TLS.
// Config.Raw disables the profile.
// docs/rdmatcp.md lists the limits of Config, the attacks that they answer, and the
// attacks that this package does not answer.
//
// # Layers
//
// Package stream (providers/internal) has all that does not depend on the format: connections and
// their limits, queues, batches, goroutines, locks. Its documentation shows the path of a message.
// This package supplies two things:
//
//	profile   stream.Framing: the first message of each side (setup.go, profile.go)
//	framer    stream.Framer: the segments of a connection (framer.go, send.go, receive.go),
//	          numbered, divided evenly, checked by segment.Stream; control data (control.go)
//
// # Segments
//
// Payload of segments with more than StageLimit bytes is direct on a plain TCP connection, other
// payload is staged. Stats counts the bytes of both.
//
// Direct payload is placed while its CRC is computed. If the CRC is wrong, the
// connection breaks and the content of the target is undefined, as on any RDMA fabric.
// No completion, message or invalidation is reported before the CRC of its segment
// was found right.
//
// A message is divided evenly into as few segments as possible. Sends and Reads have Order 0: a
// receiver processes them after all messages before them. Writes of this package may overtake
// earlier messages, so its reader never waits for the writer.
package rdmatcp
