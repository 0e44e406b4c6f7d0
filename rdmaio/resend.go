package rdmaio

import (
	"errors"
	"slices"

	"github.com/rpcrdma/rpcrdma/rdmaio/internal/header"
)

// maxResent is the number of times that a Call is sent again because the peer refused its shape.
const maxResent = 3

// change changes the shape of a Call that the peer has refused with err, and reports whether the
// Call is to be sent again, with the same XID. Nothing that the peer says makes this side allocate
// more than Config.MaxReadBytes.
func (s *slot) change(set *settings, terms *agreed, call *Call, err error) bool {
	var e *PeerError
	if !errors.As(err, &e) || s.shape.resent == maxResent || !terms.defines(e.Code) {
		return false
	}
	l, sh, before := s.lists(), &s.shape, s.shape
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

// guessedTooLittle changes the shape of a Call whose reply did not fit the size that guessReply
// returned.
func (s *slot) guessedTooLittle(code PeerErrorCode) bool {
	if !s.shape.guessed || code != PeerErrReplyResource && code != PeerErrChunk {
		return false
	}
	s.shape.whole = true
	return true
}
