// Package soft is what the providers without hardware have in common: the
// device's books, protection domains, regions behind a table of keys that nobody
// can guess, the checks before a byte moves, completion queues, and the lock
// that runs notifications when it is free. How bytes move is the provider's.
//
// A provider's device has a Device inside, its queue pairs have a QueuePair
// inside, and its protection domain is a Domain with a CreateQP.
//
// # Pins
//
// Whoever touches registered memory pins the Element first and unpins it when
// done. A pin fails if the registration that the element means has ended, and
// the end of a registration waits for the pins to go. So it is short: a pin may
// wait for a peer only if Owner.Interrupt makes it end.
//
// # Checked memory
//
// Builds with the race detector, with AddressSanitizer or with the tags memcheck
// and memguard watch over the memory of Alloc: see ladder.go.
//
// # Locks
//
// In this order: a Mutex (the provider's lock), Domain, Region, Device,
// CompletionQueue. Notifications run with none of them held.
package soft
