package rdmaio

import (
	"errors"
	"fmt"
	"strings"

	"github.com/rpcrdma/rpcrdma/rdmaio/internal/header"
)

// RefusedError is an ERR_CHUNK of the peer with the sizes that the Call offered. The code does not
// say why the peer refused the Call (RFC 8166 §4.5.3); the sizes say which causes are possible. The
// exact one is in the peer's Config.Logger and Config.Events. It unwraps to the *PeerError.
type RefusedError struct {
	Peer *PeerError

	// ReadBytes and ReadChunks say how many bytes and read chunks the Call offered.
	ReadBytes, ReadChunks int

	// Results is the number of write chunks that the Call offered.
	Results int

	// ReplyRoom is the size in bytes of the largest reply that there was room for, without Results.
	ReplyRoom int

	// ReplyChunk reports whether the Call offered a reply chunk, and MaxReply whether that was for
	// Call.MaxReply and not Call.ReplyBuf.
	ReplyChunk, MaxReply bool
}

// Error returns the causes that are possible for the Call, each with the setting to change.
func (e *RefusedError) Error() string {
	var causes []string
	if e.MaxReply {
		causes = append(causes, fmt.Sprintf("the reply is longer than the limit here, %d bytes (raise Call.MaxReply, or MaxReply of rpc.ClientConfig, or set a ReplyBuf)", e.ReplyRoom))
	} else if e.ReplyChunk {
		causes = append(causes, fmt.Sprintf("the reply is longer than the %d bytes of ReplyBuf here", e.ReplyRoom))
	} else {
		causes = append(causes, fmt.Sprintf("the reply is longer than the %d bytes that come inline (set a ReplyBuf or MaxReply here)", e.ReplyRoom))
	}
	if e.Results > 0 {
		causes = append(causes, fmt.Sprintf("a result is longer than its buffer, one of %d in Results here", e.Results))
	}
	if e.ReadChunks > 0 {
		causes = append(causes, fmt.Sprintf("a limit of the peer is less than the %d bytes in %d read chunks of the Call (Config.MaxReadBytes, MaxMemory or MaxChunks there; its Config.Logger has which)", e.ReadBytes, e.ReadChunks))
	} else if e.Results > 0 || e.ReplyChunk {
		causes = append(causes, "a limit of the peer is less than the chunks or segments of the Call (Config.MaxChunks and MaxSegments there)")
	}
	return "rdmaio: peer answered ERR_CHUNK: " + strings.Join(causes, ", or ") + "; the peer's log has the cause and the procedure"
}

// Unwrap returns the peer's answer.
func (e *RefusedError) Unwrap() error { return e.Peer }

// refusal adds the sizes that a Call offered to an ERR_CHUNK. It returns all other errors as they
// are.
func (s *slot) refusal(terms *agreed, err error) error {
	if err == nil {
		return nil // peer, below, would be on the heap
	}
	var peer *PeerError
	if !errors.As(err, &peer) || peer.Code != PeerErrChunk {
		return err
	}
	l := s.lists()
	r := &RefusedError{Peer: peer, Results: len(l.Writes), ReplyChunk: l.HasReply, MaxReply: s.ownsBuf, ReplyRoom: int(header.Total(l.Reply))}
	if !l.HasReply {
		// A reply has no read list.
		r.ReplyRoom = terms.recvRoom(&header.Lists{Writes: l.Writes})
	}
	position := int64(-1)
	for i := range l.Reads {
		r.ReadBytes += int(l.Reads[i].Length)
		if p := int64(l.Reads[i].Position); p != position {
			r.ReadChunks, position = r.ReadChunks+1, p
		}
	}
	return r
}
