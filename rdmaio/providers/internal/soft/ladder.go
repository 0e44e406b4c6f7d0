package soft

// The ladder of checks on memory of Alloc. Each step finds what those before it
// miss, at a price; a build without the tags named here has none but the first.
//
//	0  always              keys, rights, ranges, pins: what a peer may do at all
//	1  race                Go heap, so the race detector sees a use of bytes that are the other side's
//	3  race, asan,         zones before and behind each buffer, checked by Free; freed memory is
//	   memcheck            filled with poison and set aside, and checked when given back or at Close
//	4  memguard (Linux)    pages that fault before and behind each buffer, and in place of a freed one
//	5  asan                AddressSanitizer is told of the zones and of freed memory: reads count too
//
// The same builds note who made each object of a device: see ledger.
//
// Step 2, a word of the heap that the race detector sees in place of mapped
// memory, begins with a provider that maps memory. A check that fails panics: the
// fault is in this program, and the stack of the Alloc is in the text.

// align is the alignment of Alloc's memory, a promise of verbs.ProtectionDomain.
const align = 64
