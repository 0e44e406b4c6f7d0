package rdmaio

import (
	"errors"
	"math"
	"slices"

	"github.com/rpcrdma/rpcrdma/rdmaio/internal/header"
)

// shape changes the message of a Call that is sent again, because the peer has refused it with an
// error of version 2 that says what it takes instead
// (draft-ietf-nfsv4-rpcrdma-version-two-00 §6.4.3). The zero shape changes nothing.
type shape struct {
	resent  int  // number of times that it was sent again
	long    bool // the whole message by read chunk, items too
	inline  bool // only the first results of Results go by chunk
	results int  // how many, with inline
	reply   int  // least length of the reply chunk, bytes; 0: as without an error
	segment int  // least length of the longest segment, bytes
	guessed bool // the reply chunk may be too short
	whole   bool // it is as long as the Call allows
}

// maxResent is the number of times that a Call is sent again because the peer refused its shape.
const maxResent = 3

// mostResults returns the largest number of results that go by chunk.
func (sh *shape) mostResults() int {
	if sh.inline {
		return sh.results
	}
	return math.MaxInt
}

// change changes the shape of a Call that the peer has refused with err, and reports whether the
// Call is to be sent again, with the same XID. Nothing that the peer says makes this side allocate
// more than Config.MaxReadBytes.
func (s *slot) change(set *settings, terms *agreed, call *Call, err error) bool {
	var e *PeerError
	if !errors.As(err, &e) || s.shape.resent == maxResent || !terms.defines(e.Code) {
		return false
	}
	l, sh, before := &s.call.Lists, &s.shape, s.shape
	sh.resent++
	if s.guessedTooLittle(e.Code) {
		return true
	}
	switch e.Code {
	case PeerErrReadChunks: // R201: with everything in one chunk, unless that was refused
		sh.long = sh.long || slices.ContainsFunc(l.Reads, func(r header.ReadSegment) bool { return r.Position != 0 })
	case PeerErrWriteChunks:
		sh.keep(bounded(e.Max), l)
	case PeerErrSegments: // R205
		if e.Max > 0 {
			if n := int((longest(l) + uint64(e.Max) - 1) / uint64(e.Max)); n > set.SegmentSize {
				sh.segment = max(sh.segment, n)
			}
		}
	case PeerErrWriteResource: // R208: the result goes with the rest, where there is more room
		if e.Index > 0 && int64(e.Index) <= int64(len(l.Writes)) { // T74
			sh.keep(bounded(e.Index)-1, l)
			sh.reply = sh.replySize(call, bounded(e.Need))
		}
	case PeerErrReplyResource: // R204, R208
		sh.keep(0, l)
		sh.reply = max(bounded(e.Need), sh.replySize(call, 0))
	}
	changed := *sh
	changed.resent = before.resent
	return changed != before && sh.reply <= set.MaxReadBytes
}

// keep lets only the first n results go by chunk.
func (sh *shape) keep(n int, l *header.Lists) {
	if n < len(l.Writes) {
		sh.inline, sh.results = true, n
	}
}

// longest returns the length of the longest chunk.
func longest(l *header.Lists) uint64 {
	n, reads, at := header.Total(l.Reply), uint64(0), uint32(0)
	for i := range l.Reads {
		if l.Reads[i].Position != at {
			reads, at = 0, l.Reads[i].Position
		}
		reads += uint64(l.Reads[i].Length)
		n = max(n, reads)
	}
	for _, w := range l.Writes {
		n = max(n, header.Total(w))
	}
	return n
}

// replySize returns the size of the largest reply with the results that do not go by chunk. The
// peer said that one of these needs more bytes.
func (sh *shape) replySize(call *Call, more int) int {
	n := max(call.MaxReply, len(call.ReplyBuf)) + more
	for i := min(sh.mostResults(), len(call.Results)); i < len(call.Results); i++ {
		n += len(call.Results[i])
	}
	return n
}

// bounded returns a number of the peer as an int, which it may exceed on 32-bit systems.
func bounded(n uint32) int { return int(min(n, math.MaxInt32)) }
