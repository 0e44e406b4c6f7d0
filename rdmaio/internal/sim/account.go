package sim

import "encoding/binary"

// account counts the credits and Calls of one end, from the messages that the network carries. It
// is a second implementation of rdmaiotest.Ledger on purpose: that one checks connections over a
// provider, this one engines alone, and they share no code in which a wrong reading of the RFC
// could hide from both. It also checks RDMA_DONE.
type account struct {
	w          *world
	name       string
	asks       int // credits that the end asks for
	grants     int // credits that it grants at most
	granted    int
	calls      map[uint32]bool // by XID: sent; no answer has arrived, or it is being read
	unanswered map[uint32]bool // received; no answer was sent
	reading    map[uint32]bool // of calls: the answer has read chunks
	due        map[uint32]bool // answered with read chunks; RDMA_DONE is expected
}

// kind is the kind of a message.
type kind int

const (
	isCall kind = iota
	isReply
	isError
	isDone
)

// seen is the result of parsing a message.
type seen struct {
	kind        kind
	xid, credit uint32
	reads       bool // it has read chunks
	payload     int  // offset of the RPC message; 0: it is in a chunk

	// Version 2.
	vers   int
	more   bool // the message is continued
	chunks bool // it has chunks, or names a key
}

// parse parses a message without the product's code (RFC 8166 §4; A27). It accepts any bytes, since
// messages may be sabotaged. An RDMA_NOMSG with a chunk at position zero is a Call or, with
// readChunkReplies, a Reply.
func parse(b []byte, readChunkReplies bool) (m seen) {
	word := func(at int) uint32 {
		if at < 0 || at > len(b)-4 {
			return ^uint32(0)
		}
		return binary.BigEndian.Uint32(b[at:])
	}
	m.xid, m.credit = word(0), word(8)
	at, positionZero := 16, false
	switch word(12) {
	case 2:
		at = 24
	case 3:
		m.kind = isDone
		return m
	case 4:
		m.kind = isError
		return m
	}
	for word(at) == 1 {
		m.reads = true
		positionZero = positionZero || word(at+4) == 0
		at += 24
	}
	if word(12) == 1 {
		if m.kind = isReply; positionZero && !readChunkReplies {
			m.kind = isCall
		}
		return m
	}
	at += 4
	for word(at) == 1 {
		at += 8 + 16*int(word(at+4))
	}
	at += 4
	if word(at) == 1 {
		at += 4 + 16*int(word(at+4))
	}
	m.payload = at + 4
	m.kind = kind(word(at + 8)) // after the payload's XID
	return m
}

// post checks a message that the end sends.
func (a *account) post(m seen) {
	k, xid, credit := m.kind, m.xid, m.credit
	if k == isDone {
		if !a.reading[xid] {
			a.w.fail("%v sends RDMA_DONE for %#x, whose answer has no read chunks", a.name, xid)
		}
		delete(a.reading, xid)
		delete(a.calls, xid)
		return
	}
	if k != isCall {
		if m.reads {
			a.due[xid] = true
		}
		if !a.unanswered[xid] {
			a.w.fail("%v answers %#x, which was not asked or is answered already", a.name, xid)
		}
		delete(a.unanswered, xid)
		if credit == 0 || int(credit) > a.grants {
			a.w.fail("%v grants %d credits, at most %d are allowed", a.name, credit, a.grants)
		}
		return
	}
	if a.calls[xid] {
		a.w.fail("%v calls %#x twice", a.name, xid)
	}
	a.calls[xid] = true
	if len(a.calls) > a.granted {
		a.w.fail("%v has %d Calls in flight, %d were granted", a.name, len(a.calls), a.granted)
	}
	if int(credit) != a.asks {
		a.w.fail("%v asks for %d credits, want %d", a.name, credit, a.asks)
	}
}

// receive records a message before the end gets it.
func (a *account) receive(m seen) {
	switch {
	case m.kind == isCall:
		a.unanswered[m.xid] = true
		return
	case m.kind == isDone:
		if !a.due[m.xid] {
			a.w.fail("%v receives RDMA_DONE for %#x, whose answer has no read chunks", a.name, m.xid)
		}
		delete(a.due, m.xid)
		return
	case m.reads && m.kind == isReply: // its credit is in use until RDMA_DONE
		a.reading[m.xid] = true
	default:
		delete(a.calls, m.xid)
	}
	a.granted = max(1, min(int(m.credit), a.asks))
}
