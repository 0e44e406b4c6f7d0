package verbs

// CompletionQueue collects completions of one or more queue pairs.
//
// It cannot overflow: CreateQP reserves MaxSendWR and MaxRecvWR entries in the
// queues it names and fails with ErrQueueFull if they are not there (RFC 5042
// §6.4.3.2).
//
// # Waiting without missing a wake-up
//
// Arm makes the next completion that enters the queue call notify, once. It
// says nothing about completions that were there before. Therefore:
//
//	for {
//		for poll, handle until Poll returns 0 {}
//		cq.Arm(false)
//		if Poll returns something { handle; continue }   // came between the last Poll and Arm
//		wait for notify, together with submissions and timers
//	}
//
// A spurious notify is allowed, a missed one is not. NotifyChannel gives a
// notify that one select can wait for along with everything else; a
// provider over a kernel completion channel calls notify from its reader of
// that file.
type CompletionQueue interface {
	// Poll moves up to len(wcs) completions to wcs and returns how many. It
	// never waits, nor runs notifications. Each completion is given out once; with
	// it the caller has the request's memory back. The error is ErrClosed.
	Poll(wcs []WC) (int, error)

	// Arm asks for one call of notify; with solicitedOnly only a Receive whose
	// Send was flagged SendSolicited and a completion with an error trigger it.
	// Arming twice before the call is arming once, for the wider of the two.
	//
	// notify runs on whatever goroutine caused the completion, possibly inside a
	// post, Disconnect or Close by this very caller, with no lock of the provider
	// held. It must not wait; it may poll, arm and post, on any object. Two calls
	// may overlap when the first one arms again.
	Arm(solicitedOnly bool) error

	// Cap is the number of entries.
	Cap() int

	// Close gives the queue back; ErrBusy while a queue pair uses it.
	// Completions that were not polled are lost. After it notify is not called
	// again, though a call begun before may still be running. Idempotent.
	Close() error
}

// WC is a work completion (ibv_wc).
//
// If Status is not StatusSuccess only WRID, Status and QPNum have a meaning:
// hardware tells no more. Whoever must know what a failed request was encodes
// it in the WRID.
type WC struct {
	WRID   uint64   // as posted
	Status Status   // how it ended
	Opcode WCOpcode // what ended
	QPNum  uint32   // QueuePair.Num of the queue pair

	// ByteLen is the length of the message received or of the data read; 0 for
	// the other opcodes.
	ByteLen uint32

	// InvalidatedRKey is, for a Receive, the key of ours that the peer's
	// SendWithInvalidate ended; 0 if it sent a plain Send.
	InvalidatedRKey uint32
}

// Err is nil on success, else the Status as an error that names the request.
func (wc *WC) Err() error {
	if wc.Status == StatusSuccess {
		return nil
	}
	return &CompletionError{WRID: wc.WRID, QPNum: wc.QPNum, Status: wc.Status}
}

// WCOpcode tells what kind of request completed.
type WCOpcode uint8

// The kinds.
const (
	WCSend WCOpcode = iota // Send or SendWithInvalidate
	WCRDMAWrite
	WCRDMARead
	WCLocalInvalidate
	WCRecv
)

// String names the kind.
func (o WCOpcode) String() string {
	return enumString("WCOpcode", uint(o), "send", "write", "read", "local-invalidate", "recv")
}

// NotifyChannel gives a notify function for CreateCQ (or QPConfig.Notify) and
// the channel it signals. The channel holds one signal; further ones fall
// together with it, which loses nothing under the rule of CompletionQueue.
func NotifyChannel() (notify func(), c <-chan struct{}) {
	ch := make(chan struct{}, 1)
	return func() {
		select {
		case ch <- struct{}{}:
		default:
		}
	}, ch
}
