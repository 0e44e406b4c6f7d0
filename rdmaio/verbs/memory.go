package verbs

// ProtectionDomain groups regions and queue pairs: a key works only on queue pairs of the
// region's own domain (RFC 5042 §6.1.1, draft-ietf-nfsv4-rpcrdma-version-two-00 §10.1.1; R8). A
// transport whose keys must work on one connection only creates a domain for each connection.
type ProtectionDomain interface {
	// Alloc returns size bytes of zeroed memory that RegisterMemory accepts, aligned to at
	// least 64 bytes. The caller returns it with Free. Some providers return mapped memory,
	// which the garbage collector neither scans nor frees.
	Alloc(size int) ([]byte, error)

	// Free frees memory of Alloc. buf must start at the first byte of the slice that Alloc
	// returned; its length and capacity do not matter. The error is ErrBusy while a valid
	// region covers any of the memory. Invalid regions, through which nothing can access
	// it, do not count.
	Free(buf []byte) error

	// RegisterMemory creates a region of exactly the bytes buf[0:len(buf)]: the peer cannot
	// access the rest of their pages. The region keeps buf alive. Regions may overlap. The
	// peer has only the rights in access (R9, R304). An empty buffer is an error. The error
	// is ErrNotSupported for memory that is not of this domain's Alloc, if the device
	// accepts no other (DeviceAttributes.HeapMemory). RegisterMemory may block while the
	// system pins the memory.
	RegisterMemory(buf []byte, access Access) (MemoryRegion, error)

	// CreateQP creates a queue pair in StateInit, on which Receives can be posted.
	CreateQP(cfg QPConfig) (QueuePair, error)

	// Close closes the domain. The error is ErrBusy while it has regions, queue pairs or
	// allocated memory. Close is idempotent.
	Close() error
}

// Access is a set of rights to a region. Local reading is always allowed.
type Access uint8

// The rights. AccessRemoteWrite needs AccessLocalWrite, as in libibverbs.
const (
	AccessLocalWrite  Access = 1 << iota // the region may be the target of Receives and Reads
	AccessRemoteRead                     // the peer may Read
	AccessRemoteWrite                    // the peer may Write

	// AccessRemoteInvalidate lets the peer invalidate the region by SendWithInvalidate.
	// Devices cannot deny the right where they can grant it: see
	// DeviceAttributes.InvalidateWindowsOnly.
	AccessRemoteInvalidate

	accessAll = AccessLocalWrite | AccessRemoteRead | AccessRemoteWrite | AccessRemoteInvalidate
)

// Remote reports whether the set has any right for the peer.
func (a Access) Remote() bool {
	return a&(AccessRemoteRead|AccessRemoteWrite|AccessRemoteInvalidate) != 0
}

// Valid reports whether a provider accepts the set: known bits only, AccessRemoteWrite with
// AccessLocalWrite, and AccessRemoteInvalidate only with a remote right to read or write.
func (a Access) Valid() bool {
	switch {
	case a&^accessAll != 0:
		return false
	case a&AccessRemoteWrite != 0 && a&AccessLocalWrite == 0:
		return false
	case a&AccessRemoteInvalidate != 0 && a&(AccessRemoteRead|AccessRemoteWrite) == 0:
		return false
	}
	return true
}

// String lists the rights, as in "local-write|remote-read". It returns "local-read" for
// none.
func (a Access) String() string {
	return flagString(uint(a), "local-read", "local-write", "remote-read", "remote-write", "remote-invalidate")
}

// MemoryRegion is registered memory with its key.
//
// A region is MRValid from its registration until it is invalidated: by Invalidate, by a
// LocalInvalidate request, or by the peer. Neither the peer nor a local work request can use
// an MRInvalid region. The caller either deregisters it or registers it again.
type MemoryRegion interface {
	// Bytes returns the slice of the last registration, or nil if the region is deregistered.
	Bytes() []byte

	// Access returns the rights of the last registration.
	Access() Access

	// RKey returns the key that the peer needs: 32 bits that cannot be guessed from earlier
	// keys, fresh at each registration (R1, R301), except as DeviceAttributes.GuessableKeys says.
	// It is 0 if and only if the region has no remote right. It keeps its last value while the
	// region is invalid.
	RKey() uint32

	// RemoteAddr returns the address by which the peer names the first byte of the region.
	// The byte at offset i has RemoteAddr()+i, which never wraps. It is not an address of
	// the Go program, and may be 0. It changes at each registration.
	RemoteAddr() uint64

	// State returns the state of the region. It may be MRValid although the peer has invalidated
	// the region, if the device has not reported that.
	State() MRState

	// Invalidate makes the region invalid, and waits for accesses in progress. After it
	// returns, neither the peer nor a work request accesses the memory through the region:
	// an access of the peer breaks its connection (R290), and a work request that was
	// posted before fails with StatusLocalProtection. A device that cannot distinguish such a
	// request fails it at once, which breaks the connection. Invalidate succeeds on a region that
	// is invalid already, for example by the peer. A peer can prolong it only where queue pairs are
	// Revokers, and no further than Revoker says: there Invalidate is for goroutines that may wait.
	Invalidate() error

	// Reregister makes an MRInvalid region valid, for any buffer and rights and with a fresh
	// key. A pool of regions uses it to avoid creating objects. The error is ErrBusy for a valid
	// region and ErrClosed for a deregistered one.
	Reregister(buf []byte, access Access) error

	// Deregister invalidates and closes the region. The memory still belongs to the caller, and
	// the region points to it no more. A peer cannot prolong Deregister, unless the region is
	// being revoked (Revoker). Deregister is idempotent.
	Deregister() error
}

// Redirector is a MemoryRegion whose memory can be replaced under its key. It is optional: a
// device may be unable to change the translation of a key. A wrapper returns ErrNotSupported
// if the wrapped region is not a Redirector.
type Redirector interface {
	// Redirect replaces the memory of a valid region by buf, which has the same length. Key,
	// remote address and rights do not change. Redirect waits for accesses in progress,
	// which may use either memory. After it returns, the old memory is not accessed. It has
	// no effect on an MRInvalid region. The error is ErrClosed for a deregistered one.
	Redirect(buf []byte) error
}

// OnDemand is a MemoryRegion that can be valid before it has memory (on-demand paging in
// libibverbs). It is optional. A wrapper returns ErrNotSupported if the wrapped region is not
// OnDemand.
type OnDemand interface {
	// ReregisterOnDemand makes an MRInvalid region valid for size bytes, as Reregister does,
	// but without memory. When the peer first writes to the region, the provider calls
	// memory, once for a registration. memory returns size bytes that Reregister would
	// accept; if it returns an error, the write fails as one without a right. It runs with
	// locks of the provider held: it may allocate and register memory of the domain, and use
	// nothing else of the device. Invalidate waits for it.
	//
	// access must have AccessRemoteWrite and no AccessRemoteRead. Bytes returns nil while the
	// region has no memory. Work requests of this side cannot use the region, and Redirect
	// returns ErrNotSupported.
	ReregisterOnDemand(size int, access Access, memory func() ([]byte, error)) error
}

// MRState is the state of a MemoryRegion.
type MRState uint8

// The states.
const (
	MRValid MRState = iota
	MRInvalid
	MRDeregistered
)

// String returns the name of the state.
func (s MRState) String() string {
	return enumString("MRState", uint(s), "valid", "invalid", "deregistered")
}
