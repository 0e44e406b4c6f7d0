package sim

import "encoding/binary"

// account is what the network knows of one end's credits, from the messages that pass.
type account struct {
	w       *world
	name    string
	asks    int // the end may ask for
	grants  int // and may grant
	granted int
	calls   map[uint32]bool // sent, the answer has not come, or has to be read
	open    map[uint32]bool // received, the answer was not sent
	reading map[uint32]bool // of the calls: the answer has to be read
	due     map[uint32]bool // answered, and the peer is to read the answer
}

// kind is what a message is.
type kind int

const (
	isCall kind = iota
	isReply
	isError
	isDone
)

// seen is what a message is found to be.
type seen struct {
	kind        kind
	xid, credit uint32
	reads       bool
	payload     int // where the RPC message begins; 0: not in this message
}

// parse finds out what a message is, in its own way (RFC 8166 §4; A27). One that has been sabotaged may be anything. A
// whole message by read chunk is a Call, but from a server of the draft a Reply.
func parse(b []byte, lends bool) (m seen) {
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
		if m.kind = isReply; positionZero && !lends {
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
	m.kind = kind(word(at + 8)) // behind the payload's XID
	return m
}

// post looks at a message that the end wants sent.
func (a *account) post(m seen) {
	k, xid, credit := m.kind, m.xid, m.credit
	if k == isDone {
		if !a.reading[xid] {
			a.w.fail("%v has read the answer to %#x, says RDMA_DONE, and it had nothing to read", a.name, xid)
		}
		delete(a.reading, xid)
		delete(a.calls, xid)
		return
	}
	if k != isCall {
		if m.reads {
			a.due[xid] = true
		}
		if !a.open[xid] {
			a.w.fail("%v answers %#x, which nobody asked or was answered", a.name, xid)
		}
		delete(a.open, xid)
		if credit == 0 || int(credit) > a.grants {
			a.w.fail("%v grants %d credits, it has %d", a.name, credit, a.grants)
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
		a.w.fail("%v asks for %d credits, it wants %d", a.name, credit, a.asks)
	}
}

// receive looks at a message that the end is about to see.
func (a *account) receive(m seen) {
	switch {
	case m.kind == isCall:
		a.open[m.xid] = true
		return
	case m.kind == isDone:
		if !a.due[m.xid] {
			a.w.fail("%v hears RDMA_DONE of %#x, which has nothing to be read", a.name, m.xid)
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
