package verbs

import "context"

// Device is an open RDMA device, which creates all other objects. Objects of two devices
// cannot be used together, even if both are of one provider: the result is
// ErrForeignObject.
type Device interface {
	Dialer

	// Attributes returns the limits of the device, which do not change.
	Attributes() DeviceAttributes

	// AllocPD creates a protection domain.
	AllocPD() (ProtectionDomain, error)

	// CreateCQ creates a completion queue of at least the given number of entries, 1 to
	// DeviceAttributes.MaxCQE. notify is called as CompletionQueue.Arm says. It may be nil
	// for a queue that is only polled.
	CreateCQ(entries int, notify func()) (CompletionQueue, error)

	// Listen starts a listener at an address, in the provider's form ("host:port" where it
	// runs over IP). ctx limits the call, not the life of the listener. The error is
	// ErrAddressInUse if there is another listener at the address.
	Listen(ctx context.Context, addr string) (Listener, error)

	// Resources counts the existing objects, for leak checks and statistics.
	Resources() Resources

	// Close closes the device. While an object of the device exists, it fails with ErrBusy
	// and names the objects. It is idempotent after success. It waits for goroutines of
	// the provider, not for peers, and ends connection requests that were not answered.
	Close() error
}

// DeviceAttributes holds the limits of a device (ibv_device_attr).
type DeviceAttributes struct {
	Name string // for logs: "mem0", "siw0"

	MaxSendWR  int // requests in a send queue
	MaxRecvWR  int // requests in a receive queue
	MaxSendSGE int // elements of a Send or Write
	MaxRecvSGE int // elements of a Receive
	MaxReadSGE int // elements of a Read's sink; 1 over iWARP
	MaxCQE     int // entries of a completion queue

	MaxMRSize      uint64 // bytes of one region
	MaxMessageSize uint32 // bytes of one Send, Write or Read

	// MaxRemoteAddr is the last address of a peer's region that a Write or Read can name.
	// If zero, there is no limit.
	MaxRemoteAddr uint64

	MaxInitiatorDepth     int // Reads a queue pair may have outstanding
	MaxResponderResources int // Reads of the peer it can serve at once
	MaxPrivateData        int // bytes in each connection management message

	// InlineSize is the size in bytes of the longest message that is better sent whole than fetched
	// by a Read, or brought by a Write. Transports use it as the default inline threshold; it
	// limits nothing in this package. If zero, the device has no preference.
	InlineSize int

	// HeapMemory reports whether RegisterMemory accepts any slice of the Go heap. If
	// false, it accepts only memory of ProtectionDomain.Alloc, and a transport must copy
	// other memory (stage it).
	HeapMemory bool

	// LendReceives reports whether Receives can have memory of the provider (RecvWR.Lend). Devices
	// with hardware cannot: they need memory in place for the next message of each queue.
	LendReceives bool

	// ReaderNotifies reports that each connection has goroutines that receive and send, and that
	// notifications of a queue pair's completions run there, on a goroutine that posts to the same
	// queue pair or disconnects it, or in Progresser.Progress. Code of an upper layer that runs in
	// a notification then delays this connection only. If false, a notification may run on a
	// goroutine that serves, or posts to, another connection.
	ReaderNotifies bool

	// RemoteInvalidate reports whether SendWithInvalidate works, in both directions.
	RemoteInvalidate bool

	// InvalidateWindowsOnly reports that requests invalidate memory windows only, as InfiniBand
	// does. A region is a window if it was registered with AccessRemoteInvalidate while its domain
	// had one queue pair, in StateConnected. A LocalInvalidate may be refused for other regions
	// (ErrNotSupported), or break the connection. A SendWithInvalidate for another region in the
	// domain either breaks the connection or invalidates the region, with or without a report,
	// whatever the region's rights are. If false, a LocalInvalidate works for all regions with a
	// key, and a SendWithInvalidate for those that have the right.
	InvalidateWindowsOnly bool

	// PaddedPrivateData reports that private data arrives padded with zeros, because the message
	// has a field of fixed size, as in InfiniBand: 56 bytes in a request, 196 in a reply, 148 in a
	// rejection. A receiver finds the length in the data itself. If false, private data arrives
	// with its length.
	PaddedPrivateData bool

	// GuessableKeys reports that a peer can guess further keys from one that it knows, for example
	// because the driver counts, or because only the low byte of a window's key changes. A key may
	// then name a region again after other registrations. It never names the registration just
	// before. Only the domain then protects regions, so a transport creates one for each connection
	// (RFC 5042 §6.1.1; R8). If false, keys are as MemoryRegion.RKey says.
	GuessableKeys bool

	// TLS reports that the connections of Dial and Listen have TLS.
	TLS bool

	// Addresses is the form of address that Dial and Listen take.
	Addresses AddressForm
}

// AddressForm is a form of addresses. It decides whether a service has a universal address,
// and so can be registered with rpcbind.
type AddressForm uint8

// The forms.
const (
	// AddressName means names that only the provider understands.
	AddressName AddressForm = iota

	// AddressIP means "host:port" or "[host]:port": an IP address, or a name that resolves
	// to one, and the port of a service. The provider resolves it to the fabric's own
	// addresses, for example InfiniBand GIDs (R318). The port is a TCP port, or one of the
	// connection manager's port space for TCP (RDMA_PS_TCP; R319). A Listener's Addr has an
	// IP address, not a name.
	AddressIP
)

// String returns the name of the form.
func (f AddressForm) String() string { return enumString("AddressForm", uint(f), "name", "IP") }

// Resources counts the existing objects of a device.
type Resources struct {
	PDs, CQs, QPs, MRs, Listeners int

	AllocatedBytes uint64 // bytes of ProtectionDomain.Alloc that were not freed
	PostedRecvs    int    // posted Receives whose completion was not polled
	PostedSends    int    // entries of send queues that are in use
}
