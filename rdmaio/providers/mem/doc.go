// Package mem is a verbs provider within one process. A Network holds listeners by name,
// and the queue pairs of its devices connect to each other.
//
// It needs no hardware, no privilege and no background goroutine. PostSend carries out requests
// before it returns, on the caller's goroutine and under one lock for each connection. So a program
// that posts in one order sees one order of events. Data is copied once, from the registered source
// to the registered target.
//
// The provider checks every key, right, byte range, domain and queue limit, as hardware
// does. A violation breaks the connection at both ends. The provider is stricter than hardware in
// two ways: Invalidate waits for copies in progress, and a failed request always completes with the
// precise status. With Config.Strict it is as unhelpful as hardware, so that tests find code which
// works only over software (package wrap/fault has more manners and faults, for every provider).
//
// # Locks
//
// A queue pair is guarded by its link, which two connected queue pairs share. Locks are
// taken in this order: connRequest, link (two of them in ascending order of their numbers),
// then one of soft's CompletionQueue, Domain, Region and Device. A copy protects its
// regions by pins (soft.Element.Pin), not by a lock.
//
// Notifications wait in the link until it is unlocked, and one goroutine at a time runs
// them. A notification that posts on its own connection adds to that list and returns. So if each
// end responds to the other, they neither deadlock nor recurse.
package mem
