// Package reconnect has the connections of a Client, for every carrier of RPC: Pool makes
// connections when Calls need them, replaces lost ones, and closes those that are idle or stuck.
// Package machine decides, Pool acts:
//
//	Acquire, Release, Room, Close ──┐                 ┌──> Dial, on a goroutine
//	a connection is down ───────────┼──> machine.Step ┼──> Close of a connection
//	an attempt is over ─────────────┤                 ├──> Calls that wait
//	timer ──────────────────────────┘                 └──> timer, log
//
// Each attempt to connect has a goroutine. If there is a connection, the goroutine stays until that
// is down, and closes it. Pool.Close waits for all of them.
//
// A carrier gives its Dial and what the machine asks of a connection (machine.Rules). What else
// differs between carriers is in the functions of Config: which ends of a connection mean that the
// server refused it, and when the next attempt uses another version of the protocol.
package reconnect
