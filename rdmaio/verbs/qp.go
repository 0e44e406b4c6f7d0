package verbs

// QueuePair is one end of a reliable connection (ibv_qp of type RC; RFC 8166 §8.1.1; R7).
type QueuePair interface {
	// Num identifies the queue pair on its device, as in WC.QPNum. It is not
	// used again soon after Close.
	Num() uint32

	// PostSend posts requests in order. n tells how many were taken: when wrs[n]
	// is refused, the n before it are posted and will complete, wrs[n] and those
	// after it were not looked at further and leave no trace (libibverbs'
	// bad_wr). err is nil if and only if n == len(wrs).
	//
	// Refused here: a state other than StateConnected (ErrInvalidState), no
	// room (ErrQueueFull), a malformed request or an SGE outside its region
	// (ErrInvalidWR), a region of another domain, device or provider
	// (ErrForeignObject), a region that is invalid or lacks AccessLocalWrite
	// under a Read (ErrAccess), more bytes than MaxMessageSize (ErrTooLarge), a
	// Read where the negotiated initiator depth is 0 or a SendWithInvalidate on
	// a device without it (ErrNotSupported).
	//
	// A request uses one entry of the send queue until its completion is
	// polled, or if unsignaled until that of a later signaled one is: a queue
	// of unsignaled requests only fills up for good. At most the negotiated
	// InitiatorDepth Reads run at a time; a further one, and what is behind it,
	// waits in the queue (R14).
	//
	// It never waits for the peer, but may run notifications before it returns
	// (see CompletionQueue.Arm); do not hold a lock that they take. A connection
	// that breaks while a batch is posted either flushes the rest of it or
	// refuses it with ErrInvalidState.
	PostSend(wrs []SendWR) (n int, err error)

	// PostRecv posts Receives, in order, with the rules of PostSend. It works in
	// StateInit, StateConnecting and StateConnected. A Receive uses its entry
	// until its completion is polled. Each element's region needs AccessLocalWrite.
	PostRecv(wrs []RecvWR) (n int, err error)

	// State is the state now; it can change at any time.
	State() QPState

	// Err tells why the queue pair is in StateError: errors.Is with
	// ErrDisconnected, ErrPeerDisconnected, ErrConnectionBroken or
	// ErrDeviceRemoved, or with what a failed Dial or Accept returned. nil
	// before that; the same for good after it.
	Err() error

	// Disconnect ends the connection, in any state, and is idempotent: the
	// queue pair goes to StateError with ErrDisconnected, what is outstanding
	// completes with StatusFlushed, the peer sees ErrPeerDisconnected. Requests
	// that were posted but have not run are not sent: to end in order, wait for
	// completions first. On return no more memory is touched on behalf of this
	// queue pair. A ReasonDisconnecter can give the peer a reason.
	Disconnect() error

	// Close disconnects if need be and gives the queue pair back. Completions
	// stay in their queues, with this Num, until they are polled. Idempotent.
	Close() error
}

// QPConfig configures CreateQP. The zero value of a number is its default;
// above the device's limit is an error (ErrTooLarge).
type QPConfig struct {
	SendCQ, RecvCQ CompletionQueue // required; may be the same

	MaxSendWR  int // requests in the send queue; default 128, or the device's maximum if less
	MaxRecvWR  int // requests in the receive queue; default as for MaxSendWR
	MaxSendSGE int // elements of a request; default 4, or the device's maximum if less
	MaxRecvSGE int // elements of a Receive; default as for MaxSendSGE

	// Notify, if not nil, is called once, when the queue pair enters
	// StateError, be it by a failed Dial or by Close, after all its flushed completions are in their queues and the
	// peer can no longer reach memory through it. The rules of
	// CompletionQueue.Arm's notify hold.
	Notify func()
}

// QPState is the state of a QueuePair.
type QPState uint8

// The states. The order of the values is the only order of transitions.
const (
	StateInit       QPState = iota // made; Receives may be posted
	StateConnecting                // in Dial or Accept
	StateConnected                 // Sends may be posted (IBV_QPS_RTS)
	StateError                     // disconnected or broken; everything flushed; posts are refused
	StateClosed                    // given back
)

// String names the state.
func (s QPState) String() string {
	return enumString("QPState", uint(s), "init", "connecting", "connected", "error", "closed")
}
