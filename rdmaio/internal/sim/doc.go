// Package sim runs both ends of RPC-over-RDMA connections, the product's own engines, over a
// network that does not exist: one loop takes events from a queue, by virtual time and a seed.
// Thousands of RPCs of random shapes go both ways, while connections break, close and stall, callers give up,
// memory runs out, handlers are slow, refuse or say nothing. In a third of the worlds both ends follow the draft
// (engine.Config.Legacy): replies go by read chunks, with RDMA_DONE behind, and messages have padding. The same seed gives the same
// run, to the last event, on any machine: Result.Trace is a hash of all of them.
//
// What must hold is asserted by things that do not ask the engine:
//
//   - the network counts credits by the messages that it carries, and finds a Receive for each
//     (R127, R128, R133, R266, R283);
//   - it lets nobody touch memory without a live key, the right, and bounds, and knows
//     which accesses may be late: those for a Call that was cancelled (R285, R289, R290);
//   - each message arrives as it was made, whatever shape it had, and each result where it was
//     wanted, with not a byte of what was in a buffer before (R63, R66, R84, R314);
//   - each Call ends once, and what its caller is told is true of what the server did: at most once
//     where it has a cache of replies, not at all where it says so (R284, R286, R288);
//   - each Request is given back, each key is ended, and when nothing is broken any more all Calls
//     end in bounded time.
//
// A fault that was never seen tells nothing: Result.Fired counts each kind.
package sim
