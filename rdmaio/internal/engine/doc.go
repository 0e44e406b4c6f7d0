// Package engine implements one RPC-over-RDMA connection as a state machine. Step takes events and
// returns effects. There is no goroutine, lock, clock or I/O inside, so the same events always give
// the same effects, and a test or a simulation can drive it by hand.
//
// # Parts
//
// Engine routes events, and decides which message or RDMA Read is posted next. Three parts do the
// work. They share one state of the connection (shared):
//
//   - sendQueue has the chains of posted work requests, the entries of the send queue and the send
//     buffers. For each chain that completes it returns the Request that waited for it.
//   - requester has the Calls of this side, and their credits. It matches Replies.
//   - responder has the Calls of the peer, and the grants. It assembles and answers them.
//
// sendQueue calls neither of the others, and requester does not call responder. A Reply with read
// chunks (Config.Legacy) is assembled like a Call: responder reads it, then completes the Call of
// requester.
//
// # Ownership of memory
//
// The driver gives the engine the memory of inline messages (Config.Send and Recv). The engine
// encodes headers into send buffers and decodes them in place. Work requests in effects refer to
// memory regions, whose methods the engine never calls. The memory of a Call or Request belongs to
// the engine from the event that passes it in to the effect that passes it out: Done, Deliver,
// Release. Events are valid during the Step that takes them, and Effects until the next Step.
//
// Send buffers are borrowed: the engine asks for more when messages wait only for a buffer
// (Effects.WantBuffers). It returns those that were unused for a while, or all when the connection
// is gone (Effects.Return).
//
// # Order
//
// The driver carries out effects in the order of Effects' fields. Receives are posted before
// the message that grants a credit for them (RFC 8166 §3.3.1; R133). A broken connection is
// disconnected before memory that the peer could reach returns to its owner (R285).
//
// # Rules
//
// In version 1 Calls in flight never exceed the grant, which is one before the first Reply (R127,
// R128). The send queue never overflows: a chain of requests is posted as a whole, when enough
// entries are free and, if the chain ends in a message, a send buffer is free, too. Chains are
// posted in the order of the requests (T130). The last request of a chain is signaled, unless no
// work waits for it and another chain follows in the same Step. Every Receive is posted again when
// its message is done with: at a requester at once, at a responder with the answer. A received
// message causes one ERROR at most, and an ERROR none. Each Call returns exactly once.
//
// No message is larger than the terms allow. Before EventTerms these are the terms with a peer that
// advertised nothing (R36, R37). If the terms allow it, a Reply invalidates one key of its Call. If
// the peer invalidates any other key, the connection is closed (R264, R265).
//
// # Rules of version 2
//
// The end that dialed sends its properties first, and nothing else until there is an answer. It has
// one credit for that. No Call is sent before the version is known; the end that accepted never
// sends first (R42, R178, R182; A7, A31). A message of another version later closes the connection
// (R188).
//
// Each message uses one of its sender's credits (R169). Answers wait for credits, too. No end sends
// more than it was granted, and a peer that does loses the connection (R170). A Receive is posted
// for each credit that was granted and is not used, and two more, one of them for a grant without a
// credit (R172, R175). So a Receive is posted again as soon as its message was read. A Call keeps
// its Receive until it is answered only if that leaves a credit to grant; otherwise the Call is
// copied. A message that only grants is sent when nothing else can be sent, and never because of
// another such message (R171, R176).
//
// Messages that can be sent have this order: messages of control, the next part of the message that
// is being sent, then Calls and answers by their tickets, then a grant. Between the parts of a
// message only ERRORs and grants are sent (R155; A5). The last part has the chunks, and the RDMA
// Writes precede it (R158, R164). If a Call is cancelled between its parts, the remaining parts are
// sent all the same.
//
// The memory for a received continued message is reserved before it is allocated. It is at most
// about twice the bytes received (R162). If the message is too long, its further parts are
// discarded. Any other message between the parts, apart from grants and ERRORs, is a fault, and
// both messages are discarded (R156). If the continued one is a Reply, its Call fails (A8). The end
// that dialed sends no ERROR, except about a Call (R193).
//
// A Call names the one key that its Reply may invalidate, with its last part (R259, R260).
package engine
