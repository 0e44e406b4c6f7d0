package rdmaiotest

import (
	"encoding/binary"
	"fmt"

	"github.com/rpcrdma/rpcrdma/internal/peertest/peer2"
)

// ledger2 checks the messages of version 2 that one end of a connection sends
// (draft-ietf-nfsv4-rpcrdma-version-two-00):
//
//   - each is valid, and has a credit; before the first grant the client sends one at a time (R138,
//     R142, R144, R147, R170, R178)
//   - the credits that it grants are within its ceiling, and backed by Receives, with one more for
//     a grant (R172, R175, R179)
//   - nothing but grants and ERRORs comes between the parts of a continued message (R155)
//   - it answers a Call once, and an ERROR or a Reply never (R193)
//
// What the peer sends may be anything.
type ledger2 struct {
	book       peer2.Book
	begun      bool
	accepted   bool            // this end did
	unanswered map[uint32]int  // messages received, by XID
	open       *peer2.Message  // the last part sent of a message that goes on
	calls      map[uint32]bool // sent and not answered
}

func newLedger2(accepted bool) *ledger2 {
	return &ledger2{
		book: peer2.NewBook(!accepted), accepted: accepted,
		unanswered: make(map[uint32]int), calls: make(map[uint32]bool),
	}
}

// version returns the version of a message, or 0 if it is too short to have one.
func version(head string) uint32 {
	if len(head) < 8 {
		return 0
	}
	return binary.BigEndian.Uint32([]byte(head[4:8]))
}

// refusesVersion reports whether a message is the ERR_VERS of version 1, which has the version of
// the message that it answers (A1).
func (l *ledger2) refusesVersion(head string) bool {
	if len(head) != 28 {
		return false
	}
	b := []byte(head)
	return !l.begun && binary.BigEndian.Uint32(b[12:]) == 4 && binary.BigEndian.Uint32(b[16:]) == 1
}

func (l *ledger2) received(head string) {
	m, err := peer2.Parse([]byte(head))
	if len(head) < 20 {
		m = peer2.Message{Type: peer2.Error}
	}
	_ = l.book.Received(&m) // a scripted peer may send more
	switch {
	case m.Type == peer2.Error:
		delete(l.calls, m.XID)
	case m.IsGrant() && err == nil:
	case m.Flags&peer2.Response == 0 || err != nil || l.accepted:
		l.unanswered[m.XID]++ // a server may refuse what a scripted client calls a Reply
	}
	if err == nil && m.IsReply() && m.Flags&peer2.More == 0 {
		delete(l.calls, m.XID)
	}
}

// sent checks a message that this end sends with so many Receives posted.
func (l *ledger2) sent(head string, size, receives int) error {
	m, err := peer2.Parse([]byte(head))
	if err != nil {
		return fmt.Errorf("R138: a message of version 2 that is not valid: %w: %v", err, m)
	}
	first := !l.begun
	l.begun = true
	if err := l.book.Sent(&m); err != nil {
		return fmt.Errorf("R170: %w", err)
	}
	switch {
	case first && !l.accepted && (m.Type != peer2.ConnProp || size < 28 || size > 1024):
		return fmt.Errorf("R182: the first message has %d bytes: %v", size, m)
	case l.book.In > m.Ceiling() && m.Type != peer2.Error:
		return fmt.Errorf("R179: %d credits granted, the ceiling is %d: %v", l.book.In, m.Ceiling(), m)
	case l.book.In+1 > receives:
		return fmt.Errorf("R172, R175: %d credits granted, %d Receives posted: %v", l.book.In, receives, m)
	case l.open != nil && m.Type != peer2.Error && !m.IsGrant() && (m.XID != l.open.XID || m.Type != l.open.Type || (m.Flags^l.open.Flags)&peer2.Response != 0):
		return fmt.Errorf("R155, R156: %v inside the sequence of %v", m, *l.open)
	}
	part := l.open != nil && m.Type == l.open.Type
	switch {
	case m.Type == peer2.Error || m.IsReply() && m.Flags&peer2.More == 0:
		if l.unanswered[m.XID] == 0 {
			return fmt.Errorf("R193: %v answers no message", m)
		}
		if l.unanswered[m.XID]--; l.unanswered[m.XID] == 0 {
			delete(l.unanswered, m.XID)
		}
	case m.IsCall() && !part:
		if l.calls[m.XID] {
			return fmt.Errorf("XID %#x is outstanding already: %v", m.XID, m)
		}
		l.calls[m.XID] = true
	}
	if m.Type != peer2.Error && !m.IsGrant() {
		if l.open = nil; m.Flags&peer2.More != 0 {
			l.open = &m
		}
	}
	return nil
}
