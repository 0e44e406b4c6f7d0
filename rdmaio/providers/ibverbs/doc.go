// Package ibverbs is the provider for RDMA devices: InfiniBand, RoCE and iWARP hardware, and the
// kernel's software devices rxe and siw. It uses rdma-core (libibverbs and librdmacm), which it
// loads when the program runs: the program is built without cgo, but linked dynamically.
//
// Open opens a device, by name or by an address of its network interface. Addresses of Dial and
// Listen are IP addresses with a port, as with TCP. The provider runs on Linux on amd64 and arm64.
// Elsewhere Open returns an error.
//
// # Memory
//
// ProtectionDomain.Alloc returns ranges of slabs, which the provider registers once. A region
// without remote rights is such a range and costs no system call. A region with remote rights is a
// memory window over the range, where the device has windows and the domain has exactly one queue
// pair, which is connected. Otherwise it is a registration of exactly its bytes, which costs two
// system calls. A window is bound by a request of the queue pair, and revoked by another
// (verbs.Revoker), so the peer's keys work on this connection only, and only until then.
//
// A region without remote rights cannot be revoked at the device, because its range shares
// the key of the slab. So Invalidate and Deregister end the connection if posted requests name such
// a region: the request completes with verbs.StatusLocalProtection, and the device does not access
// the memory afterwards. A caller that waits for its completions first never sees that.
//
// Pinned memory counts for RLIMIT_MEMLOCK (ulimit -l). The first slab of a domain has its first
// buffer and a quarter more. Each further one doubles what the domain has, up to 2 MiB.
//
// # The end of a connection
//
// A queue pair ends because a request fails, the peer disconnects, the device reports an error, or
// the caller disconnects. The provider then moves it to the error state, collects the completions
// of outstanding requests for at most a second, and destroys it. Requests that the device did not
// complete until then complete as flushed. Then the device accesses no memory through the queue
// pair, and QPConfig.Notify is called. A peer cannot prolong any of it.
//
// A peer that is gone is noticed within Config.PeerTimeout.
//
// # Goroutines
//
// A device has three goroutines, which read the files of completions, of connection events and of
// asynchronous events. Each queue pair has one while it ends.
//
// The quirks of drivers, which the provider works around, are in package quirks.
package ibverbs
