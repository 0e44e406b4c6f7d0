package stream

import (
	"fmt"
	"time"

	"github.com/rpcrdma/rpcrdma/rdmaio/providers/internal/soft"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// Framing sets up the connections of a device. One value serves all of them, on many goroutines.
type Framing interface {
	// Connect does the initiator's part of the set-up: it writes to c and reads from it until both
	// sides may send frames. It runs on the goroutine of Dial, with no lock held. When Dial's
	// context is done, the reads and writes fail.
	Connect(c *Conn, p *verbs.ConnParams) (*Session, error)

	// Receive waits for the initiator's request. It runs on a goroutine of the listener, or
	// on the goroutine that called AcceptConn, with no lock held. Its reads and writes fail after
	// Config.HandshakeTimeout.
	Receive(c *Conn) (Offer, error)
}

// Offer is the request of an initiator. One of Accept, Reject and Refuse is called, once.
type Offer interface {
	// PrivateData returns the initiator's private data.
	PrivateData() []byte

	// Accept writes the answer. It runs on the goroutine of ConnRequest.Accept, with no lock of
	// the queue pair held.
	Accept(c *Conn, p *verbs.ConnParams) (*Session, error)

	// Reject returns the bytes that inform the initiator that the application has rejected the
	// request, or nil if the framing has no such message. The connection is closed after them.
	Reject(private []byte) []byte

	// Refuse returns the same for a request that the listener cannot queue.
	Refuse() []byte
}

// Session is a connection that is set up.
type Session struct {
	Framer             Framer
	PrivateData        []byte // of the peer
	InitiatorDepth     int    // Reads of this side that may be outstanding
	ResponderResources int    // Reads of the peer that may be outstanding
	MaxSend            uint32 // length of the longest Send that the peer accepts

	// Pause is the time for which no frame is sent. If the peer is silent for Patience after that
	// time, although a frame was sent, now or by the set-up (Sent), the frame Nudge follows once,
	// checksum included. If Nudge is empty, nothing follows.
	Pause, Patience time.Duration
	Sent            bool
	Nudge           []byte

	// Sum returns the checksum of the bytes whose checksum is sum, followed by b; the checksum of
	// an empty slice is 0. If nil, the trailer of a frame is sent as zero and not checked.
	Sum func(sum uint32, b []byte) uint32
}

// Framer makes and reads the frames of one connection, and has the state of both directions that
// the framing needs: numbers of messages, offsets, open messages.
//
// A frame is a header, payload, padding up to a multiple of 4 bytes from the start of the frame,
// and a trailer of 4 bytes, the checksum of all before it, least significant byte first.
//
// Each method says which goroutine calls it: the sender has the queue pair's token and its lock;
// the reader is one goroutine for the life of the connection, with or without the lock. A Framer
// needs no lock: fields used by the sender and by the reader with the lock are safe, as are fields
// that only the reader uses.
//
// An error of a method for the reader breaks the connection. It is a breach of the framing's rules,
// unless it is a *Refusal.
type Framer interface {
	Sender
	Receiver

	// LastBytes appends the report of why this side closes the connection to b, if the framing has
	// one and a frame may follow those already sent. It runs on the reader, with the lock, after
	// the last of all other calls, and only if Ready has returned true or a frame has arrived.
	LastBytes(b []byte, why *Report, sent Progress) []byte
}

// Progress says how much of the next request's message was sent.
type Progress uint8

// The values of Progress.
const (
	NotBegun  Progress = iota // Begin was not called
	BegunOnly                 // Begin was called, and no frame was sent
	SentPart                  // some frames were sent, but not the last
)

// Sender is the sending half of a Framer. The sender calls all its methods, with the lock.
type Sender interface {
	// Ready reports whether this side may send: a framing may have to hear from the peer first.
	// The reader calls it, too: at the start, and after each Accept until it returns true.
	Ready() bool

	// Begin starts the message of a request, which is next. It returns why no peer can carry out
	// the request, or "". If it returns a reason, it has had no other effect.
	Begin(r *Request) (impossible string)

	// Next returns the payload size of the request's next frame, and whether that is the last. A
	// Read has no payload and one frame. It has no effect: it may be called again before
	// PutRequest.
	Next(r *Request) (n int, last bool)

	// PutRequest appends the header of that frame to b.
	PutRequest(b []byte, r *Request, n int, last bool) []byte

	// NextResponse and PutResponse do the same for the response to a Read of the peer.
	NextResponse(r *Response) (n int, last bool)
	PutResponse(b []byte, r *Response, n int, last bool) []byte
}

// Receiver is the receiving half of a Framer. The reader calls all its methods.
//
// For a frame they come in this order, and the rest of the frame is not awaited before they have
// succeeded: HeaderSize, Decode, Accept, Control; payload and trailer are read; BadSum, or
// Observe and then one of Deliver and Ended. With Shape.SumFirst, BadSum is called first if
// Shape.StageReceive and the size that Wire returns allow it, for a Frame without fields.
type Receiver interface {
	// Wire returns the size of the frame that begins with prefix (Shape.Prefix bytes), trailer
	// included. It decides about waiting only: nothing of the prefix has been checked.
	Wire(prefix []byte) int

	// HeaderSize returns the number of bytes that Decode needs, or an error.
	HeaderSize(prefix []byte) (int, error)

	// Decode reads the header b and checks it by itself. It sets Head, Payload, Pad and Kind of f,
	// all of whose fields are zero. It runs without the lock.
	Decode(f *Frame, b []byte) error

	// Accept checks the header against the frames before it, and sets the other fields of f. oldest
	// is this side's oldest Read without a complete response, or nil. It may change Kind. It runs
	// with the lock. When it has returned, the queue pair finds and checks the target.
	Accept(f *Frame, oldest *Request) error

	// Control takes the part of the header behind HeaderSize, if there is any: see Frame.Head. It
	// runs without the lock.
	Control(f *Frame, b []byte) error

	// BadSum returns the error for a frame with a wrong checksum.
	BadSum(f *Frame, got, want uint32) error

	// Observe is called for a frame with Frame.Observe, when its checksum is right and before it
	// has any effect. It runs without the lock.
	Observe(f *Frame, qpNum uint32)

	// Deliver returns the wishes of the Send whose last frame is f. It runs with the lock.
	Deliver(f *Frame) (Delivery, error)

	// Waits reports whether the message of f must not complete, and as a Write not be placed,
	// before the response r to an earlier Read was sent. It runs with the lock.
	Waits(f *Frame, r *Response) bool

	// Ended returns the peer's report whose last frame is f. It runs with the lock.
	Ended(f *Frame) (*PeerReport, error)
}

// Request is a request of the send queue.
type Request struct {
	soft.Request
	Extra  Extra  // from Config.Attach; may be nil
	Number uint32 // for the Framer, which sets it in Begin
	Sent   int    // bytes of payload that are in frames

	done   bool // status is set; the request completes after those before it
	status verbs.Status
}

// Extra is an addition of Config.Attach to a request.
type Extra interface {
	// Check returns why the request cannot be posted with it, or nil.
	Check() error
}

// Response is the response to a Read of the peer.
type Response struct {
	Number   uint32 // Frame.Number of the Read Request
	Sink     uint32 // Frame.Sink of the Read Request
	SinkAddr uint64 // Frame.SinkAddr of the Read Request
	Total    int    // bytes of payload
	Sent     int    // bytes of payload that are in frames

	source [1]soft.Element // the zero value for a Read of no bytes
}

// Kind is the kind of a frame.
type Kind uint8

// String returns the name of the operation.
func (k Kind) String() string {
	switch k {
	case KindSend:
		return "Send"
	case KindWrite:
		return "RDMA Write"
	case KindReadRequest:
		return "RDMA Read"
	case KindReadResponse:
		return "RDMA Read Response"
	}
	return fmt.Sprintf("Kind(%d)", uint8(k))
}

// The kinds.
const (
	KindNone         Kind = iota // concerns the Framer alone: no payload, no effect
	KindSend                     // a part of a Send
	KindWrite                    // a part of a Write
	KindReadRequest              // a Read of the peer, in one frame without payload
	KindReadResponse             // a part of the response to the oldest Read of this side
	KindReport                   // a part of the peer's report, without payload
)

// Frame is the header of the frame at hand.
type Frame struct {
	Kind Kind

	// The frame has Head bytes of header, then Payload bytes, Pad bytes and the trailer. If Head
	// is more than HeaderSize, Control gets the rest of the header.
	Head, Payload, Pad int

	Begin, End bool // the frame is the first, or the last, of its message
	Open       bool // a message has begun and not ended, this frame included
	Observe    bool // Observe must be called

	Number uint32 // the message's number, in errors and in Response
	Offset int    // bytes of the target before the payload

	// Check makes the queue pair check the range of a Write: the target is the memory of Length
	// bytes at Addr of the region with Key, for this frame and for those after it without Check.
	// The range of a Read Request is always checked, unless Length is 0.
	Check  bool
	Key    uint32
	Addr   uint64
	Length int

	// Sink and SinkAddr are where a Read Request wants its response, in the peer's terms.
	Sink     uint32
	SinkAddr uint64
}

// Delivery holds the wishes of a Send for its Receive.
type Delivery struct {
	Solicited  bool
	Invalidate bool // invalidate Key; the queue pair checks whether the peer may
	Key        uint32
}
