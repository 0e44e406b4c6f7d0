package sim

import (
	"encoding/binary"

	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// account2 counts the messages of one end in version 2, and knows its rules from the draft
// (draft-ietf-nfsv4-rpcrdma-version-two-00 §4.3.1, §6.3, §6.4). What it asserts:
//
//   - an end never sends more messages than the credits that have reached it. Grants are counted
//     apart: one may go without a credit (R169, R170, R175, R178);
//   - it has a Receive for each credit that it granted and the peer has not used, and one more
//     (R172, R175), and no more credits are outstanding than the ceiling that it advertises (R167);
//   - a message that is continued is sent to its end before another one begins, apart from grants
//     and ERRORs. Only its last part has chunks (R155, R156, R158);
//   - each Call is sent once, and answered once (R194).
type account2 struct {
	w       *world
	e       *end
	ceiling int
	begun   bool // it has granted credits

	credits  int // that have reached this end
	sent     int // messages, without grants
	granted  int // credits to the peer
	received int // messages, with grants

	out        sequence2 // being sent
	calls      map[uint32]bool
	unanswered map[uint32]bool
}

// sequence2 is a continued message.
type sequence2 struct {
	open bool
	kind kind
	xid  uint32
}

// The kinds of messages that version 1 has not.
const (
	isProps kind = iota + isDone + 1
	isGrant
	isVers // ERR_VERS
	isUnknown
)

// parse2 parses a message of version 2 without the product's code (§6.3, §6.4).
func parse2(b []byte) (m seen) {
	word := func(at int) uint32 {
		if at < 0 || at > len(b)-4 {
			return ^uint32(0)
		}
		return binary.BigEndian.Uint32(b[at:])
	}
	m.vers, m.xid, m.credit = 2, word(0), word(8)
	flags := word(16)
	m.more = flags&2 != 0
	m.kind = kind(flags & 1)
	switch word(12) {
	case 0:
		m.chunks = word(20) != 0 || word(24) != 0 || word(28) != 0 || word(32) != 0
		m.payload = len(b)
	case 1:
		if m.chunks = word(20) != 0 || word(24) != 0 || word(28) != 0 || word(32) != 0; !m.chunks {
			m.kind = isGrant
		}
	case 4:
		// It has no flags, but two versions.
		if m.kind = isError; len(b) == 28 && word(16) == 1 && word(20) <= 2 {
			m.kind = isVers
		}
	case 5:
		m.kind = isProps
	default:
		m.kind = isUnknown
	}
	return m
}

// post checks a message that the end sends.
func (a *account2) post(m seen, n int) {
	fail := func(format string, args ...any) {
		a.w.fail(a.e.name+" "+format, args...)
	}
	first := a.sent == 0
	high, low := int(m.credit>>16), int(m.credit&0xffff)
	switch m.kind {
	case isVers:
		return
	case isGrant:
		if m.xid != 0 || low == 0 {
			fail("sends a grant of %d credits with XID %#x", low, m.xid) // R174
		}
	default:
		if a.sent++; a.sent > a.credits {
			fail("sends %d messages, and %d credits have reached it", a.sent, a.credits)
		}
	}
	if a.e.i == 0 && first && (m.kind != isProps || n > 1024) { // R42, R182
		fail("begins with %d bytes of kind %d", n, m.kind)
	}
	want := a.ceiling
	if m.kind == isProps && !a.begun { // what kind of account it is
		want++
	}
	if high != want {
		fail("has a ceiling of %d, advertises %d", a.ceiling, high)
	}
	if m.kind != isError {
		a.begun = true
		a.granted += low
	}
	if free, need := len(a.e.port.rq)+a.e.unread(), a.granted-a.received; free < need+1 {
		fail("has %d Receives, and %d credits are outstanding", free, need)
	}
	if most := a.granted - a.received; most > a.ceiling {
		fail("has granted %d credits, the ceiling is %d", most, a.ceiling)
	}
	part := sequence2{true, m.kind, m.xid}
	switch {
	case m.kind == isGrant:
		return
	case m.kind == isError:
	case a.out.open && part != a.out:
		fail("sends a message of kind %d with XID %#x inside the one of kind %d with XID %#x", m.kind, m.xid, a.out.kind, a.out.xid)
	case m.more && m.chunks:
		fail("sends a part with chunks that is not the last")
	}
	inside := a.out.open && part == a.out
	if m.kind != isError {
		a.out = part
		a.out.open = m.more
	}
	switch m.kind {
	case isCall:
		if !inside && a.calls[m.xid] {
			fail("calls %#x twice", m.xid)
		}
		a.calls[m.xid] = true
	case isReply, isError:
		if !inside && !a.unanswered[m.xid] {
			fail("answers %#x, which was not asked or is answered already", m.xid)
		}
		delete(a.unanswered, m.xid)
	}
	if inside || m.more {
		a.w.tally.parts++
	}
}

// receive records a message before the end gets it.
func (a *account2) receive(m seen) {
	if m.kind == isVers {
		return
	}
	a.received++
	if m.kind != isError { // R177
		a.credits += int(m.credit & 0xffff)
	}
	switch {
	case m.kind == isError, m.kind == isReply && !m.more:
		delete(a.calls, m.xid)
	case m.kind == isCall && !m.more:
		a.unanswered[m.xid] = true
	}
}

// unread returns the number of messages that have arrived and that the engine has not received:
// their Receives are in use, and their credits count as outstanding still.
func (e *end) unread() (n int) {
	for i := range e.port.wcs {
		if e.port.wcs[i].Opcode == verbs.WCRecv {
			n++
		}
	}
	return n
}
