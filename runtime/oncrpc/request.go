package oncrpc

import (
	"context"
	"encoding/binary"
	"errors"

	"github.com/rpcrdma/rpcrdma/runtime/xdr"
)

// ErrAnswered reports that Request.Reply or Request.Drop was called for a Request that had been
// answered.
var ErrAnswered = errors.New("oncrpc: the Request was answered already")

// Handler serves the Calls that a peer sends, over any carrier.
type Handler interface {
	// ServeRPC serves one Call. It answers by Request.Reply or Request.Drop, before it returns or
	// later, from any goroutine. Every Request must be answered once: its connection waits for that
	// when it is closed. ServeRPC may block, unless the carrier is configured otherwise.
	//
	// A panic that leaves ServeRPC is logged with its stack and closes the connection (ErrPanic),
	// because the handler's state cannot be trusted and this layer has no answer for it. Its
	// Request is dropped and must not be used any more. The same happens if ServeRPC exits its
	// goroutine (runtime.Goexit, as testing.T.Fatal does), unless it has answered before and the
	// goroutine is its own. Package rpc recovers panics of procedures and answers their calls.
	ServeRPC(*Request)
}

// Bounder is implemented by a Handler that knows how large the replies of its procedures can be. A
// server has memory for a reply before the handler starts. Of handlers without a bound only a few
// run at a time.
type Bounder interface {
	// ReplyBound returns the size in bytes of a procedure's largest reply, or a negative number if
	// it has no bound.
	ReplyBound(program, version, procedure uint32) int
}

// BoundOf returns the ReplyBound of a Handler, or -1 if it is not a Bounder. A Handler that passes
// Requests on to another one can implement Bounder with it.
func BoundOf(h Handler, program, version, procedure uint32) int {
	if b, ok := h.(Bounder); ok {
		return b.ReplyBound(program, version, procedure)
	}
	return -1
}

// NullKnower is implemented by a Handler that knows whether procedure 0 of a version is the null
// procedure of RFC 5531 §12.1, which does nothing and never requires authentication. The language
// allows a program to have another procedure there, so the number alone exempts no call.
type NullKnower interface {
	// IsNull reports whether procedure 0 is the null procedure, or does not exist.
	IsNull(program, version uint32) bool
}

// IsNull returns what a Handler says of procedure 0, or false if it is not a NullKnower. A Handler
// that passes Requests on to another one implements NullKnower with it.
func IsNull(h Handler, program, version uint32) bool {
	k, ok := h.(NullKnower)
	return ok && k.IsNull(program, version)
}

// NonBlocker is implemented by a Handler that knows which of its procedures never block. A server
// runs them where it has read the Call, without another goroutine, when it has memory for the reply
// at once and no earlier Call of the connection waits.
type NonBlocker interface {
	// NonBlocking states that ServeRPC does not wait for a Call of a procedure: not for a lock that
	// is held for long, for a disk or for a Call that it makes itself. It may answer later, from
	// another goroutine. It also states that ServeRPC does not exit its goroutine: that closes the
	// connection. It must not block itself, and is asked before each Call.
	NonBlocking(program, version, procedure uint32) bool
}

// NonBlocking returns what a Handler says of a procedure, or false if it is not a NonBlocker. A
// Handler that passes Requests on to another one, and does not block either, implements NonBlocker
// with it.
func NonBlocking(h Handler, program, version, procedure uint32) bool {
	n, ok := h.(NonBlocker)
	return ok && n.NonBlocking(program, version, procedure)
}

// Forgetter is implemented by a Handler that keeps no Request. A carrier then uses the memory of
// the Request for a later Call, which saves an allocation for each.
type Forgetter interface {
	// ForgetsRequests states that no code of the Handler uses a Request after the done function of
	// its answer has run, except that ServeRPC may still be running: not even for a second answer.
	// It is asked once for each connection.
	ForgetsRequests() bool
}

// ForgetsRequests returns what a Handler says of its Requests, or false if it is not a Forgetter.
func ForgetsRequests(h Handler) bool {
	f, ok := h.(Forgetter)
	return ok && f.ForgetsRequests()
}

// HandlerFunc adapts a function to a Handler.
type HandlerFunc func(*Request)

// ServeRPC calls f.
func (f HandlerFunc) ServeRPC(r *Request) { f(r) }

// Request is a Call that the peer sent. It has the methods of the Responder.
type Request struct {
	// Message is the whole RPC Call. It is valid until Reply or Drop is called. The Handler may
	// write to it, and the Reply may use parts of Message.
	Message []byte

	// Placed are the items that came apart from the rest, over RDMA: the position of each in
	// Message, and its bytes, which are a part of Message. The decoder must check that the item at
	// that position has this length, with or without XDR padding (R53, R70). xdr.Decoder.ExpectAt
	// makes it do so:
	//
	//	... // decode the Header
	//	dec.ExpectAt(uint64(dec.Offset()), r.Placed)
	//	... // decode the arguments
	Placed []xdr.Item

	// Padding describes the padding in Message, if there is any.
	Padding Padding

	// Responder is the carrier's side of the Request. A Handler that passes the Request on and has
	// to see the answer puts a Responder before it, which embeds this one.
	Responder
}

// Responder is the side of a Request that a carrier implements.
type Responder interface {
	// Conn returns the connection that the Call came on. Calls to the peer can be made on it. It
	// identifies the connection by its Done, so a Responder put before another one keeps it.
	Conn() Conn

	// Context returns a context that is cancelled when the connection is down, when the caller has
	// given up (package cancel; context.Cause is then ErrCanceled), and when the Request has been
	// answered.
	Context() context.Context

	// Room returns the size limits of the answer, in bytes: of each of the results that the caller
	// has offered memory for, in their order, and of the reply without those. A result with the
	// limit 0 goes with the rest, and so do results beyond the last. A larger answer is an error
	// for the caller.
	Room() (results []int, reply int)

	// Reply answers the Call. Item i of m goes to the memory that the caller offered for result i,
	// if it offered any.
	//
	// All memory of m, and the Request, belong to the carrier until done runs. done is called once:
	// with nil when the reply was sent, or with the reason why it was not. Nothing reports whether
	// the caller received it. done may be nil. It must not block, and may run before Reply returns.
	Reply(m Message, done func(error))

	// Drop discards a Request without an answer, which RPC permits (RFC 2203 §5.3.3.1 requires it
	// in some cases). done is called as for Reply. The caller keeps waiting. Over RDMA its credit
	// stays in use until the connection is closed: a caller for which as many Calls were dropped as
	// it has credits must reconnect.
	Drop(done func(error))

	// Reserve takes n bytes of the server's memory for the handler until the Request is answered,
	// beyond what the Request and its reply have, and may wait for them. It returns false if the
	// server has no memory for them, or if the connection is down. Package rpc calls it for
	// arguments whose values take more than a few KiB. It must not be called after Reply or Drop.
	Reserve(n int) bool

	// Report records an error of the handler that its answer does not contain. The carrier logs it,
	// a *PanicError in it with the stack. Call it before Reply or Drop. Package rpc calls it for
	// every SYSTEM_ERR.
	Report(err error)

	// Serve passes the Request to h as the carrier passes Requests to its own Handler: within its
	// limits, and safe from panics of h. A Handler that has returned without an answer calls it to
	// go on with the Request. Serve does not wait for h, unless the carrier's Handler must not
	// block.
	Serve(h Handler)
}

// Authenticated is implemented by the Responder of a Call whose caller has proved its name, as with
// RPCSEC_GSS.
type Authenticated interface {
	// Principal returns the name of the caller. No two callers that a server knows have the same.
	Principal() string
}

// Procedure returns the numbers of the procedure that a Call is for. ok is false if the message is
// shorter than these (RFC 5531 §9).
func Procedure(call []byte) (program, version, procedure uint32, ok bool) {
	if len(call) < 24 {
		return 0, 0, 0, false
	}
	return binary.BigEndian.Uint32(call[12:]), binary.BigEndian.Uint32(call[16:]), binary.BigEndian.Uint32(call[20:]), true
}

// DescribeCall returns the numbers of the procedure that a Call is for, for logs: "program 100003
// (0x186a3) version 3 procedure 1". A message that is too short has number 0 for all.
func DescribeCall(call []byte) string {
	program, version, procedure, _ := Procedure(call)
	return (&Program{Number: program, Version: version}).Describe(procedure)
}
