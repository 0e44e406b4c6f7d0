package peertest

import "github.com/rpcrdma/rpcrdma/internal/rawpeer"

// The messages of version 1, as package rawpeer reads them.
type (
	Kind    = rawpeer.Kind
	Message = rawpeer.Message
	Segment = rawpeer.Segment
	Raw     = rawpeer.Raw
)

// The kinds of messages.
const (
	Call  = rawpeer.Call
	Reply = rawpeer.Reply
	Error = rawpeer.Error
	Done  = rawpeer.Done
)

// Parse is rawpeer.Parse.
func Parse(b string) (Message, error) { return rawpeer.Parse(b) }

// Parts of messages in hexadecimal, as in package rawpeer.
const (
	GoodCall = rawpeer.GoodCall
	Head     = rawpeer.Head
)

// Words is rawpeer.Words.
func Words(w ...uint32) []byte { return rawpeer.Words(w...) }

// NullCall is rawpeer.NullCall.
func NullCall(xid, credits uint32, pull bool) []byte { return rawpeer.NullCall(xid, credits, pull) }

// ReadSegment is rawpeer.ReadSegment.
func ReadSegment(pos uint32, key string, n uint32, at string) string {
	return rawpeer.ReadSegment(pos, key, n, at)
}

// Msg is rawpeer.Msg.
func Msg(reads string) string { return rawpeer.Msg(reads) }

// Nomsg is rawpeer.Nomsg.
func Nomsg(reads string) string { return rawpeer.Nomsg(reads) }
