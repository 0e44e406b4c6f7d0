package verbs

import "context"

// Device is an opened RDMA device: the root of all other objects. Objects of
// two devices do not mix, even if one provider made both: such a use
// is refused with ErrForeignObject.
type Device interface {
	Dialer

	// Attributes tells the limits of the device; they do not change.
	Attributes() DeviceAttributes

	// AllocPD makes a protection domain.
	AllocPD() (ProtectionDomain, error)

	// CreateCQ makes a completion queue of at least the given number of
	// entries, 1 to DeviceAttributes.MaxCQE. notify is what Arm arms; nil
	// is allowed for a queue that is only polled. See CompletionQueue.
	CreateCQ(entries int, notify func()) (CompletionQueue, error)

	// Listen starts to take connection requests at an address, written as the
	// provider wants it ("host:port" where it runs over IP). The context bounds
	// the call, not the listener. ErrAddressInUse if the address is taken.
	Listen(ctx context.Context, addr string) (Listener, error)

	// Resources counts what is alive now, for leak checks and statistics.
	Resources() Resources

	// Close gives the device back. It fails with ErrBusy, and names what is
	// left, while any object of it is alive; it is idempotent after success. It
	// waits for goroutines of the provider, not for peers. Connection requests
	// that nobody answered do not hold it up: they end.
	Close() error
}

// DeviceAttributes are a device's limits (ibv_device_attr).
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

	// MaxRemoteAddr is the last address of a peer's region that a Write or Read can name. If zero, there is no limit.
	MaxRemoteAddr uint64

	MaxInitiatorDepth     int // Reads a queue pair may have outstanding
	MaxResponderResources int // Reads of the peer it can serve at once
	MaxPrivateData        int // bytes in each connection management message

	// HeapMemory: RegisterMemory takes any slice of the Go heap. Where it is
	// false only memory from ProtectionDomain.Alloc can be registered, and a
	// transport stages (copies) what its callers have elsewhere.
	HeapMemory bool

	// RemoteInvalidate: SendWithInvalidate works, in both directions.
	RemoteInvalidate bool

	// Addresses is what Dial and Listen take.
	Addresses AddressForm
}

// AddressForm is a kind of addresses. Whether a service has a universal address, and so can be
// registered with rpcbind, depends on it.
type AddressForm uint8

// The kinds.
const (
	// AddressName is names of the provider's own.
	AddressName AddressForm = iota

	// AddressIP is "host:port" or "[host]:port", an IP address (or what resolves to one) and the port of a service. What fabrics
	// of other addresses have, InfiniBand's GIDs say, the provider finds by itself (R318), and the port is that
	// of TCP, or of the connection manager's space for it (RDMA_PS_TCP; R319). A Listener's Addr is an address and a port, not a name.
	AddressIP
)

// String names the kind.
func (f AddressForm) String() string { return enumString("AddressForm", uint(f), "name", "IP") }

// Resources counts the living objects of a device.
type Resources struct {
	PDs, CQs, QPs, MRs, Listeners int

	AllocatedBytes uint64 // by ProtectionDomain.Alloc, not yet freed
	PostedRecvs    int    // Receives posted whose completion was not polled
	PostedSends    int    // send queue entries in use
}
