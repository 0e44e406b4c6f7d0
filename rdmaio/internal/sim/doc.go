// Package sim runs both ends of RPC-over-RDMA connections over a simulated network. The ends are
// the product's own engines. One loop takes events from a queue, ordered by virtual time and a
// seed. Thousands of RPCs with random shapes are made in both directions, while connections break,
// close and stall, callers cancel, memory runs out, posts are refused, and handlers are slow,
// refuse or do not answer. The ends negotiate sizes by the private data of RFC 8797, which one of
// them may not send, and may negotiate others while Calls are in progress. In a third of the runs
// both ends follow the draft (engine.Config.Legacy): replies have read chunks, acknowledged by
// RDMA_DONE, and messages have padding. In some runs only one end does. The same seed gives the
// same run, to the last event, on any machine: Result.Trace is a hash of all events.
//
// In half of the runs an end has version 2, alone or with version 1, in any order of preference.
// The connections of such a run have version 2, or version 1, perhaps after the client has fallen
// back, or the ends find no common version. With version 2, messages are continued, also those
// without chunks in the reverse direction. A quarter of these runs has ceilings of one credit. Runs
// of version 1 alone make the same choices as without version 2.
//
// The simulation asserts these rules without asking the engine:
//
//   - the network counts credits by the messages that it carries, and finds a Receive for each
//     (R127, R128, R133, R266, R283);
//   - in version 2, no end sends more messages than were granted to it. It has a Receive for each
//     credit that it granted and that is not used, and one more. Nothing but grants and ERRORs is
//     sent between the parts of a continued message (R155, R170, R172, R175);
//   - it refuses every access without a live key, the right for it, and within bounds. It knows
//     which accesses may be late: those for a cancelled Call (R285, R289, R290);
//   - each message arrives as it was made, in any shape, and each result in the memory offered for
//     it. No byte of a buffer's old contents is sent (R63, R66, R84, R314);
//   - each Call has one result, which agrees with the server: the Call was executed at
//     most once with a reply cache, and not at all if the error says so (R284, R286, R288);
//   - a Call is busy at its server only while there is a Request for it (R135). A handler's memory
//     is free when its Request is released: it is filled with poison then, which must not be sent;
//   - each Request is released, each key is invalidated, and once there are no more faults all
//     Calls end in bounded time.
//
// The servers' reply cache identifies a Call by its XID and bytes, as replycache.New does, and
// not by the simulation's RPC. So a Call that is sent again with other bytes is executed twice, and
// that is reported.
//
// A fault that never happens proves nothing: Result.Fired counts each kind.
//
// These parts of the product do not run here: extensions, host authentication, several connections
// of a client (rdmaio.ClientConfig.Connections), memory on demand (verbs.OnDemand), a caller that
// reads from the stream itself (rdmaio/lone.go), the driver, redialling and the retransmission of
// package rdmaio, and package replycache. The tests of these packages cover them.
//
// A trace is the same for the same seed and the same source. It changes whenever the engine posts
// other requests, and whenever the simulation makes other random choices, as with a new fault, a
// new rate, or the cache. So no trace is on file, and tests compare runs of one build.
package sim
