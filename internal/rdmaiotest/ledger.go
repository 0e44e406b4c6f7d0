package rdmaiotest

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/rpcrdma/rpcrdma/internal/peertest"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs/wrap/trace"
)

// Ledger counts credits, Calls and Receives of one end of a connection, in both directions, and
// reports what the end sends against the rules (RFC 8166 §3.3.1, RFC 8167 §4):
//
//   - no more of its Calls are outstanding than the last grant, one before the first, and no XID is
//     outstanding twice (R127, R128, R266, R269)
//   - each Call that it receives has at most one answer, and nothing else has one (R274)
//   - a grant is at least one, at most what that Call asked for, and backed: there is a Receive for
//     each Call that is granted and not in progress, and for each Reply to come (R129, R132, R133,
//     R270, R271)
//
// It knows the documents and the bytes of messages only: the engine's account of credits is a
// second one on purpose.
type Ledger struct {
	Calls, Replies  int // sent, received
	MostOutstanding int // Calls at a time
	Outstanding     map[uint32]bool
	Unanswered      map[uint32][]uint32 // by XID of a Call received: the credits that it asked for

	lenient  bool // the peer may send anything
	legacy   bool // the side that accepted may send read lists in Replies
	accepted bool // this end did
	two      *ledger2
	began    uint64 // event of the first part of the last message, in version 2

	asked, allowed uint32
	receives       int // posted
}

func newLedger() *Ledger {
	return &Ledger{allowed: 1, Outstanding: make(map[uint32]bool), Unanswered: make(map[uint32][]uint32)}
}

// Audit holds the events of one device, which has one connection, against the rules for both ends.
func Audit(list []trace.Event, device string) (*Ledger, error) {
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

func (l *Ledger) event(e *trace.Event) error {
	switch {
	case e.Kind == trace.PostRecv:
		l.receives++
	case e.Kind == trace.Complete && e.Status == verbs.StatusSuccess && e.WCOpcode == verbs.WCRecv:
		l.receives--
		return l.received(e.Head)
	case IsSend(e):
		m, err := peertest.Parse(e.Head)
		if err != nil {
			return err
		}
		if err := l.sent(&m); err != nil {
			return fmt.Errorf("%w, in %v", err, m)
		}
	}
	return nil
}

func (l *Ledger) received(head string) error {
	m, err := peertest.Parse(head)
	switch kind := l.kind(&m, !l.accepted); {
	case l.lenient && (err != nil || kind == peertest.Reply && m.Long && l.accepted && !l.Outstanding[m.XID]):
		l.garbage(head)
		return nil
	case err != nil:
		return err
	case kind == peertest.Call:
		l.Unanswered[m.XID] = append(l.Unanswered[m.XID], m.Credit)
		return nil
	case kind == peertest.Done:
		return nil
	}
	if !l.Outstanding[m.XID] && !l.lenient {
		return fmt.Errorf("%v, whose Call is not outstanding", m)
	}
	delete(l.Outstanding, m.XID)
	l.Replies++
	l.allowed = max(1, m.Credit)
	if l.asked > 0 {
		l.allowed = min(l.allowed, l.asked)
	}
	return nil
}

// kind returns the kind of a message, given whether the side that accepted sent it.
func (l *Ledger) kind(m *peertest.Message, accepted bool) peertest.Kind {
	if m.Kind == peertest.Call && m.Long && l.legacy && accepted { // a whole Reply by read chunk
		return peertest.Reply
	}
	return m.Kind
}

// garbage counts a message that cannot be parsed. It belongs to the forward direction, where it is
// answered, or ends a Call.
func (l *Ledger) garbage(b string) {
	if len(b) < 16 {
		return
	}
	xid, credit := binary.BigEndian.Uint32([]byte(b)), binary.BigEndian.Uint32([]byte(b[8:]))
	if l.accepted {
		l.Unanswered[xid] = append(l.Unanswered[xid], credit)
		return
	}
	delete(l.Outstanding, xid)
	l.allowed = max(l.allowed, min(credit, l.asked))
}

// sent checks a message that this end sends.
func (l *Ledger) sent(m *peertest.Message) error {
	switch l.kind(m, l.accepted) {
	case peertest.Done:
		return nil
	case peertest.Call:
		return l.called(m)
	}
	owed := l.Unanswered[m.XID]
	if len(owed) == 0 {
		return fmt.Errorf("%s to %#x, which is not to be answered", m.Kind, m.XID)
	}
	asked := slices.Max(owed)
	if l.Unanswered[m.XID] = owed[1:]; len(owed) == 1 {
		delete(l.Unanswered, m.XID)
	}
	inProgress := 0
	for _, owed := range l.Unanswered {
		inProgress += len(owed)
	}
	switch backed := l.receives - len(l.Outstanding) + inProgress; {
	case m.Credit < 1 || m.Credit > max(1, asked):
		return fmt.Errorf("grant of %d for a Call that asks for %d", m.Credit, asked)
	case int(m.Credit) > backed:
		return fmt.Errorf("grant of %d: %d Receives posted, %d Calls outstanding, %d in progress", m.Credit, l.receives, len(l.Outstanding), inProgress)
	}
	return nil
}

// called checks a Call that this end sends.
func (l *Ledger) called(m *peertest.Message) error {
	if l.Outstanding[m.XID] {
		return fmt.Errorf("XID %#x is outstanding already", m.XID)
	}
	l.Outstanding[m.XID] = true
	l.asked = m.Credit
	l.Calls++
	l.MostOutstanding = max(l.MostOutstanding, len(l.Outstanding))
	if uint32(len(l.Outstanding)) > l.allowed {
		return fmt.Errorf("%d Calls outstanding, %d granted", len(l.Outstanding), l.allowed)
	}
	if l.receives < len(l.Outstanding) {
		return fmt.Errorf("%d Receives posted for %d Calls of our own", l.receives, len(l.Outstanding))
	}
	return nil
}
