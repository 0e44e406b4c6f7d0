package verbs

// QueuePair is one end of a reliable connection (ibv_qp of type RC; RFC 8166 §8.1.1; R7).
type QueuePair interface {
	// Num returns the number of the queue pair on its device, as in WC.QPNum. The device
	// does not use it again soon after Close.
	Num() uint32

	// PostSend posts requests in order. It returns the number of requests that were posted.
	// If wrs[n] is refused, the n requests before it are posted and will complete; wrs[n] and the
	// later ones have no effect (libibverbs' bad_wr). err is nil if and only if n == len(wrs).
	//
	// PostSend returns
	//
	//   - ErrInvalidState in a state other than StateConnected;
	//   - ErrQueueFull if the send queue is full;
	//   - ErrInvalidWR for a malformed request, or an SGE outside its region;
	//   - ErrForeignObject for a region of another domain, device or provider;
	//   - ErrAccess for a region that is invalid, or lacks AccessLocalWrite for a Read;
	//   - ErrTooLarge for more bytes than MaxMessageSize;
	//   - ErrNotSupported for a Read if the negotiated initiator depth is 0, or for a
	//     SendWithInvalidate on a device without it.
	//
	// A request uses an entry of the send queue until its completion is polled. An unsignaled
	// request uses its entry until a later signaled request's completion is polled, so a queue with
	// unsignaled requests only fills up permanently. At most the negotiated InitiatorDepth Reads
	// run at a time. A further Read, and all later requests, wait in the queue (R14).
	//
	// PostSend never waits for the peer. It may run notifications before it returns (see
	// CompletionQueue.Arm): the caller must not hold a lock that they take. If the
	// connection breaks during a post, the rest of its requests are either flushed or
	// refused with ErrInvalidState.
	PostSend(wrs []SendWR) (n int, err error)

	// PostRecv posts Receives in order, by the rules of PostSend. It works in StateInit,
	// StateConnecting and StateConnected. A Receive uses its entry until its completion is
	// polled. The region of each element needs AccessLocalWrite.
	PostRecv(wrs []RecvWR) (n int, err error)

	// State returns the current state, which can change at any time.
	State() QPState

	// Err returns the reason why the queue pair is in StateError, and nil before. It may also
	// return nil in StateError until QPConfig.Notify runs, while the provider waits for the
	// reason, and returns it from then on. The reason wraps ErrDisconnected,
	// ErrPeerDisconnected, ErrConnectionBroken or ErrDeviceRemoved, or is the error of a failed
	// Dial or Accept. It does not change.
	//
	// The device may not know why the other end is gone. So the reason may be
	// ErrPeerDisconnected after an error, and ErrConnectionBroken, with another status or
	// none, after the peer's Disconnect. Reasons are for people: code that depends on them
	// works less well, but not wrong, with any other reason.
	Err() error

	// Disconnect closes the connection, in any state. The queue pair enters StateError with
	// ErrDisconnected, outstanding requests complete with StatusFlushed, and the peer gets
	// ErrPeerDisconnected. Requests that have not run are not sent: to have them sent, wait for
	// their completions first. After Disconnect returns, no memory is accessed through this queue
	// pair. Disconnect is idempotent. A ReasonDisconnecter can report a reason to the peer.
	Disconnect() error

	// Close disconnects and closes the queue pair. Its completions stay in their queues,
	// with this Num, until they are polled. Close is idempotent.
	Close() error
}

// QPConfig configures CreateQP. A number above the device's limit is an error
// (ErrTooLarge), and so is a negative one (ErrInvalidValue).
type QPConfig struct {
	// SendCQ and RecvCQ are the completion queues of the send queue and the receive queue.
	// They are required, and may be the same.
	SendCQ, RecvCQ CompletionQueue

	// MaxSendWR and MaxRecvWR are the number of entries in the send queue and the receive
	// queue. If zero, the default is 128, or the device's maximum if that is smaller.
	MaxSendWR int
	MaxRecvWR int

	// MaxSendSGE and MaxRecvSGE are the largest number of elements in a request and in a Receive.
	// If zero, the default is 4, or the device's maximum if that is smaller.
	MaxSendSGE int
	MaxRecvSGE int

	// MaxBoundMRs is the largest number of regions with remote rights that are valid in the domain
	// at a time. A device with memory windows binds them by requests of this queue pair, and
	// reserves entries for them in addition to MaxSendWR. If zero, the default is up to the device.
	// A registration above the number may fail with ErrQueueFull, or take longer. Providers that
	// bind no windows ignore it.
	//
	// A caller that sets it sends keys to the peer by Sends of this queue pair only, which it posts
	// after the registration: a registration may then return before the window is bound. If zero,
	// it returns afterwards, and so may wait behind requests that the peer must acknowledge.
	MaxBoundMRs int

	// Notify is called once, when the queue pair enters StateError, if it is not nil, or some
	// milliseconds later, if the provider waits for the reason. A failed Dial and Close do so too.
	// At that time all flushed completions are in their queues, and the peer can no longer access
	// memory through the queue pair. The rules for notify of CompletionQueue.Arm apply.
	Notify func()
}

// QPState is the state of a QueuePair.
type QPState uint8

// The states. A queue pair moves only to states with higher values.
//
//	StateInit ── Dial, Accept ──> StateConnecting ──> StateConnected
//	    └─────────────────────────────────┴──────────────────┴──> StateError ──> StateClosed
const (
	StateInit       QPState = iota // Receives can be posted
	StateConnecting                // Dial or Accept is in progress
	StateConnected                 // all requests can be posted (IBV_QPS_RTS)
	StateError                     // the connection is closed, and posts are refused
	StateClosed
)

// String returns the name of the state.
func (s QPState) String() string {
	return enumString("QPState", uint(s), "init", "connecting", "connected", "error", "closed")
}
