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

// need returns the entries of the send queue that the next part may take.
func (s *sequence) need() int {
	if s.reply == nil {
		return 1
	}
	return s.reply.unwritten() + 1
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
