package oncrpc

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rpcrdma/rpcrdma/runtime/xdr"
)

// Errors of carriers, for errors.Is. The text of an error that wraps one of them has the details.
var (
	// ErrClosed reports that this side closed the connection, client or server.
	ErrClosed = errors.New("oncrpc: closed by this side")
	// ErrReverse reports a Call on an accepted connection that cannot make any, or before
	// Conn.AllowReverse.
	ErrReverse = errors.New("oncrpc: no reverse Calls")
	// ErrXIDInUse reports that another Call with this XID is in progress on the connection.
	// Carrier.XID returns XIDs that are free.
	ErrXIDInUse = errors.New("oncrpc: a Call with this XID is in progress on the connection")
	// ErrCanceled is the cause (context.Cause) of a Request's context after the caller has given up
	// the Call.
	ErrCanceled = errors.New("oncrpc: the caller gave up the Call")
	// ErrNoClient reports that no connection of the client was bound in time for a reverse Call of
	// a Backchannel.
	ErrNoClient = errors.New("oncrpc: the client has no connection to call it on")

	// ErrNoDone: Submit has no function to call when the Call is over.
	ErrNoDone = errors.New("oncrpc: a Call is submitted without a done function")
)

// Carrier sends Calls to one peer and returns the replies. Package rpc makes Calls from the types
// that xdrgen generates. All methods are safe for concurrent use.
type Carrier interface {
	// XID returns the next transaction ID. It is unique if all Calls of the Carrier use it.
	XID() uint32

	// Call sends a Call, and blocks until its reply has come or ctx is done. All memory of the Call
	// belongs to the Carrier until then. The error is a *CallError.
	Call(ctx context.Context, call *Call) (*Reply, error)
}

// Conn is a connection of a Carrier. Request.Conn returns the one that a Call came on. Its Calls go
// to the peer: on an accepted connection, they are callbacks to the client.
type Conn interface {
	Carrier

	// AllowReverse permits Call on an accepted connection. The upper layer calls it when it knows
	// that the peer serves Calls, because a peer that does not may close the connection (RFC 8167
	// §6; R280). The permission lasts until the connection is closed.
	AllowReverse()

	// Peer describes the host of the peer. RemoteAddr returns its address alone.
	Peer() Peer
	RemoteAddr() string

	// Done returns a channel that is closed when the connection is down, always the same one and of
	// no other connection. Err then returns the reason, and nil before.
	Done() <-chan struct{}
	Err() error
}

// Prober is implemented by a Conn that can ask at once whether its peer is still there. Without
// that, a carrier finds out after a time without traffic, 30 s by default.
type Prober interface {
	// Probe asks the peer for a sign of life, and does not wait for it. The connection is closed if
	// the peer's system does not know it any more, or gives no sign within limit or within the
	// carrier's own limit for a silent peer, if that is less. A sign of life says that the peer's
	// system, or a proxy between, has the connection, and not that the program there uses it.
	Probe(limit time.Duration)
}

// DefaultMaxMessage is the default size limit in bytes of the data in a message, on every carrier:
// of the reply that a client of package rpc expects, and of what a server takes for a Call. A limit
// for less would refuse on one carrier what another one takes.
const DefaultMaxMessage = 16 << 20

// Call is an RPC to make. It may be used again when the method that made it has returned.
//
// Results, ReplyBuf and MaxReply are memory for a Carrier that needs to have it before the reply
// comes, and WholeReply says when it does not. Others ignore them.
type Call struct {
	// Message is the RPC Call. No other Call in progress on the connection may have its XID. A
	// retransmission on another connection keeps the XID (R284).
	Message

	// Results are the buffers for the results that the upper-layer binding makes eligible for
	// direct placement, in the order of the results. Each must have room for the largest result
	// (R84). The server may write to all of it, used or not (RFC 8166 §4.3.2.2; R58). An empty
	// slice asks for that result inline.
	Results [][]byte

	// ReplyBuf is the buffer for the reply without the Results. If the largest reply, its verifier
	// included (RFC 8166 §8.2.2.2; R103), may not fit inline, ReplyBuf must be as long as that, or
	// MaxReply must be set. Otherwise a peer over RDMA refuses the Call when the reply does not
	// fit. If its length is more than an inline reply can have, it is offered as the reply chunk.
	// If nil, the reply is received in memory allocated for it.
	ReplyBuf []byte

	// MaxReply is the size of the largest reply without the Results, in bytes. If zero, the length
	// of ReplyBuf is used and ReplyBuf is offered. If negative, no reply chunk is offered.
	//
	// If MaxReply is more than an inline reply can have, a connection over RDMA offers as much of
	// its memory as the reply chunk, and copies the reply to ReplyBuf, or to memory allocated for
	// it if it is longer.
	MaxReply int

	// WholeReply is the size of the largest reply with the Results in it, in bytes. If zero, it is
	// not known. If both ends of a connection over RDMA have an inline size of more than 4096
	// bytes, which the reply fits, and the device prefers it so, then the Results are not offered
	// and come in Reply.Message: give ReplyBuf room for them. A longer reply would be refused.
	WholeReply int

	// Idempotent states that the procedure may be executed twice without harm. A Carrier may then
	// offer less memory than MaxReply at first, and send the Call again with more if the reply
	// does not fit.
	Idempotent bool

	// Deadline is the time at which a Call that was submitted (Submitter) fails with
	// context.DeadlineExceeded, if it has no reply. If zero, only its context limits its time. It
	// costs less than a context with a deadline for each Call. Carrier.Call ignores it.
	Deadline time.Time

	// Renew returns the message for a further transmission of the Call, with the same XID. A
	// Carrier that sends the Call again calls it and replaces Message, whose memory it no longer
	// uses. If it fails, the Call fails with its error. If nil, the Call is sent again as it is.
	// RPCSEC_GSS needs it: each transmission has another sequence number (RFC 2203 §5.3.3.1).
	Renew func(ctx context.Context) (Message, error)

	// Steps, if not nil, is where the Carrier writes when it took the steps of the Call.
	Steps *Steps

	// Reply is the memory of the reply. Only the Carrier uses it, and returns a pointer to it.
	Reply Reply
}

// Steps says when a Carrier took the steps of a Call. If the Call was sent again on another
// connection, the steps there replace the earlier ones. A step that was not taken, or that the
// Carrier does not know, stays zero. It may be read when the method that made the Call has
// returned, or in done.
type Steps struct {
	// Placed is when the Call had its connection, and there a place or a credit: it waited before.
	Placed time.Time

	// Sent is when its memory was registered and the transport had the message: over TCP the
	// system, over RDMA the send queue, and over UDP the last datagram.
	Sent time.Time

	// Answered is when the reply had come. The rest until the end of the Call is for keys that are
	// invalidated, for copies, and for the goroutine that waits.
	Answered time.Time
}

// Again prepares a Call to be sent again: it calls Renew, if there is one. Carriers call it.
func (c *Call) Again(ctx context.Context) error {
	if c.Renew == nil {
		return nil
	}
	xid := c.XID()
	m, err := c.Renew(ctx)
	if err == nil {
		err = m.Check(MsgCall)
	}
	if err != nil {
		return fmt.Errorf("oncrpc: the Call cannot be sent again: %w", err)
	}
	if got := m.XID(); got != xid {
		return fmt.Errorf("%w: Renew returned XID %#x, must be %#x as in the Call (R284)", ErrMessage, got, xid)
	}
	c.Message = m
	return nil
}

// Reply is the answer to a Call. It is valid until its Call is used again.
type Reply struct {
	// Message is the RPC Reply without the Items. It may be a part of ReplyBuf, or have its own
	// memory.
	Message []byte

	// Items has an element for each of Results: Data is the part of that slice that the server
	// filled, or nil if the result is in Message. Without any element, all results are in Message.
	// Pass Items to xdr.Decoder.ReinsertInOrder. It compares the length with the count in the
	// stream, because a server of RPC-over-RDMA version 1 may include XDR padding in the length
	// (R81, R83).
	Items []xdr.Item

	// Padding describes the padding in Message, if there is any.
	Padding Padding
}

// CallError is the error of Carrier.Call. It unwraps to the reason: an error of the carrier, or the
// error of the context.
type CallError struct {
	// XID is the XID of the Call.
	XID uint32

	// MayHaveRun reports that the message was sent at least in part, so that the peer may have
	// executed the procedure, once. If it is false, the peer has not received the Call, or has said
	// that it did not process it, or that it serves none on the connection.
	MayHaveRun bool

	// Err is the reason.
	Err error
}

// Error returns the XID, whether the peer may have executed the Call, and the reason.
func (e *CallError) Error() string {
	what := "not executed"
	if e.MayHaveRun {
		what = "sent; the peer may have executed it"
	}
	return fmt.Sprintf("oncrpc: call %#08x (%s): %v", e.XID, what, e.Err)
}

// Unwrap returns the reason.
func (e *CallError) Unwrap() error { return e.Err }

// Padding describes the alignment of the opaque items in a message that came over RDMA as
// RDMA_MSGP. All other messages have the zero Padding. Only the code that decodes the RPC message
// can skip the padding, because it knows where the opaque items are.
type Padding struct {
	// Align is the alignment in bytes, and Threshold the size in bytes of the smallest item that
	// has it. If Align is zero, there is no padding.
	Align, Threshold uint32

	// Start is the offset of the RPC message in the whole message, header included.
	Start int
}

// Skip returns how many padding bytes are between the length word and the data of an opaque item
// with n bytes. at is the offset in the message after the length word, earlier padding included.
// Items of Threshold bytes or more are aligned from the start of the RPC-over-RDMA header, as they
// are in the memory of the Receive (draft-ietf-nfsv4-rpcrdma-08 §3.9, which says both "at or above"
// and "exceeds"; R111, A20).
func (p *Padding) Skip(at, n int) int {
	if p.Align == 0 || uint64(n) < uint64(p.Threshold) {
		return 0
	}
	return -(p.Start + at) & int(p.Align-1)
}
