package rdmaio_test

import (
	"encoding/binary"
	"fmt"
	"slices"
	"testing"

	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs/wrap/trace"
)

// ledger is an oracle of what one end may send, both ways. It knows the documents and the bytes of messages, and nothing of
// the engine or its accounts. The rules (RFC 8166 §3.3.1, RFC 8167 §4):
//
//   - Calls out are never more than the last grant, one before the first, and no XID is out twice (R127, R128, R266, R269)
//   - each Call received is answered once at most, and nothing else is (R274)
//   - a grant is at least one, at most what that Call asked for, and backed: for what is granted and not in work,
//     and for every Reply to come, there is a Receive (R129, R132, R133, R270, R271)
//
// A lenient ledger holds only this end to the rules: a raw peer at the other may send what it likes.
type ledger struct {
	lenient  bool
	legacy   bool // the side that accepted may send read lists in Replies
	accepted bool

	asked, allowed uint32
	out            map[uint32]bool     // XIDs of our Calls
	in             map[uint32][]uint32 // XIDs of Calls to be answered, with what they asked for
	posted         int
	calls, replies int
	most           int // Calls out at a time
}

func newLedger() *ledger {
	return &ledger{allowed: 1, out: make(map[uint32]bool), in: make(map[uint32][]uint32)}
}

// message is what the ledger sees of one.
type message struct {
	xid, credit uint32
	kind        string // Call, Reply, ERROR, DONE
	long        bool   // by RDMA_NOMSG
	segments    []segmentSeen
}

// segmentSeen is one of a list.
type segmentSeen struct {
	read   bool
	key, n uint32
	at     uint64
}

// parse reads the head of a message by RFC 8166 §4.1; lists are skipped to find the RPC message.
func parse(b string) (m message, err error) {
	word := func(at int) uint32 {
		if at+4 > len(b) {
			err = fmt.Errorf("message of %d bytes ends before byte %d", len(b), at+4)
			return 0
		}
		return binary.BigEndian.Uint32([]byte(b[at:]))
	}
	m.xid, m.credit = word(0), word(8)
	at := 16
	segment := func(read bool) {
		m.segments = append(m.segments, segmentSeen{read, word(at), word(at + 4), uint64(word(at+8))<<32 | uint64(word(at+12))})
		at += 16
	}
	segments := func() {
		n := word(at)
		for at += 4; n > 0 && err == nil; n-- {
			segment(false)
		}
	}
	more := func() bool { // is there another element?
		v := word(at)
		if at += 4; v > 1 && err == nil {
			err = fmt.Errorf("presence word %#x", v)
		}
		return v == 1 && err == nil
	}
	if vers := word(4); vers != 1 && err == nil && word(12) != 4 { // an ERROR has the version of what it answers
		return m, fmt.Errorf("version %d", vers)
	}
	switch proc := word(12); proc {
	case 3:
		m.kind = "DONE"
		return m, err
	case 4:
		m.kind = "ERROR"
		return m, err
	case 0, 1:
		reads := false
		for more() {
			reads = true
			at += 4
			segment(true)
		}
		for more() {
			segments()
		}
		if more() {
			segments()
		}
		m.kind, m.long = "Reply", proc == 1
		if proc == 0 && word(at+4) == 0 || proc == 1 && reads {
			m.kind = "Call"
		}
		if proc == 0 && word(at+4) > 1 && err == nil {
			err = fmt.Errorf("RPC message of type %d", word(at+4))
		}
		if proc == 0 && word(at) != m.xid {
			return m, fmt.Errorf("header has XID %#x, RPC message %#x", m.xid, word(at))
		}
		return m, err
	default:
		return m, fmt.Errorf("procedure %d", proc)
	}
}

// event takes one of the end's events.
func (l *ledger) event(e *trace.Event) error {
	switch {
	case e.Kind == trace.PostRecv:
		l.posted++
	case e.Kind == trace.Complete && e.Status == verbs.StatusSuccess && e.WCOpcode == verbs.WCRecv:
		l.posted--
		m, err := parse(e.Head)
		switch kind := l.kind(m, !l.accepted); {
		case l.lenient && (err != nil || kind == "Reply" && m.long && l.accepted && !l.out[m.xid]):
			l.garbage(e.Head)
			return nil
		case err != nil:
			return err
		case kind == "Call":
			l.in[m.xid] = append(l.in[m.xid], m.credit)
			return nil
		case kind == "DONE":
			return nil
		}
		if !l.out[m.xid] && !l.lenient {
			return fmt.Errorf("%s to %#x, which is not out", m.kind, m.xid)
		}
		delete(l.out, m.xid)
		l.replies++
		l.allowed = max(1, m.credit)
		if l.asked > 0 {
			l.allowed = min(l.allowed, l.asked)
		}
	case sends(e):
		m, err := parse(e.Head)
		if err != nil {
			return err
		}
		return l.sent(m)
	}
	return nil
}

// kind is what a message is, here; accepted tells whether the side that accepted sent it.
func (l *ledger) kind(m message, accepted bool) string {
	if m.kind == "Call" && m.long && l.legacy && accepted { // a whole Reply by read chunk
		return "Reply"
	}
	return m.kind
}

// garbage is a message that cannot be read. It belongs to the forward direction: there it is answered, or ends a Call.
func (l *ledger) garbage(b string) {
	if len(b) < 16 {
		return
	}
	xid, credit := binary.BigEndian.Uint32([]byte(b)), binary.BigEndian.Uint32([]byte(b[8:]))
	if l.accepted {
		l.in[xid] = append(l.in[xid], credit)
		return
	}
	delete(l.out, xid)
	l.allowed = max(l.allowed, min(credit, l.asked))
}

// sent checks a message against the rules.
func (l *ledger) sent(m message) error {
	switch l.kind(m, l.accepted) {
	case "DONE":
		return nil
	case "Call":
		if l.out[m.xid] {
			return fmt.Errorf("XID %#x is out already", m.xid)
		}
		l.out[m.xid] = true
		l.asked = m.credit
		l.calls++
		l.most = max(l.most, len(l.out))
		if uint32(len(l.out)) > l.allowed {
			return fmt.Errorf("%d Calls out, %d granted", len(l.out), l.allowed)
		}
		if l.posted < len(l.out) {
			return fmt.Errorf("%d Receives posted for %d Calls of our own", l.posted, len(l.out))
		}
		return nil
	}
	owed := l.in[m.xid]
	if len(owed) == 0 {
		return fmt.Errorf("%s to %#x, which is not to be answered", m.kind, m.xid)
	}
	asked := slices.Max(owed)
	if l.in[m.xid] = owed[1:]; len(owed) == 1 {
		delete(l.in, m.xid)
	}
	work := 0
	for _, owed := range l.in {
		work += len(owed)
	}
	switch backed := l.posted - len(l.out) + work; {
	case m.credit < 1 || m.credit > max(1, asked):
		return fmt.Errorf("grant of %d for a Call that asks for %d", m.credit, asked)
	case int(m.credit) > backed:
		return fmt.Errorf("grant of %d: %d Receives posted, %d Calls out, %d in work", m.credit, l.posted, len(l.out), work)
	}
	return nil
}

// audit runs the events of one device, which has one connection.
func audit(list []trace.Event, device string) (*ledger, error) {
	l := newLedger()
	for i := range list {
		if list[i].Device != device {
			continue
		}
		if err := l.event(&list[i]); err != nil {
			return l, fmt.Errorf("event %d of %s: %w", list[i].Seq, device, err)
		}
	}
	return l, nil
}

// overEachWatched runs a test over each provider, with the first bytes of each message in the history.
func overEachWatched(t *testing.T, test func(t *testing.T, w *world)) {
	overEach(t, func(t *testing.T, w *world) {
		w.heads = true
		test(t, w)
	})
}

// The ledger's canary: it must see each rule broken.
func TestLedgerSees(t *testing.T) {
	none := "000000000000000000000000"
	msg := func(xid, credit, typ string) string { return xid + "00000001" + credit + "00000000" + none + xid + typ }
	const call, reply = "00000000", "00000001"
	recv := trace.Event{Kind: trace.PostRecv}
	send := func(hex string) trace.Event {
		return trace.Event{Kind: trace.PostSend, Opcode: verbs.Send, Head: string(unhex(t, hex))}
	}
	got := func(hex string) trace.Event {
		return trace.Event{Kind: trace.Complete, WCOpcode: verbs.WCRecv, Head: string(unhex(t, hex))}
	}
	for name, c := range map[string]struct {
		list []trace.Event
		bad  bool
	}{
		"good": {[]trace.Event{
			recv, recv, recv,
			send(msg("00000001", "00000002", call)), got(msg("00000001", "00000001", call)), recv,
			send(msg("00000001", "00000001", reply)), got(msg("00000001", "00000002", reply)), recv,
			send(msg("00000002", "00000002", call)), send(msg("00000003", "00000002", call)),
		}, false},
		"two Calls before the first Reply": {[]trace.Event{recv, recv, send(msg("00000001", "00000002", call)), send(msg("00000002", "00000002", call))}, true},
		"no Receive for the Reply":         {[]trace.Event{send(msg("00000001", "00000002", call))}, true},
		"an answer to nothing":             {[]trace.Event{recv, send(msg("00000001", "00000001", reply))}, true},
		"a grant of 0":                     {[]trace.Event{recv, recv, got(msg("00000001", "00000001", call)), send(msg("00000001", "00000000", reply))}, true},
		"more than was asked for":          {[]trace.Event{recv, recv, recv, got(msg("00000001", "00000001", call)), send(msg("00000001", "00000002", reply))}, true},
		"a grant on a Receive that a Reply needs": {[]trace.Event{
			recv, recv, got(msg("00000001", "00000001", call)), send(msg("00000001", "00000002", call)), send(msg("00000001", "00000001", reply)),
		}, true},
		"the same XID twice": {[]trace.Event{
			recv, recv, recv, send(msg("00000001", "00000002", call)), got(msg("00000001", "00000002", reply)),
			send(msg("00000002", "00000002", call)), send(msg("00000002", "00000002", call)),
		}, true},
	} {
		if _, err := audit(c.list, ""); (err != nil) != c.bad {
			t.Errorf("%s: %v", name, err)
		}
	}
}
