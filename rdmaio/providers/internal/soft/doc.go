// Package soft is the common part of the providers without hardware: the objects of a
// device, protection domains, memory regions with unguessable keys, the checks before a
// byte moves, completion queues, and a lock that runs notifications after it is unlocked.
// A provider that uses it only has to move the bytes.
//
// The provider's device has a Device as a field. Its protection domain embeds a Domain and
// adds CreateQP. Its queue pair embeds a QueuePair.
//
// # Pins
//
// Code pins an Element before it accesses registered memory, and unpins it afterwards. A pin fails
// if the element's registration is no longer valid. Invalidate and Deregister revoke the
// registration, and then wait until no pin is left. Pins are therefore short: code that holds a pin
// may wait for a peer only if Owner.Interrupt interrupts the wait.
//
// # Checked memory
//
// Builds with the race detector, with AddressSanitizer, or with the tags memcheck or
// memguard check the memory of Alloc: see ladder.go.
//
// # Locks
//
// Locks are taken in this order: a Mutex (the provider's lock), Domain, Region, Device,
// CompletionQueue. Code that runs notifications holds no lock.
package soft
