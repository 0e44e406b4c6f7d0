package v2_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/header"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/protocol"
)

// newAccount returns the account of an end that makes 2 Calls and serves 3, with all Receives that
// it may need.
func newAccount(dialed bool) protocol.Account {
	a := newVersion(dialed).Account(protocol.AccountConfig{Calls: 2, Serves: 3, Receives: 7})
	a.Posted(7)
	return a
}

// R167, R169, R178: each class of message costs a credit. The credit word has the ceiling and the
// new credits, which an ERROR does not grant (R177).
func TestEachMessageCostsACredit(t *testing.T) {
	for class, word := range map[protocol.Class]uint32{
		protocol.ClassCall:   0x00050005,
		protocol.ClassPart:   0x00050005,
		protocol.ClassAnswer: 0x00050005,
		protocol.ClassProps:  0x00060005, // the first properties show what account it is
		protocol.ClassOther:  0x00060005,
		protocol.ClassError:  0x00050000, // R177
	} {
		a := newAccount(true)
		if !a.Free(class) || a.Free(protocol.ClassGrant) {
			t.Errorf("class %d: not even one message may be sent, or a grant may", class)
		}
		if got := a.Sent(class, 99); got != word {
			t.Errorf("class %d: credit word %#x, want %#x", class, got, word)
		}
		if a.Free(class) {
			t.Errorf("class %d: another message may be sent before the first grant", class)
		}
		want := protocol.Counts{Given: int(word & 0xffff)}
		if class == protocol.ClassCall {
			want.Calls, want.Granted = 1, 1
		}
		if diff := cmp.Diff(want, a.Counts()); diff != "" {
			t.Errorf("class %d: %s", class, diff)
		}
	}
}

// R177: which words are grants. A ceiling of 4 and a grant of 3 come before, so 3 credits are left.
func TestAccountReceived(t *testing.T) {
	const word = 0x00040001
	for _, c := range []struct {
		name string
		m    header.Message
		f    *header.Fault
		free int
	}{
		{"Call", header.Message{}, nil, 4},
		{"Reply", header.Message{Answer: true}, nil, 4},
		{"properties", header.Message{Kind: header.KindProps}, nil, 4},
		{"grant", header.Message{Kind: header.KindGrant}, nil, 4},
		{"an extension", header.Message{Kind: header.KindOther}, nil, 4},
		{"ERROR", header.Message{Kind: header.KindError}, nil, 3},
		{"an invalid message", header.Message{}, &header.Fault{Code: header.FaultXDR}, 4},
		{"an invalid ERROR", header.Message{Kind: header.KindError}, &header.Fault{Code: header.FaultFlags}, 3},
		{"too short", header.Message{}, &header.Fault{Code: header.FaultShort}, 3},
		{"another version", header.Message{}, &header.Fault{Code: header.FaultVersion}, 3},
	} {
		a := newAccount(true)
		a.Sent(protocol.ClassProps, 0)
		for i, m := range []*header.Message{{Kind: header.KindProps, Credit: 0x00040003}, &c.m} {
			f := c.f
			if i == 0 {
				f = nil
			} else {
				m.Credit = word
			}
			if over := a.Received(m, f, protocol.Other); over != nil {
				t.Fatalf("%s: %v", c.name, over)
			}
		}
		if got := a.Counts().Free; got != c.free {
			t.Errorf("%s: %d credits left, want %d", c.name, got, c.free)
		}
	}
}

// R170, T1, T12, T15: a message beyond the credits ends the connection, and the fault says how many
// there were.
func TestAccountViolated(t *testing.T) {
	for name, c := range map[string]struct {
		sent, received int // messages; the last one received is one too many
		kind           header.Kind
		given          uint64
	}{
		"T15: two messages before the first grant": {0, 2, header.KindMsg, 1},
		"T1: one message more than granted":        {1, 6, header.KindMsg, 5},
		"a flood of ERRORs":                        {1, 6, header.KindError, 5},
		"T12: a flood of grants, one free":         {1, 7, header.KindGrant, 5},
	} {
		a := newAccount(false)
		take := func(k header.Kind) *header.Fault {
			a.Posted(1)
			return a.Received(&header.Message{Kind: k, Credit: 0x00090009}, nil, protocol.Other)
		}
		received := 0
		if c.sent > 0 { // a message that lets this end send
			if f := take(header.KindProps); f != nil {
				t.Fatal(f)
			}
			for range c.sent {
				a.Sent(protocol.ClassProps, 0)
			}
			c.given++
		}
		var f *header.Fault
		for f == nil && received < 20 {
			f = take(c.kind)
			received++
		}
		if f == nil || received != c.received || f.Code != header.FaultCredit || f.Found != c.given || f.Want != 0 {
			t.Errorf("%s: %d messages, fault %+v, want %d and %d granted", name, received, f, c.received, c.given)
		}
	}
}

// The rest of the interface reaches the credit account: Calls of the peer, continued messages and
// grants that are due.
func TestAccountCalls(t *testing.T) {
	a := newAccount(false)
	if f := a.Received(&header.Message{Credit: 0x00090009}, nil, protocol.Call); f != nil {
		t.Fatal(f)
	}
	if !a.Accept() || !a.Keeps() || a.Counts().Busy != 1 {
		t.Errorf("a Call: %+v", a.Counts())
	}
	a.Sequence(true)
	if !a.Due() { // its one credit is used
		t.Error("no grant is due")
	}
	if a.Sent(protocol.ClassGrant, 0); a.Due() {
		t.Error("a second grant is due")
	}
	a.Sequence(false)
	a.Answered()
	a.Sent(protocol.ClassCall, 0)
	if got := a.Counts(); got.Calls != 1 || got.Busy != 0 {
		t.Errorf("a Call of this end: %+v", got)
	}
	if a.Ended(); a.Counts().Calls != 0 {
		t.Errorf("it has ended: %+v", a.Counts())
	}
}
