// Package machine decides what a Client does about its connections: when it connects, which
// connection a Call gets, which Calls wait and fail, and when a connection is given up. It is a
// pure state machine: Step takes an event and the time, and returns effects. It has no goroutine,
// clock, lock or I/O, so a test runs hours of a Client in microseconds, and the same events have
// the same effects each time. Package reconnect is the driver.
//
// # Attempts to connect
//
// There is one attempt at a time, whatever the number of connections:
//
//	          wanted                 Dialled
//	resting ----------> dialling ----------------> resting, one connection more
//	   ^                 ^     |
//	   | wanted no more  |     | Failed
//	   |           Tick  |     v
//	   +---------------- pausing <---- Ended, useless or too soon
//
// A connection is wanted while a Call waits, when a Call found others on its connection
// (Rules.Connections), and always if the server may call (Rules.Keeps). It is not wanted while the
// machine does not know whether one that ended was useful, because there may have to be a pause.
//
// Attempts while a connection is up have separate pauses: a further connection that the server
// refuses delays no Call. An attempt that taught the carrier another version of the protocol
// (Event.Turned) is followed by one at once, but not twice in a row.
//
// # A connection
//
//	Dialled ---> up --- ended by itself ---------------------> down --- Ended ---> gone
//	              |                                             ^
//	              +--- Tick: idle, stuck; Discard; Close ---> dropped
//
// Calls get a connection that is up. A connection that is down or dropped stays known until Ended
// says whether it brought a reply. It was useful if it did, or was idle. The first connection is
// useful also if others brought a reply since it was made.
//
// # A Call
//
//	Take ---> on a connection ---> Release
//	  |            ^
//	  | none       | room on a connection: the first in the queue has it
//	  v            |
//	Ask ---> in the queue ---> failed: Cancel, Close, or more failures than it waits for
//
// With several connections a Call gets the one with the fewest Calls of those that have room. A
// single connection takes all Calls, which then wait for room there.
package machine
