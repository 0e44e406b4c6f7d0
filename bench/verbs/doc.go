// Package verbs measures verbs providers against what TCP itself can do, over the loopback
// interface, with client and server in separate processes. The lower bounds are a raw TCP
// connection, and "framed": the practical limit of an RPC over one TCP connection, written by hand.
// It has a header of 32 octets, one writev for all frames that are queued, payload that is read
// directly to its destination, and a handler that runs in the reader ("framed-go": in a goroutine
// of its own). "segments" is framed with what draft-williams-rdmatcp-00 §2 and §3 ask for: segments
// of at most 65,500 octets, each with its CRC-32. Providers do the same work through rdmaio/verbs.
// A Write completes when it has been written to the stream, so a run of Writes ends with a Send
// that the server answers.
//
// "floor" is for package transport: it has the messages of rdmaio over providers/rdmatcp, with the
// same segments, RPC-over-RDMA headers and RPC headers. It has no engine, no verbs, no registered
// memory, no credits and few checks, so its figures are the limit of the wire protocol. Writes are
// combined as in framed, and a reader writes what it has queued when there is no more input. The
// server answers in its reader. Data is read directly to its destination. A caller that is alone
// reads the socket itself. Either end works with the other end of rdmaio. "rdmatcp-floor-async" is
// floor with a client that has one goroutine for all its calls, as "framed-async" is framed.
package verbs
