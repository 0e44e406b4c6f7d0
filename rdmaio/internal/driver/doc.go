// Package driver runs the engine of one connection over the objects of a provider.
//
// The Driver owns the queue of events, the two completion queues, the queue pair and the timer. It
// brings events to the engine, and carries out the effects that concern these objects: it posts
// Receives and requests, disconnects, and sets the timer. All other effects go to its Owner, in the
// same call for a whole step.
//
// # The runner
//
// The engine is for one goroutine at a time. A goroutine that posts an event while none runs the
// engine becomes the runner, and serves all events that arrive while it runs, so that posts of many
// callers are sent together. All others queue their events and leave. After 64 rounds the runner
// hands over to a separate goroutine, so that a caller is not delayed without bound.
//
//	Post, a completion, the timer
//	        |
//	        v     another goroutine runs
//	      queue ----------------------------> leave
//	        |
//	        | none runs                  64 rounds
//	        v                         +------------+
//	   poll, Step, carry out effects -+-> leave, a |
//	        |              ^          | goroutine  |
//	        | queue empty  |          | continues  |
//	        v              |          +------------+
//	      leave     more events
//
// Functions of the upper layer that a step makes due (Owner.Due) run between steps, while a
// goroutine of the Driver is the runner, or the provider's one that handles the peer's messages
// (DeviceAttributes.ReaderNotifies). Any other goroutine may have locks that functions take: as the
// runner it hands over, and so does a reader that a function exits, or that has run functions 64
// times. All events that functions post are served in one step.
//
// # Locks
//
// A mutex guards the queue and the counts. It is not held across a call of the provider, Step of
// the engine, or a call of the Owner. So each of them may post events, on the same goroutine too: a
// provider may notify inside a post.
//
// # Completions
//
// A queue is armed before it is polled, so that no completion is missed (verbs.CompletionQueue).
// The send queue is armed only while the engine awaits its completions (Effects.Await). Otherwise
// they are polled along with Receives, or when the timer fires (docs/adr/0038).
package driver
