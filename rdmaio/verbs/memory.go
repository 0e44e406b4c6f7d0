package verbs

// ProtectionDomain ties regions to the queue pairs that may reach them: a key
// works only on queue pairs of the region's own domain (RFC 5042 §6.1.1; R8).
// A transport that wants a key to work on one connection only makes one
// domain for each connection.
type ProtectionDomain interface {
	// Alloc gives size bytes of zeroed memory that RegisterMemory accepts,
	// aligned to at least 64 bytes. The caller returns it with Free. What Go
	// knows of it depends on the provider: it may be mapped memory that the
	// garbage collector neither moves, scans nor frees.
	Alloc(size int) ([]byte, error)

	// Free returns memory of Alloc; buf must be the slice that Alloc gave (any
	// capacity or length, same first byte). The error is ErrBusy while a valid
	// region covers any of it; an invalid one, which nothing can reach, does not count.
	Free(buf []byte) error

	// RegisterMemory makes a region of buf[0:len(buf)], to the byte, neither
	// rounded nor extended to pages as far as the peer can tell. The region
	// keeps buf alive. Empty buffers are refused. Rights not asked for are
	// refused to the peer (R9, R304). ErrNotSupported for memory that is not of
	// this domain's Alloc, if the device takes no other
	// (DeviceAttributes.HeapMemory). Regions may overlap. It may block for the
	// time it takes to pin the memory.
	RegisterMemory(buf []byte, access Access) (MemoryRegion, error)

	// CreateQP makes a queue pair in StateInit: Receives can be posted, Sends
	// not yet.
	CreateQP(cfg QPConfig) (QueuePair, error)

	// Close gives the domain back; ErrBusy while it has regions, queue pairs or
	// allocated memory. Idempotent.
	Close() error
}

// Access is a set of rights to a region. Local reading always is allowed.
type Access uint8

// The rights. AccessRemoteWrite needs AccessLocalWrite, as in libibverbs.
const (
	AccessLocalWrite       Access = 1 << iota // Receives and Read responses may land here
	AccessRemoteRead                          // the peer may Read
	AccessRemoteWrite                         // the peer may Write
	AccessRemoteInvalidate                    // the peer may end the region by SendWithInvalidate; kernel providers cannot refuse it to a peer and ignore its absence

	accessAll = AccessLocalWrite | AccessRemoteRead | AccessRemoteWrite | AccessRemoteInvalidate
)

// Remote reports whether the set has any right for the peer.
func (a Access) Remote() bool {
	return a&(AccessRemoteRead|AccessRemoteWrite|AccessRemoteInvalidate) != 0
}

// Valid reports whether a provider accepts the set: known bits only,
// AccessRemoteWrite with AccessLocalWrite, AccessRemoteInvalidate only next to
// a right to read or write.
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

// String lists the rights: "local-write|remote-read"; "local-read" for none.
func (a Access) String() string {
	return flagString(uint(a), "local-read", "local-write", "remote-read", "remote-write", "remote-invalidate")
}

// MemoryRegion is registered memory and the key to it.
//
// A region is MRValid from its registration until it is invalidated: by
// Invalidate, by a LocalInvalidate request, or by the peer. An MRInvalid region
// can be named by nobody, neither the peer nor a local work request, and is
// either given back by Deregister or used again by Reregister.
type MemoryRegion interface {
	// Bytes is the slice registered last.
	Bytes() []byte

	// Access is the set of rights registered last.
	Access() Access

	// RKey is the handle a peer needs: 32 bits that nobody can guess from
	// earlier ones, fresh on each registration (R1, R301); never 0 for a region
	// with a remote right, 0 for a region without. It keeps its last value
	// while the region is invalid.
	RKey() uint32

	// RemoteAddr is what the peer calls the first byte of the region; the byte
	// at offset i is RemoteAddr()+i, which never wraps. It is no address to the
	// Go program, and 0 is a good value. It too changes at each registration.
	RemoteAddr() uint64

	// State tells whether the region is usable.
	State() MRState

	// Invalidate ends the region's validity. On return no access by the peer or
	// by a work request is running or can begin; one in progress was waited
	// for, a later one breaks the peer's connection (R290). Work requests that
	// were posted with the region and have not run fail when they do
	// (StatusLocalProtection). A region that is invalid already, the peer having
	// been faster, is success. It must not depend on the peer how long it takes.
	Invalidate() error

	// Reregister makes an MRInvalid region valid again, for any buffer and
	// rights and with a fresh key, without a new object: what a pool of regions
	// needs. ErrBusy for a valid region, ErrClosed for a deregistered one.
	Reregister(buf []byte, access Access) error

	// Deregister invalidates and gives the region back. The memory itself
	// remains the caller's. Idempotent.
	Deregister() error
}

// Redirector is a MemoryRegion whose memory can be exchanged under its key. It is optional: a device may be unable to
// change the translation of a key that its peer holds. A wrapper returns ErrNotSupported if the wrapped region is no Redirector.
type Redirector interface {
	// Redirect makes a valid region stand for buf, which has as many bytes as the memory before. Key, remote addresses
	// and rights stay. On return no access to the memory before is running or can begin; one in progress was waited
	// for, and may have gone to either. It has no effect on an MRInvalid region. ErrClosed for a deregistered one.
	Redirect(buf []byte) error
}

// MRState is the state of a MemoryRegion.
type MRState uint8

// The states.
const (
	MRValid MRState = iota
	MRInvalid
	MRDeregistered
)

// String names the state.
func (s MRState) String() string {
	return enumString("MRState", uint(s), "valid", "invalid", "deregistered")
}
