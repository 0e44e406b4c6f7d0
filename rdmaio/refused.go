package rdmaio

import (
	"errors"
	"fmt"
	"strings"

	"github.com/rpcrdma/rpcrdma/rdmaio/internal/header"
)

// RefusedError is an ERR_CHUNK of the peer, and what of the Call it can be about: the code itself does not say (RFC 8166 §4.5.3). It
// unwraps to the *PeerError. The peer's own log and Config.Events have the reason.
type RefusedError struct {
	Peer *PeerError

	ReadBytes, ReadChunks int // offered to be read: the arguments, or the whole Call
	Results               int // write chunks offered for results
	ReplyRoom             int // bytes of a reply that there was room for, without what goes to Results
	ReplyChunk            bool
	MaxReply              bool // the reply chunk was offered for Call.MaxReply, not as ReplyBuf
}

// Error names the causes that are possible for the Call.
func (e *RefusedError) Error() string {
	var causes []string
	if e.MaxReply {
		causes = append(causes, fmt.Sprintf("its reply is longer than the limit here, %d bytes (Call.MaxReply, or MaxReply of rpc.ClientConfig: raise it, or give the call a ReplyBuf)", e.ReplyRoom))
	} else if e.ReplyChunk {
		causes = append(causes, fmt.Sprintf("its reply is longer than the %d bytes of ReplyBuf here", e.ReplyRoom))
	} else {
		causes = append(causes, fmt.Sprintf("its reply is longer than the %d bytes that come inline, and there was no larger ReplyBuf or MaxReply here", e.ReplyRoom))
	}
	if e.Results > 0 {
		causes = append(causes, fmt.Sprintf("a result is longer than its place among the %d of Results here", e.Results))
	}
	if e.ReadChunks > 0 {
		causes = append(causes, fmt.Sprintf("it does not read the %d bytes of %d read chunks (Config.MaxReadBytes, MaxMemory and MaxChunks there; its Config.Logger gets the one that was exceeded)", e.ReadBytes, e.ReadChunks))
	} else if e.Results > 0 || e.ReplyChunk {
		causes = append(causes, "it takes fewer chunks or segments (Config.MaxChunks and MaxSegments there)")
	}
	return "rdmaio: peer answered ERR_CHUNK: " + strings.Join(causes, ", or ")
}

// Unwrap gives the peer's answer.
func (e *RefusedError) Unwrap() error { return e.Peer }

// refusal adds what a Call offered to an ERR_CHUNK, and leaves other errors as they are.
func (c *Conn) refusal(s *slot, err error) error {
	if err == nil {
		return nil // peer, below, would be on the heap
	}
	var peer *PeerError
	if !errors.As(err, &peer) || peer.Code != PeerErrChunk {
		return err
	}
	l := &s.call.Lists
	r := &RefusedError{Peer: peer, Results: len(l.Writes), ReplyChunk: l.HasReply, MaxReply: s.lent, ReplyRoom: int(header.Total(l.Reply))}
	if !l.HasReply {
		r.ReplyRoom = c.terms.Load().Recv - header.PrefixSize - (l.Size() - 24*len(l.Reads)) // a reply has no read list
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
