package quirks

// Quirks are the departures of one device. The zero value is a device that keeps every promise.
type Quirks struct {
	// UnorderedReads: a Send or Write completes while an earlier Read of its queue is outstanding.
	UnorderedReads bool

	// NoSolicitedEvent: a queue armed for solicited completions makes no event for a solicited
	// Receive. NoErrorEvent: it makes none for a failed request.
	NoSolicitedEvent bool
	NoErrorEvent     bool

	// LateCause: a failed request completes as flushed. Only an asynchronous event says why the
	// queue pair failed. That event comes after the connection's DISCONNECTED with CauseAfterEnd,
	// some milliseconds after it with CauseDelayed, and never with CauseNever.
	LateCause     bool
	CauseAfterEnd bool
	CauseDelayed  bool
	CauseNever    bool

	// NoRNR: a Send to a peer without a posted Receive completes with success, and then the
	// connection ends.
	NoRNR bool

	// UnreadFirst: what reaches a device right after it has accepted a connection over iWARP is
	// left unread until more comes.
	UnreadFirst bool

	// BrittleReply: the connection fails if something of the acceptor reaches the initiator
	// together with the reply to its connection request.
	BrittleReply bool

	// NoEmptyReads: a Read without elements takes the element of an older request in its place, and
	// a peer that is such a device answers a Read of no bytes with an older message's bytes.
	NoEmptyReads bool

	// KernelTCP: connections are TCP connections of the kernel, which can be asked about them.
	KernelTCP bool

	// EmptySGE: a Receive without elements is refused. One element of length 0 works.
	EmptySGE bool

	// PaddedPrivateData: private data arrives padded with zeros, to 56 bytes in a request, 196 in
	// a reply and 148 in a rejection.
	PaddedPrivateData bool

	// PeersDepths: the Read depths in the event that a request was accepted are as the peer sees
	// them: its own initiator depth is in the field for the initiator depth. Those in the event of
	// a request are as this side sees them, over iWARP too.
	PeersDepths bool

	// StatusRejects: the status of a REJECTED event is a negative errno: ECONNREFUSED if the peer
	// has no listener, and another if the listener rejected the request. Without it the status is
	// an InfiniBand reason: 8 and 28.
	StatusRejects bool

	// NoLocalInvalidate: the post of a local invalidation fails. LocalInvalidateBreaks: a local
	// invalidation of an ordinary region fails, and the queue pair with it.
	NoLocalInvalidate     bool
	LocalInvalidateBreaks bool

	// InvalidateOnce: a local invalidation of a window that is invalid already fails, and the
	// queue pair with it.
	InvalidateOnce bool

	// RemoteInvalidateBreaks: if the peer's SendWithInvalidate names an ordinary region, the
	// Receive and the queue pair fail. The peer's request succeeds.
	RemoteInvalidateBreaks bool

	// UnreportedInvalidate: the completion of a Receive does not say which key the peer has
	// invalidated. KernelWithInv: it has the key, but the kernel's flag in place of
	// libibverbs' one.
	UnreportedInvalidate bool
	KernelWithInv        bool

	// InvalidateInRKey: the library takes the key of a SendWithInvalidate from the field for the
	// remote key of Writes and Reads.
	InvalidateInRKey bool

	// GuessableKeys: a peer can guess the keys of regions from the keys that it has.
	GuessableKeys bool

	// SinkNeedsRemoteWrite: the sink of a Read must allow remote writes.
	SinkNeedsRemoteWrite bool

	// DeregLeavesReads: deregistration does not wait for a Read Response that the device is
	// sending.
	DeregLeavesReads bool

	// MaxUnflushed is the number of requests that may be left without a completion when the queue
	// pair fails. They are the last ones of the send queue.
	MaxUnflushed int

	// OddStatuses: a message that is too long for the Receive completes as StatusRemOp at the
	// sender and as StatusGeneral at the receiver. A local invalidation that fails completes as
	// StatusLocQPOp.
	OddStatuses bool

	// NoWindows: the device has no memory windows, and says so. WindowsAbsent: it says that it has
	// them, but allocation fails.
	NoWindows     bool
	WindowsAbsent bool

	// WindowsUnbounded: the device checks the rights of a window, but the range of its region: the
	// peer reaches all of it. The provider then uses no windows.
	WindowsUnbounded bool

	// RefusedPage: the library refuses an object whose queue is mapped at page 144 of the context.
	// The kernel maps queues at the first pages that are free.
	RefusedPage bool

	// NoConnections: the device has no reliable connections. No queue pair can be created.
	NoConnections bool
}
