package sim

import "encoding/binary"

// account is what the network knows of one end's credits, from the messages that pass.
type account struct {
	w       *world
	name    string
	asks    int // the end may ask for
	grants  int // and may grant
	granted int
	calls   map[uint32]bool // sent, the answer has not come
	open    map[uint32]bool // received, the answer was not sent
}

// kind is what a message is.
type kind int

const (
	isCall kind = iota
	isReply
	isError
)

// parse finds out what a message is, in its own way (RFC 8166 §4; A27). One that has been sabotaged may be anything.
func parse(b []byte) (k kind, xid, credit uint32) {
	word := func(at int) uint32 {
		if at < 0 || at > len(b)-4 {
			return ^uint32(0)
		}
		return binary.BigEndian.Uint32(b[at:])
	}
	xid, credit = word(0), word(8)
	at, positionZero := 16, false
	for word(at) == 1 && word(12) != 4 {
		positionZero = positionZero || word(at+4) == 0
		at += 24
	}
	switch word(12) {
	case 4:
		return isError, xid, credit
	case 1:
		if positionZero {
			return isCall, xid, credit
		}
		return isReply, xid, credit
	}
	at += 4
	for word(at) == 1 {
		at += 8 + 16*int(word(at+4))
	}
	at += 4
	if word(at) == 1 {
		at += 4 + 16*int(word(at+4))
	}
	return kind(word(at + 8)), xid, credit // behind the payload's XID
}

func (a *account) isReply(b []byte) bool {
	k, _, _ := parse(b)
	return k != isCall
}

// post looks at a message that the end wants sent.
func (a *account) post(b []byte) {
	k, xid, credit := parse(b)
	if k != isCall {
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
func (a *account) receive(b []byte) {
	k, xid, credit := parse(b)
	if k == isCall {
		a.open[xid] = true
		return
	}
	delete(a.calls, xid)
	a.granted = max(1, min(int(credit), a.asks))
}
