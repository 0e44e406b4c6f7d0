package verbs

import "context"

// Dialer makes connections (rdma_connect).
type Dialer interface {
	// Dial connects a queue pair of this device, in StateInit, to a listener
	// and returns when the connection stands. Receives should be posted by then:
	// the peer may send at once. params may be nil.
	//
	// Errors: ErrConnectionRefused if nobody listens, *RejectedError if the
	// listener said no, ErrPeerDisconnected if it went away, ErrDisconnected or
	// ErrDeviceRemoved if that happened here, the context's error if it ended
	// first. They leave the queue pair in StateError, its Receives flushed;
	// make another one for the next attempt. Misuse (ErrInvalidState,
	// ErrForeignObject, nil being one, ErrTooLarge) leaves it as it was.
	Dial(ctx context.Context, addr string, qp QueuePair, params *ConnParams) (*ConnInfo, error)
}

// Listener takes connection requests (rdma_listen).
type Listener interface {
	// Accept waits for the next connection request. Each one must be answered,
	// by its Accept or Reject: until then the peer waits. The error is the
	// context's, or ErrClosed.
	Accept(ctx context.Context) (ConnRequest, error)

	// Addr is the address in the form Dial takes, with what Listen left open
	// filled in.
	Addr() string

	// Close stops listening: Accept returns ErrClosed, requests not yet given out
	// are refused, those given out can still be answered. Idempotent.
	Close() error
}

// ConnRequest is a peer's wish to connect. It is answered once; a second answer
// is ErrInvalidState.
type ConnRequest interface {
	// PrivateData is what the peer passed to Dial: read-only, untrusted, at
	// most DeviceAttributes.MaxPrivateData bytes.
	PrivateData() []byte

	// RemoteAddr names the peer, for logs and access rules.
	RemoteAddr() string

	// Accept connects a queue pair in StateInit of the listener's device and
	// returns when the connection stands; params may be nil. Sends posted
	// then are the provider's to hold back where its protocol lets the
	// initiator speak first. Errors: ErrPeerDisconnected if the peer gave up, the
	// context's error; then the request is settled and the queue pair in
	// StateError. Misuse leaves both as they were.
	Accept(ctx context.Context, qp QueuePair, params *ConnParams) (*ConnInfo, error)

	// Reject refuses, with private data for the peer's RejectedError. ErrTooLarge
	// leaves the request unanswered.
	Reject(privateData []byte) error
}

// ConnParams is one side's part in setting up a connection (rdma_conn_param).
// nil stands for the zero value.
type ConnParams struct {
	PrivateData []byte // for the peer; copied; at most MaxPrivateData bytes

	// InitiatorDepth is how many Reads we want to have outstanding,
	// ResponderResources how many of the peer's we will serve at once. Zero
	// is the device's maximum, negative is none; more than the maximum is
	// cut down to it. Each side's depth becomes the lesser of its wish and the
	// other's resources (R14).
	InitiatorDepth     int
	ResponderResources int
}

// ConnInfo is what was agreed.
type ConnInfo struct {
	PrivateData []byte // the peer's; the caller's to keep
	RemoteAddr  string
	LocalAddr   string

	InitiatorDepth     int // Reads we may have outstanding; 0: none
	ResponderResources int // Reads the peer may have outstanding
}
