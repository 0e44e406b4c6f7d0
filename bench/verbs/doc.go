// Package verbs measures verbs providers against what TCP itself can do, over
// the loopback interface, with client and server in processes of their own.
//
// The floors are a raw TCP connection, and "framed": the practical limit of an
// RPC over one TCP connection, written by hand. It has a header of 32 octets,
// one writev for all frames that are queued, payload that is read to its place,
// and a handler that runs in the reader ("framed-go": in a goroutine of its
// own). "segments" is framed with what draft-williams-rdmatcp-00 §2 and §3 ask
// for: segments of at most 65,500 octets, each with its CRC-32.
//
// Providers do the same work through rdmaio/verbs. A Write completes when the
// stream took it, so a run of Writes ends with a Send that the server answers.
package verbs
