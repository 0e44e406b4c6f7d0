// Package cancel is a small RPC program. An end of a connection names the Calls on it that it has
// given up, and the other end cancels the contexts of those Requests (oncrpc.Responder.Context).
// The carriers send and serve these Calls by themselves, in both directions: package tcp, and
// package rdmaio in both versions. docs/cancel.md describes the protocol for other implementations.
//
// A peer that does not have the program refuses the first of these Calls with PROG_UNAVAIL (RFC
// 5531 §9). It gets no further one on that connection.
//
// An [Outbox] is the state of the end that calls, and [Serve] answers at the other end. Neither
// does I/O, and neither is safe for concurrent use.
package cancel
