// Package locks has a table of locked byte ranges, which NFS clients hold and wait for. It knows no
// protocol, no clock and no disk.
//
// A lock belongs to an owner: a process of a client, for one file. The ranges of an owner are
// disjoint: a lock replaces what the owner has in its range, which upgrades, downgrades, merges and
// splits ranges as fcntl does. Locks of different owners conflict where their ranges overlap,
// unless all are shared.
//
// # Those that wait
//
// A request that waits keeps its place in the order of its file. It is granted when no lock of
// another owner is in its way any more. A later request that conflicts with no lock is granted
// before it, as in Linux. Cycles of owners that wait for each other are not looked for.
//
//	          Lock with a tag, a conflict
//	(none) ------------------------------> waits
//	  ^  ^                                 |   |
//	  |  +-- Cancel, Unlock, Free, Lock ---+   | another owner releases
//	  |                                        v
//	  +-- Accepted, or the owner calls again - granted
//	  +-- Rejected: the former ranges return -+
//
// # Limits
//
// The table has limits, in all and for each source: a host or a network. A request beyond one
// changes nothing. Its LimitError names the limit.
package locks
