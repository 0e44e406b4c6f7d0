// Package mem is a verbs provider inside one process: a Network holds
// listeners by name, and queue pairs of its devices connect to each other.
//
// It needs no hardware, privilege or goroutine of its own. A post carries its
// requests out before it returns, on the poster's goroutine and under one lock
// for each connection, so that a program which posts in one order sees one
// order. Bulk data is copied once, from the registered source to the registered
// sink.
//
// It refuses what hardware would refuse: every key, right, byte range, domain
// and queue limit is checked, and what is wrong breaks the connection at both
// ends. It is stricter than hardware in that a region can end its validity only
// when no copy touches it, and that a failed request always completes with the
// precise status.
//
// # Locks
//
// A queue pair is guarded by its link, which two connected queue pairs share.
// Order: connRequest, link (two at a time by ascending number), then one of
// completionQueue or protectionDomain, memoryRegion, Device. A copy holds its
// regions by a count (element.pin), not by a lock. Notifications wait in
// the link until its lock is free and are run by one goroutine at a time: a
// notification that posts on its own connection adds to the list and returns,
// so that two ends answering each other neither deadlock nor recurse.
package mem
