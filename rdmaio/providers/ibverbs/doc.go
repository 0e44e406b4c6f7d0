// Package ibverbs is the provider for RDMA devices: InfiniBand, RoCE and iWARP hardware, and the
// kernel's software devices rxe and siw. It uses rdma-core (libibverbs and librdmacm), which it
// loads when the program runs: the program is built without cgo, but linked dynamically.
//
// Open opens a device by name (for example "mlx5_0") or by an address of its network interface.
// Dial and Listen take IP addresses with a port, as with TCP. The provider runs on Linux on amd64
// and arm64. Elsewhere Open returns an error.
//
// # Memory
//
// ProtectionDomain.Alloc returns ranges of slabs. The provider registers each slab once, so a
// region without remote rights is such a range and costs no system call. A region with remote
// rights is a memory window over the range if the device has windows, the domain has one queue pair
// only, and that is connected. Otherwise exactly its bytes are registered, by two system calls. A
// window is bound by a request of the queue pair, and revoked by another (verbs.Revoker). So the
// peer's keys work on this connection only, and only until they are revoked.
//
// A region without remote rights cannot be revoked at the device, because its range shares the key
// of the slab. So if posted requests name such a region, Invalidate and Deregister close the
// connection: the requests complete with verbs.StatusLocalProtection, and the device does not
// access the memory afterwards. A caller that waits for its completions first never sees that.
//
// Pinned memory counts for RLIMIT_MEMLOCK (ulimit -l). A domain's first slab has space for the
// first buffer and a quarter more. Each further slab doubles the domain's memory, up to 2 MiB at a
// time.
//
// # The end of a connection
//
// A queue pair fails because a request fails, the peer disconnects, the device reports an error, or
// the caller disconnects. The provider then moves it to the error state, collects the completions
// of outstanding requests for at most a second, and destroys it. Requests that the device has not
// completed by then complete as flushed. Then the device cannot access memory through the queue
// pair, and QPConfig.Notify is called. A peer cannot prolong any of it.
//
// The loss of a peer that sends nothing more is noticed within Config.PeerTimeout.
//
// # Goroutines
//
// A device has three goroutines. They read the files for completions, connection events and
// asynchronous events. Each queue pair has a goroutine while it is being destroyed.
//
// Package quirks lists the drivers' quirks that the provider works around.
package ibverbs
