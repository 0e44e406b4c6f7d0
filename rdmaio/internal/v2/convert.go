package v2

import (
	"github.com/rpcrdma/rpcrdma/gen/rpcrdma2"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/header"
)

// fromWire copies decoded chunk lists to l: they have the wire format of version 1
// (draft-ietf-nfsv4-rpcrdma-version-two-00 §C.1; R152).
func fromWire(l *header.Lists, w *rpcrdma2.ChunkLists) {
	for i := range w.Reads {
		l.Reads = append(l.Reads, header.ReadSegment{Position: w.Reads[i].Position, Segment: header.Segment(w.Reads[i].Target)})
	}
	for i := range w.Writes {
		c := l.AddWrite(len(w.Writes[i].Target))
		for j := range c {
			c[j] = header.Segment(w.Writes[i].Target[j])
		}
	}
	if r := w.Reply.Get(); r != nil {
		l.HasReply = true
		for i := range r.Target {
			l.Reply = append(l.Reply, header.Segment(r.Target[i]))
		}
	}
}

// toWire copies l to chunk lists to be encoded. It reuses their memory.
func toWire(w *rpcrdma2.ChunkLists, l *header.Lists) {
	w.Reads = w.Reads[:0]
	for i := range l.Reads {
		w.Reads = append(w.Reads, rpcrdma2.ReadSegment{Position: l.Reads[i].Position, Target: rpcrdma2.Segment(l.Reads[i].Segment)})
	}
	w.Writes = w.Writes[:0]
	for _, from := range l.Writes {
		if n := len(w.Writes); n < cap(w.Writes) {
			w.Writes = w.Writes[:n+1]
		} else {
			w.Writes = append(w.Writes, rpcrdma2.WriteChunk{})
		}
		to := &w.Writes[len(w.Writes)-1]
		to.Target = segments(to.Target, from)
	}
	w.Reply.Present = l.HasReply
	w.Reply.Value.Target = segments(w.Reply.Value.Target, l.Reply)
}

// segments copies from to the memory of to.
func segments(to []rpcrdma2.Segment, from []header.Segment) []rpcrdma2.Segment {
	to = to[:0]
	for i := range from {
		to = append(to, rpcrdma2.Segment(from[i]))
	}
	return to
}

// fromError returns the body of a decoded ERROR. Unknown codes have no fields
// (draft-ietf-nfsv4-rpcrdma-version-two-00 §6.4.3, §B.4; R211).
func fromError(w *rpcrdma2.Error) header.Error {
	e := header.Error{Code: header.ErrorCode(w.Err)}
	switch w.Err {
	case rpcrdma2.ErrVers:
		e.Low, e.High = w.Versions.Low, w.Versions.High
	case rpcrdma2.ErrReadChunks:
		e.Max = w.MaxReadChunks
	case rpcrdma2.ErrWriteChunks:
		e.Max = w.MaxWriteChunks
	case rpcrdma2.ErrSegments:
		e.Max = w.MaxSegments
	case rpcrdma2.ErrWriteResource:
		e.Index, e.Need = w.WriteResource.ChunkIndex, w.WriteResource.LengthNeeded
	case rpcrdma2.ErrReplyResource:
		e.Need = w.ReplyLengthNeeded
	}
	return e
}

// toError returns e in the form to be encoded. The code selects the fields that are written.
func toError(e *header.Error) rpcrdma2.Error {
	return rpcrdma2.Error{
		Err:               rpcrdma2.ErrCode(e.Code),
		Versions:          rpcrdma2.VersionRange{Low: e.Low, High: e.High},
		MaxReadChunks:     e.Max,
		MaxWriteChunks:    e.Max,
		MaxSegments:       e.Max,
		WriteResource:     rpcrdma2.WriteShortage{ChunkIndex: e.Index, LengthNeeded: e.Need},
		ReplyLengthNeeded: e.Need,
	}
}
