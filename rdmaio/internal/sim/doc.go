// Package sim runs both ends of RPC-over-RDMA connections, the product's own engines, over a
// network that does not exist: one loop takes events from a queue, by virtual time and a seed.
// Thousands of RPCs of random shapes go both ways, while connections break, close and stall, callers give up,
// memory runs out, posts are refused, handlers are slow, refuse or say nothing. The ends agree on sizes by the private data of
// RFC 8797, which one of them may not send, and may agree on others while Calls are in progress. In a third of the worlds both
// ends follow the draft (engine.Config.Legacy): replies go by read chunks, with RDMA_DONE behind, and messages have padding; in
// some only one does. The same seed gives the same run, to the last event, on any machine: Result.Trace is a hash of all
// events.
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
//   - a Call is busy at its server only while a Request stands for it (R135), and what a handler gave is its own again when
//     its Request is released: it is filled with poison then, which must not leave;
//   - each Request is given back, each key is ended, and when nothing is broken any more all Calls
//     end in bounded time.
//
// The servers' cache of replies knows a Call by its XID and bytes, as rdmaio.CacheReplies does, and not by what the
// simulation knows, so that a Call that is sent again otherwise is executed twice and found out.
//
// A fault that was never seen tells nothing: Result.Fired counts each kind.
//
// A trace is the same for the same seed and the same source. It changes whenever the engine posts otherwise, and whenever the
// simulation draws otherwise, as with a new fault, a new rate, or the cache: so no trace is on file, and tests compare runs
// of one build.
package sim
