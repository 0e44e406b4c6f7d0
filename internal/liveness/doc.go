// Package liveness tests what a server does with peers that vanish, attack or misbehave: the same
// for every carrier. A row is a kind of peer. A column is a carrier, which says only how to open
// its ends, how to make a peer vanish, what its limits are, and what a silent connection costs.
//
//	carriers.Carrier ──> Column ──> Run ──> each row: an honest client, and peers that are not
//
// In each row an honest client makes Calls all the time and is served, the others are closed by the
// limit that is for them, and at the end the server has the honest connection alone and no memory.
//
// A row that a carrier cannot have is in Column.Without, with the reason. A row that a Column
// neither has nor excuses fails the test. Most misbehaving peers are honest clients whose bytes
// pass a netfault.Gate, so that they need no code for a protocol.
package liveness
