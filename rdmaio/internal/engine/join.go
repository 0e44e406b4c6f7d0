package engine

import (
	"fmt"
	"math/bits"
	"time"

	"github.com/rpcrdma/rpcrdma/rdmaio/internal/header"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/protocol"
)

// joiner assembles a continued message of the peer. There is one at a time, and its parts come one
// after the other (draft-ietf-nfsv4-rpcrdma-version-two-00 §4.5.2, §6.3.2; R153 to R158, R165). A
// property set's parts are only checked here, because control collects their bytes. The states:
//
//	                a part with MORE                  over Config.MaxContinued, or no memory
//	joinIdle ──────────────────────────> joinOpen ───────────────────────> joinSkipping
//	    ▲      the last part, or a message │                                     │ the last part
//	    └─ that is not a part (a fault) ───┴─────────────────────────────────────┘
type joiner struct {
	*shared
	state    joinState
	xid      uint32
	kind     header.Kind
	answer   bool
	buf      []byte
	into     *Call // the Call whose ReplyTo is buf; nil: buf is reserved
	size     int   // of all parts, bytes
	parts    int
	deadline time.Duration // of the last part; 0: none
}

type joinState uint8

const (
	joinIdle joinState = iota
	joinOpen
	joinSkipping
)

// maxParts is the number of parts that a message may have. It is limited because even empty parts,
// which use no memory, take time.
const maxParts = 1 << 16

// add takes a message that has MORE, or that comes in the middle of a continued one. It returns
// false for a part that is not the last; nothing else is to be done for it. With the last part,
// m.Payload is the whole payload, in the memory own. own is nil if the payload is still the
// Receive, or in the ReplyTo of into, the Call that the first part of a message answers. f is a
// fault of the sequence.
func (j *joiner) add(m *header.Message, p protocol.Purpose, into *Call) (whole bool, own []byte, f *header.Fault) {
	switch {
	case j.state == joinIdle: // m.More
		j.state, j.xid, j.kind, j.answer = joinOpen, m.XID, m.Kind, m.Answer
		if into != nil {
			j.into, j.buf = into, into.ReplyTo[:0]
		}
		if j.cfg.ContinueTimeout > 0 {
			j.deadline = j.now + j.cfg.ContinueTimeout // R162
		}
		j.account.Sequence(true)
	case p == protocol.Grant || m.Kind == header.KindError: // A5, T91
		return true, nil, nil
	case m.Kind != j.kind || m.XID != j.xid || m.Answer != j.answer: // R156, T89, T91, T95
		return true, nil, &header.Fault{Code: header.FaultSequence, Found: uint64(m.XID), Want: uint64(j.xid)}
	}
	if j.kind == header.KindProps {
		if !m.More {
			j.reset()
		}
		return true, nil, nil
	}
	j.take(m.Payload)
	if m.More {
		j.stats.PartsReceived++
		return false, nil, nil
	}
	if j.state == joinSkipping {
		f = &header.Fault{Code: header.FaultLong, Found: uint64(j.size), Want: uint64(j.cfg.MaxContinued)}
		j.reset()
		return true, nil, f
	}
	j.stats.PartsReceived++
	m.Payload = j.buf[:len(j.buf):len(j.buf)] // T20
	if j.into == nil {
		own = j.buf
	}
	j.buf, j.into = nil, nil // it belongs to the message now
	j.reset()
	return true, own, nil
}

// take appends a part.
func (j *joiner) take(b []byte) {
	j.size += len(b)
	j.parts++
	if j.state == joinSkipping {
		return
	}
	if j.size > j.cfg.MaxContinued || j.parts > maxParts {
		j.skip()
		return
	}
	if need := len(j.buf) + len(b); need > cap(j.buf) && !j.grow(need) {
		j.skip()
		return
	}
	j.buf = append(j.buf, b...)
}

// leastJoined is the size in bytes of the smallest buffer.
const leastJoined = 8 << 10

// grow moves the message to a buffer of at least need bytes, which are mostly received already.
// Unless Config.MaxContinued is shorter, the buffer's length is a power of two, so that it can be
// used again (R324). grow returns false if there is no memory.
func (j *joiner) grow(need int) bool {
	had := cap(j.buf)
	if j.into != nil {
		had = 0
	}
	room := min(max(leastJoined, 1<<bits.Len(uint(need-1))), max(need, j.cfg.MaxContinued))
	if !j.cfg.Reserve(room - had) {
		return false
	}
	grown := append(j.cfg.Memory.Take(room)[:0], j.buf...)
	if had > 0 {
		j.cfg.Memory.Give(j.buf)
	}
	j.buf, j.into = grown, nil
	return true
}

// leave moves the message out of ReplyTo, because its Call has returned.
func (j *joiner) leave() {
	if !j.grow(max(len(j.buf), 1)) {
		j.skip()
	}
}

// skip discards the rest of a message that is too long.
func (j *joiner) skip() {
	j.state = joinSkipping
	j.release()
}

// release gives the buffer back.
func (j *joiner) release() {
	if j.into == nil && j.buf != nil {
		j.giveBack(j.buf)
	}
	j.buf, j.into = nil, nil
}

// reset discards the message.
func (j *joiner) reset() {
	if j.state == joinIdle {
		return
	}
	j.release()
	*j = joiner{shared: j.shared}
	j.account.Sequence(false)
}

// breakOff discards the unfinished message. It returns its XID, and whether it is a Call or a
// Reply.
func (j *joiner) breakOff() (xid uint32, call, reply bool) {
	xid, rpc := j.xid, j.state != joinIdle && j.kind == header.KindMsg
	call, reply = rpc && !j.answer, rpc && j.answer
	j.reset()
	return xid, call, reply
}

// timer closes the connection if a continued message takes too long (T90).
func (j *joiner) timer() {
	if j.deadline > 0 && j.deadline <= j.now {
		j.end(&Error{Reason: ErrTimeout, Detail: fmt.Sprintf("the message with XID %#08x was not continued within %v", j.xid, j.cfg.ContinueTimeout)})
	}
}

// setDeadline requests an EventTimer for the message.
func (j *joiner) setDeadline() {
	if j.deadline > 0 {
		j.wake(j.deadline)
	}
}
