package soft

// The ladder of checks for memory that Alloc returned. Each step finds errors that earlier steps
// miss, at a price. A build without the tags named here has step 0 only.
//
//	0  always              keys, rights, ranges and pins: the accesses that a peer may make
//	1  race                Go heap: the race detector sees accesses to bytes of the other side
//	3  race, asan,         zones before and behind each buffer, checked by Free; freed memory
//	   memcheck            is poisoned and kept, and checked when it is dropped or at Close
//	4  memguard (Linux)    pages that fault before and behind each buffer, and for a freed one
//	5  asan                AddressSanitizer checks zones and freed memory: finds reads too
//
// The same builds record the stack that created each object of a device: see ledger.
//
// Step 2, a word of the heap that the race detector sees in place of mapped memory, will
// come with a provider that maps memory. A failed check panics, because the error is in
// this program. The text has the stack of the Alloc.

// align is the alignment of memory that Alloc returns, as verbs.ProtectionDomain promises.
const align = 64
