package verbs

import "context"

// Dialer connects queue pairs as the client (rdma_connect).
type Dialer interface {
	// Dial connects a queue pair of this device, which is in StateInit, to a listener. It
	// returns when the queue pair is connected. The caller should have posted Receives
	// before, because the peer may send at once. params may be nil.
	//
	// Dial returns ErrInvalidValue if addr is malformed, ErrConnectionRefused if there is no
	// listener, *RejectedError if the listener has rejected the request, and
	// ErrPeerDisconnected if the peer has closed the connection. It returns ErrDisconnected
	// or ErrDeviceRemoved if that has happened here, and the context's error if the context
	// ended first. After these errors the queue pair is in StateError and its Receives are
	// flushed: create another one for the next attempt. Misuse (ErrInvalidState, ErrTooLarge,
	// ErrForeignObject, also for a nil qp) does not change the queue pair.
	Dial(ctx context.Context, addr string, qp QueuePair, params *ConnParams) (*ConnInfo, error)
}

// Listener accepts connection requests (rdma_listen).
type Listener interface {
	// Accept waits for the next connection request. The caller must answer each request,
	// by its Accept or Reject: until then the peer waits. The error is the context's, or
	// ErrClosed.
	Accept(ctx context.Context) (ConnRequest, error)

	// Addr returns the listener's address in the form that Dial expects. It is complete:
	// port 0 is replaced by the port, for example.
	Addr() string

	// Close closes the listener: Accept returns ErrClosed, and requests that Accept has not
	// returned are refused. Those that it has returned can still be answered. Close is
	// idempotent.
	Close() error
}

// ConnRequest is a connection request of a peer. It is answered once: a second answer
// returns ErrInvalidState.
type ConnRequest interface {
	// PrivateData returns the private data that the peer passed to Dial: read-only,
	// untrusted, with its length or padded (DeviceAttributes.PaddedPrivateData).
	PrivateData() []byte

	// RemoteAddr returns the address of the peer, for logs and access rules.
	RemoteAddr() string

	// Accept connects a queue pair of the listener's device, which is in StateInit. It
	// returns when the queue pair is connected. params may be nil. Where the protocol
	// requires the initiator to send first, the provider delays Sends that are posted
	// before. Accept returns ErrPeerDisconnected if the peer has given up, or the context's
	// error. Then the request is answered, and the queue pair is in StateError. Misuse
	// changes neither.
	Accept(ctx context.Context, qp QueuePair, params *ConnParams) (*ConnInfo, error)

	// Reject refuses the request, with private data for the peer's RejectedError. If it
	// returns ErrTooLarge, the request can still be answered.
	Reject(privateData []byte) error
}

// ConnParams holds one side's parameters of a connection (rdma_conn_param). nil means the
// zero value.
type ConnParams struct {
	PrivateData []byte // for the peer; copied; at most DeviceAttributes.MaxPrivateData bytes

	// InitiatorDepth is the number of Reads that this side wants to have outstanding, and
	// ResponderResources the number of the peer's Reads that it serves at once. If zero, or
	// larger than the device's maximum, that maximum is used. If negative, Reads in that direction
	// are not possible. Each side's depth becomes the smaller of its wish and the other's resources
	// (R14).
	InitiatorDepth     int
	ResponderResources int
}

// ConnInfo holds the negotiated parameters of a connection.
type ConnInfo struct {
	PrivateData []byte // from the peer, maybe padded; it belongs to the caller
	RemoteAddr  string
	LocalAddr   string

	InitiatorDepth     int // number of Reads that this side may have outstanding
	ResponderResources int // number of Reads that the peer may have outstanding
}
