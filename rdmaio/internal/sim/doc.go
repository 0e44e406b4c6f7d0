// Package sim runs both ends of RPC-over-RDMA connections over a simulated network, on one clock
// and one queue of events. The ends are the product's own engines. The client's connections are
// made, replaced and shared by its own machine (internal/reconnect/machine), which also decides
// whether a Call is made again. The servers have its reply cache (replycache), and in a third of
// the runs its limit of memory for Calls and replies (internal/admission). One loop takes events
// from a queue, ordered by virtual time and a seed. Thousands of RPCs with random shapes are made
// in both directions over several connections at a time, while connections break, close, stall and
// vanish, dialling fails, timers are late, callers cancel, memory runs out, posts are refused, and
// handlers are slow, refuse or do not answer. The ends negotiate sizes by the private data of RFC
// 8797, which one of them may not send, and may negotiate others while Calls are in progress. In a
// third of the runs both ends follow the draft (engine.Config.Legacy): replies have read chunks,
// acknowledged by RDMA_DONE, and messages have padding. In some runs only one end does. The same
// seed gives the same run, to the last event, on any machine: Result.Trace is a hash of all events.
//
// In half of the runs an end has version 2, alone or with version 1, in any order of preference.
// The connections of such a run have version 2, or version 1, perhaps after the client has fallen
// back, or the ends find no common version. With version 2, messages are continued, also those
// without chunks in the reverse direction. A quarter of these runs has ceilings of one credit. Runs
// of version 1 alone make the same choices as without version 2.
//
// In every third run with version 2 one end is a stranger: not the product's, it counts each
// message that it gets against the credits that it granted, closes the connection if there is one
// more, and sends keep-alives, for which it pays. It has no chunks.
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
//   - no history of executions breaks a promise of the stack (package history): each Call returns
//     once, with the result of an execution, was executed at most once with a reply cache, and not
//     at all if its error says so (R284, R286, R288);
//   - a Call is busy at its server only while there is a Request for it (R135). A handler's memory
//     is free when its Request is released: it is filled with poison then, which must not be sent;
//   - the Calls of a connection in use go on when there is no room for another one, or when one of
//     them is over a limit; a place for a handler goes to each connection in turn; the server knows
//     which Calls were given up, and takes no other for one (R309);
//   - each Request is released, each key is invalidated, and once there are no more faults all
//     Calls end in bounded time.
//
// The reply cache has goroutines, which hold back Calls. So a run is in a bubble of package
// synctest. The goroutines have its clock, run only while the loop waits, and come back through the
// loop's queue, in an order that does not depend on the scheduler (inbox).
//
// A fault that never happens proves nothing: Result.Fired counts each kind. An oracle that never
// reports anything proves nothing either: Bugs has mistakes that a run can have, and a test finds
// each of them within a number of seeds.
//
// The server also has the product's limits for connections and handlers (internal/admission): an
// idle connection makes room for a new one, and the places of handlers go to connections in turn.
// The client names the Calls that it has given up, by the product's program
// (runtime/oncrpc/cancel). Calls use as many segments as the peer takes, and some use one more.
//
// With version 2 the ends send messages of an extension, which arrive in order, and agree by them
// on other sizes of Receives. The memory for a long reply may come from the product's pool when the
// server first writes (internal/mrpool). Registrations may fail.
//
// These parts of the product do not run here: the goroutines of the driver, Calls that are
// submitted, a caller that reads from the stream itself (rdmaio/lone.go), and a Call whose shape
// the peer has refused (rdmaio/resend.go). They run in rdmaio/internal/test/simulation, with whole
// connections. Neither do reconnect.Pool, which drives the machine, host authentication and the
// memory of versions. The tests of these packages cover them. Two limits of TCP are in goroutines
// that read sockets: the number of Calls taken while the server calls back, which package
// internal/pairs tests, and the length of a record (runtime/oncrpc/tcp).
//
// Package rdmaio/internal/test/histories checks executions over every carrier, with goroutines and
// sockets.
//
// A trace is the same for the same seed and the same source. It changes whenever the engine posts
// other requests, and whenever the simulation makes other random choices, as with a new fault, a
// new rate, or the cache. So no trace is on file, and tests compare runs of one build.
package sim
