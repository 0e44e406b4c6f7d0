package engine

import (
	"bytes"

	"github.com/rpcrdma/rpcrdma/rdmaio/internal/header"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/protocol"
)

// sequence is a message of ours that is being sent in parts. There is one at a time, and only
// grants and errors are sent before its last part (draft-ietf-nfsv4-rpcrdma-version-two-00 §4.2;
// R155).
type sequence struct {
	open    bool
	call    *pending // set if the message is this Call, else nil
	reply   *Request // set if the message is the Reply to this Request, else nil
	last    header.Message
	payload [][]byte
	done    int // bytes of the first piece that were sent
	left    int // bytes that were not sent
	begun   bool
}

// start begins a sequence for the message m. The memory of m and payload must stay until the last
// part is sent.
func (s *sequence) start(m *header.Message, payload [][]byte) {
	*s = sequence{open: true, last: *m, payload: payload}
	for _, p := range payload {
		s.left += len(p)
	}
}

// own copies the message, because its caller takes the memory back.
func (s *sequence) own() {
	rest := make([]byte, 0, s.left)
	for i, p := range s.payload {
		if i == 0 {
			p = p[s.done:]
		}
		rest = append(rest, p...)
	}
	s.payload, s.done = [][]byte{rest}, 0
	s.last.Lists = s.last.Lists.Clone()
}

// ownPartsOf copies the pieces that are a part of m, whose memory is used again before the last
// part is sent.
func (s *sequence) ownPartsOf(m []byte) {
	for i, p := range s.payload {
		if PartOf(p, m) {
			s.payload[i] = bytes.Clone(p)
		}
	}
}

// PartOf reports whether p begins in the memory of m.
func PartOf(p, m []byte) bool {
	if len(p) > 0 {
		for i := range m {
			if &m[i] == &p[0] {
				return true
			}
		}
	}
	return false
}

// canContinue reports whether a message that does not fit one Send can be sent in parts.
func (sq *sendQueue) canContinue(m *header.Message, payload [][]byte) bool {
	return sq.version.Continues() && m.Kind == header.KindMsg && len(payload) > 0 &&
		sq.version.Overhead(&m.Lists) < min(len(sq.buffers.last().Bytes), sq.terms.Send)
}

// need returns the entries of the send queue that the next part may take.
func (s *sequence) need() int {
	if s.reply == nil {
		return 1
	}
	return len(s.reply.transfers) + 1
}

// part encodes the next part into a send buffer. last reports whether it is the last one, which has
// the chunk lists (draft-ietf-nfsv4-rpcrdma-version-two-00 §4.5.2, §4.5.3; R158, R164).
func (sq *sendQueue) part(s *sequence) (buf *Buffer, n int, last bool, err error) {
	buf = sq.buffers.last()
	mem := buf.Bytes[:min(len(buf.Bytes), sq.terms.Send)]
	m := &s.last
	last = sq.version.Overhead(&m.Lists)+s.left <= len(mem)
	if !last {
		m = &sq.out
		m.XID, m.Vers, m.Kind, m.Answer, m.More = s.last.XID, s.last.Vers, s.last.Kind, s.last.Answer, true
	}
	b, err := sq.version.Append(mem[:0:len(mem)], m)
	sq.out.Answer, sq.out.More = false, false
	if err != nil {
		return nil, 0, false, err
	}
	n = len(b)
	for len(s.payload) > 0 && n < len(mem) {
		k := copy(mem[n:], s.payload[0][s.done:])
		n, s.done, s.left = n+k, s.done+k, s.left-k
		if s.done < len(s.payload[0]) {
			break
		}
		s.payload, s.done = s.payload[1:], 0
	}
	sq.buffers.take()
	sq.stats.PartsSent++
	return buf, n, last, nil
}

// class returns the class of the next part: the first one has the class of the message. Each waits
// for a credit (R159).
func (s *sequence) class() protocol.Class {
	switch {
	case s.begun:
		return protocol.ClassPart
	case s.call != nil:
		return protocol.ClassCall
	}
	return protocol.ClassAnswer
}
