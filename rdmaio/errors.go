package rdmaio

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
)

// Errors for errors.Is. The text of an error that wraps one of them has the details.
var (
	// ErrClosed reports that this side closed the connection, Client, Backchannel or Server.
	ErrClosed = oncrpc.ErrClosed
	// ErrAnswered reports that Request.Reply or Request.Drop was called for a Request that had been
	// answered.
	ErrAnswered = oncrpc.ErrAnswered
	// ErrMessage reports that a caller or handler passed something that is not an RPC message as
	// described at Message.
	ErrMessage = oncrpc.ErrMessage
	// ErrReverse reports a Call on an accepted connection without Config.ReverseCredits or before
	// Conn.AllowReverse.
	ErrReverse = oncrpc.ErrReverse
	// ErrPanic reports that a Handler panicked or called runtime.Goexit. This side then closed the
	// connection.
	ErrPanic = oncrpc.ErrPanic
	// ErrXIDInUse reports that another Call with this XID is in progress on the connection, or was
	// cancelled and has no reply yet. Conn.XID, Client.XID and Backchannel.XID return XIDs that are
	// free.
	ErrXIDInUse = oncrpc.ErrXIDInUse
	// ErrInvalidated reports that the peer invalidated a key that it was not allowed to invalidate
	// (RFC 8797 §4.1). The connection is lost.
	ErrInvalidated = errors.New("rdmaio: the peer invalidated a key that it was not allowed to invalidate")
	// ErrNoDone reports that a client did not acknowledge a reply with read chunks by RDMA_DONE
	// within Config.WorkTimeout (Config.Legacy). The connection is lost.
	ErrNoDone = errors.New("rdmaio: the client sent no RDMA_DONE within Config.WorkTimeout")
	// ErrTooManyErrors reports that the peer sent more invalid Calls in a second than
	// Config.MaxErrors allows. The connection is lost.
	ErrTooManyErrors = errors.New("rdmaio: the peer sent more invalid Calls in a second than Config.MaxErrors allows")
	// ErrTimeout reports that posted work did not complete within Config.WorkTimeout, or in version
	// 2, that the peer granted no credit for a message, or did not continue one, in that time. The
	// connection is lost.
	ErrTimeout = errors.New("rdmaio: posted work did not complete within Config.WorkTimeout")
	// ErrNoVersion reports that the peer does not have a version of Config.Versions, or no other
	// one after it refused the first. The connection is lost.
	ErrNoVersion = errors.New("rdmaio: no version in common with the peer")
	// ErrNoAnswer reports that the server did not answer the first message of version 2 within
	// Config.OfferTimeout. The connection is lost. A server that has version 1 only and does not
	// answer other versions looks like this.
	ErrNoAnswer = errors.New("rdmaio: the server did not answer the version offered within Config.OfferTimeout")
	// ErrIdle reports that a server closed a connection that was idle, because of
	// Config.IdleTimeout or to make room for another one (Config.MaxConns). Its client has
	// verbs.ErrPeerDisconnected, with a text that says for how long the connection was unused.
	ErrIdle = errors.New("rdmaio: the server closed an idle connection")
	// ErrServerFull reports that the server rejected a connection because it has as many as its
	// Config.MaxConns allows, or as many from this address as Config.MaxPerSource allows, or
	// because its device cannot have one more. A server of another implementation does not say
	// that.
	ErrServerFull = errors.New("rdmaio: the server is full")
	// ErrHostAuth reports that host authentication failed, at this side or at the peer, or that the
	// peer sent a Call before it was complete (Config.HostAuth). The connection is lost. The error
	// has the reason, a *hostauth.Error if the Method found it.
	ErrHostAuth = errors.New("rdmaio: host authentication failed")
	// ErrMemory reports that a Call with chunks was refused with ERR_CHUNK because there was no
	// memory for it within Config.WorkTimeout (Config.MaxMemory), or that a server has closed a
	// connection whose peer kept memory from others.
	ErrMemory = errors.New("rdmaio: not enough memory")
	// ErrNoClient reports that no connection of the client was bound in time for a reverse Call of
	// a Backchannel.
	ErrNoClient = oncrpc.ErrNoClient
)

// PeerErrorCode is the code of an RDMA_ERROR message (RFC 8166 §4.5;
// draft-ietf-nfsv4-rpcrdma-version-two-00 §6.4.3).
type PeerErrorCode uint32

// The codes that are defined. A PeerError can have any other number that the peer sent. Version 1
// has the first two.
const (
	PeerErrVers          PeerErrorCode = 1  // the peer does not support the version
	PeerErrChunk         PeerErrorCode = 2  // it cannot use the header, or a reply (version 1)
	PeerErrHeaderType    PeerErrorCode = 3  // it does not know the header type
	PeerErrFlag          PeerErrorCode = 4  // it does not accept the flags
	PeerErrReadChunks    PeerErrorCode = 5  // more read chunks than it takes
	PeerErrWriteChunks   PeerErrorCode = 6  // more write chunks than it takes
	PeerErrSegments      PeerErrorCode = 7  // more segments in a chunk than it takes
	PeerErrWriteResource PeerErrorCode = 8  // a write chunk is too short for its result
	PeerErrReplyResource PeerErrorCode = 9  // the reply chunk is too short for the reply
	PeerErrSystem        PeerErrorCode = 10 // another reason, which does not go away
)

// PeerError is an RDMA_ERROR message, with which the peer refuses a Call of this side (RFC 8166
// §4.5). A message of the peer that this side refuses is a Fault.
type PeerError struct {
	// Version is the version of the connection.
	Version uint32

	// Code is the code of the message. It is 0 if the body of the message could not be decoded.
	Code PeerErrorCode

	// Low and High are the lowest and the highest version that the peer supports, with PeerErrVers.
	Low, High uint32

	// Max is the largest number of chunks or segments that the peer accepts, with
	// PeerErrReadChunks, PeerErrWriteChunks and PeerErrSegments.
	Max uint32

	// Index is the number of the write chunk that is too short, from 1, or 0 if the peer does not
	// say, with PeerErrWriteResource.
	Index uint32

	// Need is the number of bytes that the chunk must have, with PeerErrWriteResource and
	// PeerErrReplyResource.
	Need uint32
}

// notProcessed reports whether err is an answer by which the peer says that it did not process the
// Call: it found the fault in the header, before the procedure could run.
func notProcessed(err error) bool {
	e, ok := errors.AsType[*PeerError](err)
	if !ok {
		return false
	}
	switch e.Code {
	case PeerErrVers: // RFC 8166 §4.5.1, draft §6.4.3: it cannot read the rest of the header (R114)
		return true
	case PeerErrChunk: // BAD_XDR (R196); ERR_CHUNK may be about a reply (RFC 8166 §4.5.3; R120)
		return e.Version > 1
	case PeerErrHeaderType, PeerErrFlag, PeerErrReadChunks, PeerErrWriteChunks, PeerErrSegments:
		return e.Version > 1 // draft §6.4.3: faults of the header (R198, R199, R200, R202, R205)
	}
	// A resource was too little for a reply (R206, R207), or the code leaves it open (R121, R210).
	return false
}

// peerErrors has the name of each code after the first two, and its meaning.
var peerErrors = map[PeerErrorCode]string{
	PeerErrHeaderType:    "INVAL_HTYPE: it does not know the header type of the message",
	PeerErrFlag:          "INVAL_FLAG: it does not accept the flags of the message",
	PeerErrReadChunks:    "READ_CHUNKS: it takes %[1]d read chunks at most",
	PeerErrWriteChunks:   "WRITE_CHUNKS: it takes %[1]d write chunks at most",
	PeerErrSegments:      "SEGMENTS: it takes %[1]d segments in a chunk at most",
	PeerErrWriteResource: "WRITE_RESOURCE: write chunk %[2]d must have %[3]d bytes (0: it does not say)",
	PeerErrReplyResource: "REPLY_RESOURCE: the reply chunk must have %[3]d bytes (0: it does not say)",
	PeerErrSystem:        "SYSTEM: it cannot serve the Call, and this will not change",
}

// Error returns the name of the code and what it means.
func (e *PeerError) Error() string {
	const answered = "rdmaio: peer answered "
	switch text := peerErrors[e.Code]; {
	case e.Code == PeerErrVers:
		return fmt.Sprintf(answered+"ERR_VERS: it supports %s, the Call has version %d", versionRange(e.Low, e.High), e.Version)
	case e.Code == PeerErrChunk && e.Version > 1:
		return answered + "BAD_XDR: it cannot decode the header of the message"
	case e.Code == PeerErrChunk:
		return answered + "ERR_CHUNK: it cannot use the header or chunks of the Call, or its reply does not fit them"
	case e.Code == 0:
		return answered + "RDMA_ERROR with a body that cannot be decoded"
	case text != "" && e.Version > 1:
		return answered + fmt.Sprintf(text+"%[4]s", e.Max, e.Index, e.Need, "")
	}
	return fmt.Sprintf(answered+"RDMA_ERROR with code %d, which version %d does not define", e.Code, e.Version)
}

// versionRange returns a range of versions as text.
func versionRange(low, high uint32) string {
	if low == high {
		return fmt.Sprintf("version %d", low)
	}
	return fmt.Sprintf("versions %d to %d", low, high)
}

// SizeError reports that a message or a part of it does not fit where it has to go.
type SizeError struct {
	// What names the message or the part.
	What string

	// Need and Limit are its size and the largest size that fits, in Unit.
	Need, Limit int

	// Unit is the unit of Need and Limit: "chunks", or bytes if empty.
	Unit string

	// Hint says what to do.
	Hint string
}

// Error returns both sizes and the hint.
func (e *SizeError) Error() string {
	return fmt.Sprintf("rdmaio: %s needs %d %s, limit is %d: %s", e.What, e.Need, cmp.Or(e.Unit, "bytes"), e.Limit, e.Hint)
}

// errEarly is the reason of early.
var errEarly = errors.New("the peer sent a Call before it was complete (R312)")
