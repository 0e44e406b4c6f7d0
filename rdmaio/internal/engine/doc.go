// Package engine is one RPC-over-RDMA connection as a state machine. Events go
// into Step, effects come out of it; there is no goroutine, lock, clock or I/O
// inside, so that a list of events always gives the same effects, and a test or a
// simulation can drive it by hand.
//
// # Whose memory
//
// The engine is given the memory of inline messages (Config.Send and Recv) and
// works in it: it encodes headers into send buffers and decodes them in place.
// Work requests in effects name memory regions that the engine never calls. What a
// Call or Request holds belongs to the engine from the event that passes it in to the
// effect that passes it out: Done, Deliver, Release. Events and Effects
// are valid during the Step that takes them, and until the next one.
//
// Send buffers are borrowed: the engine asks for one when a message would wait for nothing else (Effects.WantBuffers), and
// gives back those that nothing was sent from for a while, or all when the connection is gone (Effects.Return).
//
// # Order
//
// Effects are to be carried out in the order of the fields of Effects: Receives are
// posted before the message that grants a credit for them (RFC 8166 §3.3.1; R133), and a broken
// connection is disconnected before memory it could reach goes back to its owner (R285).
//
// # Rules it keeps
//
// Calls in flight never exceed the grant, nor one before the first Reply (R127, R128). The send
// queue never overflows: a chain of requests goes out whole when its entries and, if it ends
// in a message, a send buffer are free, and in the order asked for (T130). The last
// request of a chain is signaled, unless nobody waits for it and another chain follows in
// the same Step. Every Receive is posted again as soon as
// its message is done with: at a requester at once, at a responder with the answer. A received
// message causes one ERROR at most, and an ERROR none. Each Call ends exactly once.
//
// No message is larger than the terms allow, which are those of a peer that said nothing until
// EventTerms (R36, R37). If they allow it a Reply ends one key of its Call; any
// other key that the peer ends costs the connection (R264, R265).
package engine
