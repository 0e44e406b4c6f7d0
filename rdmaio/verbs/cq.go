package verbs

// CompletionQueue collects completions of one or more queue pairs.
//
// It cannot overflow: CreateQP reserves MaxSendWR and MaxRecvWR entries in its completion
// queues, and fails with ErrQueueFull if they have too few (RFC 5042 §6.4.3.2).
//
// # Waiting for completions
//
// Arm makes the next completion that enters the queue call notify, once. Completions that
// entered before do not call it. To miss none, poll again after Arm:
//
//	for {
//		for poll, handle until Poll returns 0 {}
//		cq.Arm(false)
//		if Poll returns something { handle; continue }   // it came between the last Poll and Arm
//		wait for notify, together with submissions and timers
//	}
//
// A provider may call notify without need, but must never miss a call. NotifyChannel returns
// a notify function with a channel, for use in a select. A provider over a kernel
// completion channel calls notify from the goroutine that reads that channel.
type CompletionQueue interface {
	// Poll moves up to len(wcs) completions to wcs and returns their number. It neither
	// waits nor runs notifications. With the completion, the memory of the request
	// belongs to the caller again. The error is ErrClosed.
	Poll(wcs []WC) (int, error)

	// Arm requests one call of notify. With solicitedOnly, only a Receive whose Send had
	// SendSolicited, or a completion with an error, triggers the call. If Arm is
	// called twice before that call, it happens once, for the wider of the two requests.
	//
	// notify runs on the goroutine that caused the completion, possibly inside a post,
	// Disconnect or Close by the same caller, with no lock of the provider held. It must
	// not wait. It may poll, arm and post, on any object. Two calls may overlap if the
	// first one arms again.
	Arm(solicitedOnly bool) error

	// Cap returns the number of entries.
	Cap() int

	// Close closes the queue. The error is ErrBusy while a queue pair uses it. Completions
	// that were not polled are lost. notify is not called again, but a call may still be
	// running when Close returns. Close is idempotent.
	Close() error
}

// WC is a work completion (ibv_wc).
//
// If Status is not StatusSuccess, only WRID, Status and QPNum are valid, as with hardware. A
// caller that must identify a failed request encodes that in the WRID.
type WC struct {
	WRID   uint64 // the WRID of the request
	Status Status
	Opcode WCOpcode
	QPNum  uint32 // QueuePair.Num of the queue pair

	// ByteLen is the length in bytes of a received message, or of the data that a Read fetched. It
	// is 0 for other opcodes.
	ByteLen uint32

	// InvalidatedRKey is, for a Receive, our key that the peer's SendWithInvalidate has
	// invalidated. It is 0 for a plain Send.
	InvalidatedRKey uint32

	// Loan has the message of a Receive with RecvWR.Lend. It is nil if the message has no bytes.
	Loan Loan
}

// Err returns nil on success, and else a *CompletionError.
func (wc *WC) Err() error {
	if wc.Status == StatusSuccess {
		return nil
	}
	return &CompletionError{WRID: wc.WRID, QPNum: wc.QPNum, Status: wc.Status}
}

// WCOpcode is the kind of a completed request.
type WCOpcode uint8

// The kinds of completed requests.
const (
	WCSend WCOpcode = iota // Send or SendWithInvalidate
	WCRDMAWrite
	WCRDMARead
	WCLocalInvalidate
	WCRecv
)

// String returns the name of the kind.
func (o WCOpcode) String() string {
	return enumString("WCOpcode", uint(o), "send", "write", "read", "local-invalidate", "recv")
}

// NotifyChannel returns a notify function for CreateCQ or QPConfig.Notify, and the channel
// that it signals. The channel holds one signal, and further ones are dropped. A caller that
// polls as CompletionQueue says misses no completion.
func NotifyChannel() (notify func(), c <-chan struct{}) {
	ch := make(chan struct{}, 1)
	return func() {
		select {
		case ch <- struct{}{}:
		default:
		}
	}, ch
}
