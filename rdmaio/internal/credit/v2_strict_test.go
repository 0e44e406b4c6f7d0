package credit_test

import (
	"fmt"
	"hash/maphash"
	"strings"
	"testing"

	"github.com/rpcrdma/rpcrdma/rdmaio/internal/credit"
)

// strict is an end that counts a credit for each message, Grants included, and uses its last one
// for a Grant. It shares no code with package credit.
type strict struct {
	ceiling int
	credits int  // granted to it
	out     int  // that it granted
	top     bool // it sent a Grant on top, and was granted nothing since
	spoke   bool // it has sent a message
	begun   bool
	calls   int // in flight
	serving int
}

// word returns what it grants with a message: as much as it can, or with lazy, only to an end
// without credits.
func (s *strict) word(lazy bool) uint32 {
	low := s.ceiling - s.out - s.serving
	if low < 0 || lazy && s.out > 0 {
		low = 0
	}
	if s.out == 0 {
		low = max(low, 1)
	}
	s.out += low
	return word(uint32(s.ceiling), uint32(low))
}

// note is a message in flight.
type note struct {
	class credit.Class
	word  uint32
}

// duel is a connection between an account and a strict end.
type duel struct {
	us       credit.V2
	them     strict
	receives int
	toUs     string // of notes, by index into words: see push
	toThem   string
	busy     int  // Calls that this end serves
	wants    bool // this end has a Call that waits for a credit
}

// notes packs a message into four bytes of a queue, so that a duel is comparable.
func push(q string, n note) string {
	return q + string([]byte{byte(n.class), byte(n.word >> 16), byte(n.word)})
}

func pop(q string) (note, string) {
	return note{credit.Class(q[0]), word(uint32(q[1]), uint32(q[2]))}, q[3:]
}

// duels searches all states of an account and a strict end.
type duels struct {
	client bool // the account is the client's
	ours   int  // ceilings
	theirs int
	lazy   bool
	calls  bool   // this end makes Calls
	others bool   // this end sends other messages
	tops   bool   // the strict end sends Grants on top
	broken string // a deliberate fault, which the search must find

	seed     maphash.Seed
	seen     map[uint64]bool // as in model
	frontier []duel
	found    string
}

func (d *duels) fail(s *duel, format string, args ...any) {
	if d.found == "" {
		d.found = fmt.Sprintf(format, args...) + fmt.Sprintf(": %+v", *s)
	}
}

// send sends a message of the account.
func (d *duels) send(s *duel, c credit.Class) {
	s.toThem = push(s.toThem, note{c, s.us.Sent(c)})
}

// say makes the strict end send a message. The strict end must have a credit.
func (d *duels) say(s *duel, c credit.Class) {
	s.them.credits--
	s.them.spoke = true
	w := s.them.word(d.lazy)
	s.toUs = push(s.toUs, note{c, w})
}

// hear delivers a message to the strict end.
func (d *duels) hear(s *duel) {
	var n note
	n, s.toThem = pop(s.toThem)
	t := &s.them
	t.out = max(t.out-1, 0)
	t.begun, t.top = true, t.top && n.word&0xffff == 0
	t.credits = min(t.credits+int(n.word&0xffff), int(n.word>>16))
	switch n.class {
	case credit.Call:
		t.serving++
	case credit.Answer:
		t.calls--
	}
}

// take delivers a message to the account.
func (d *duels) take(s *duel) {
	var n note
	n, s.toUs = pop(s.toUs)
	s.receives--
	if !s.us.Taken(n.class) {
		d.fail(s, "a message of the strict end has no credit")
	}
	s.us.Received(n.word, n.class)
	s.us.Posted(1)
	s.receives++
	switch n.class {
	case credit.Call:
		if !s.us.Accept() {
			d.fail(s, "a Call is refused")
		}
		s.busy++
	case credit.Answer:
		s.us.Ended()
	}
}

// moves calls visit with each state that can follow s.
func (d *duels) moves(s *duel, work bool, visit func(*duel)) {
	move := func(can bool, do func(n *duel)) {
		if n := *s; can {
			do(&n)
			n.us = n.us.Uncounted()
			visit(&n)
		}
	}
	t := &s.them
	move(s.toUs != "", d.take)
	move(s.toThem != "", d.hear)
	due := s.us.Due() && !(s.wants && s.us.Free(credit.Call))
	move(due && (d.broken == "" || !t.begun), func(n *duel) { d.send(n, credit.Grant) })
	move(s.wants && s.us.Free(credit.Call), func(n *duel) {
		n.wants = false
		d.send(n, credit.Call)
	})
	move(s.busy > 0 && s.us.Free(credit.Answer), func(n *duel) {
		n.busy--
		n.us.Answered()
		d.send(n, credit.Answer)
	})
	move(t.serving > 0 && t.credits > 0, func(n *duel) {
		n.them.serving--
		d.say(n, credit.Answer)
	})
	move(t.begun && !t.spoke && t.credits > 0, func(n *duel) { d.say(n, credit.Other) })
	move(t.begun && t.out == 0 && t.credits > 1, func(n *duel) { d.say(n, credit.Grant) })
	if !work {
		return
	}
	move(t.begun && t.credits > 0, func(n *duel) { d.say(n, credit.Grant) })
	move(d.tops && t.begun && t.out == 0 && t.credits == 0 && !t.top, func(n *duel) { // R175
		n.them.top = true
		n.them.credits++
		d.say(n, credit.Grant)
	})
	move(d.calls && s.us.Available() == 0 && t.begun && !s.wants, func(n *duel) { n.wants = true })
	move(s.us.Free(credit.Call) && d.calls, func(n *duel) { d.send(n, credit.Call) })
	move(s.us.Free(credit.Other) && d.others, func(n *duel) { d.send(n, credit.Other) })
	move(t.credits > 0, func(n *duel) { d.say(n, credit.Other) })
	move(t.credits > 0 && t.calls < d.ours, func(n *duel) {
		n.them.calls++
		d.say(n, credit.Call)
	})
}

// settle visits every state that follows s without new work, which must come to an end with a
// credit for the strict end, and for the account unless the strict end has only one.
func (d *duels) settle(s *duel) {
	k := maphash.Comparable(d.seed, *s)
	if done, ok := d.seen[k]; ok || d.found != "" {
		if ok && !done {
			d.fail(s, "messages without work")
		}
		return
	}
	d.seen[k] = false
	d.frontier = append(d.frontier, *s)
	spare := d.theirs + 1
	if d.tops || d.client { // see TestV2StrictPeers
		spare++
	}
	switch {
	case len(s.toUs)/3 > s.receives, len(s.toThem)/3 > spare: // R175
		d.fail(s, "a message finds no Receive")
	case s.them.credits > d.ours:
		d.fail(s, "more credits than the ceiling")
	}
	last := true
	d.moves(s, false, func(n *duel) {
		last = false
		d.settle(n)
	})
	switch t := &s.them; {
	case !last:
	case t.begun && t.credits == 0:
		d.fail(s, "the strict end has no credit and gets no further one")
	case t.begun && t.out == 0 && t.credits == 1: // its next message grants
	case s.busy > 0, t.serving > 0, s.wants:
		d.fail(s, "no step is possible, and work is left")
	}
	d.seen[k] = true
}

// explore visits all states, and returns their number and the first fault.
func (d *duels) explore() (int, string) {
	d.seed, d.seen = maphash.MakeSeed(), map[uint64]bool{}
	s := duel{us: credit.NewV2(d.client, d.ours, 0), them: strict{ceiling: d.theirs}}
	s.receives = s.us.Receives()
	s.us.Posted(s.receives)
	if d.client {
		s.them.out = 1
		d.send(&s, credit.Other)
	} else {
		s.them.credits = 1
		d.say(&s, credit.Other)
	}
	d.settle(&s)
	for len(d.frontier) > 0 && d.found == "" {
		s := d.frontier[len(d.frontier)-1]
		d.frontier = d.frontier[:len(d.frontier)-1]
		d.moves(&s, true, d.settle)
	}
	return len(d.seen), d.found
}

// With a peer that counts a credit for each message, Grants included, and uses its last one for a
// Grant at any time, neither end is without a credit for good, and messages end without new work:
// as client and as server, with ceilings of 1 to 3, with Calls of both ends, whether the peer
// grants as much as it can or only to an end without credits (R169, R171, R174 to R176; A3).
//
// The peer gives credits to an end without any if it has two itself. Its last one it keeps until it
// has another message to send, so this end may wait for that. As a client this end keeps its last
// one, too, while it waits for no answer, and sends a Grant without it. The peer counts that, so
// one message more than its ceiling and the extra Receive may be on the way.
//
// A peer that also sends Grants without a credit is walked with Calls of the peer alone. If its
// Grant and one of this end cross, both uncounted, it may believe that it has two credits more.
func TestV2StrictPeers(t *testing.T) {
	walks := []duels{
		{ours: 3, theirs: 3, tops: true},
		{ours: 2, theirs: 2, calls: true, others: true},
	}
	if !testing.Short() {
		walks = append(walks, duels{ours: 2, theirs: 3, calls: true, others: true}, duels{ours: 3, theirs: 3, calls: true})
	}
	total := 0
	for _, w := range walks {
		for i := range 4 * w.ours * w.theirs {
			d := w
			d.client, d.lazy, d.ours, d.theirs = i&1 > 0, i&2 > 0, i/4%w.ours+1, i/4/w.ours+1
			n, found := d.explore()
			if total += n; found != "" {
				t.Errorf("client %t, ceilings %d and %d, lazy %t, Calls %t: %s", d.client, d.ours, d.theirs, d.lazy, d.calls, found)
			}
		}
		t.Logf("ceilings of %d and %d, Calls %t: %d states so far", w.ours, w.theirs, w.calls, total)
	}
	if total < 80_000 {
		t.Errorf("%d states, want at least 80000", total)
	}
}

// The canary: the search finds an end that answers no Grant.
func TestV2StrictModelSees(t *testing.T) {
	const want = "the strict end has no credit and gets no further one"
	if n, found := (&duels{ours: 2, theirs: 2, broken: "answers no Grant"}).explore(); !strings.HasPrefix(found, want) {
		t.Errorf("%q after %d states, want %q", found, n, want)
	}
}

// A strict peer gets a Grant as soon as it has used its last credit, for whatever messages
// (R171). This end pays for it if it can, but keeps its last credit for an answer that it owes,
// unless it waits for an answer itself, or the peer gets two credits for it.
func TestV2DueToStrictPeers(t *testing.T) {
	for _, c := range []struct {
		name    string
		serves  int
		credits uint32
		do      func(a *credit.V2)
		due     bool
		left    int
	}{
		{"two left, three credits", 4, 3, func(a *credit.V2) { get(t, a, credit.Grant, 9<<16, 9<<16) }, true, 2},
		{"two left, the last credit", 4, 1, func(a *credit.V2) { get(t, a, credit.Grant, 9<<16, 9<<16) }, false, 0},
		{"two left, no credit", 4, 0, func(a *credit.V2) { get(t, a, credit.Grant, 9<<16, 9<<16) }, false, 0},
		{"none left, the last credit", 4, 1, func(a *credit.V2) { get(t, a, credit.Grant, 9<<16, 9<<16, 9<<16, 9<<16) }, true, 0},
		{"none left of one, the last credit", 1, 1, func(a *credit.V2) { get(t, a, credit.Grant, 9<<16) }, true, 0},
		{"none left of one, no credit", 1, 0, func(a *credit.V2) { get(t, a, credit.Grant, 9<<16) }, true, 0},
		{"an answer is owed, the last credit", 1, 1, func(a *credit.V2) {
			get(t, a, credit.Call, 9<<16)
			a.Accept()
		}, false, 0},
		{"an answer is owed, no credit", 1, 0, func(a *credit.V2) {
			get(t, a, credit.Call, 9<<16)
			a.Accept()
		}, true, 0},
		{"an answer is owed, another one is expected", 1, 2, func(a *credit.V2) {
			a.Sent(credit.Call)
			get(t, a, credit.Call, 9<<16)
			a.Accept()
		}, true, 0},
		{"an answer is owed, for one credit", 2, 1, func(a *credit.V2) {
			get(t, a, credit.Call, 9<<16, 9<<16)
			a.Accept()
		}, false, 0},
		{"an answer is owed, for two credits", 3, 1, func(a *credit.V2) {
			get(t, a, credit.Call, 9<<16, 9<<16, 9<<16)
			a.Accept()
		}, true, 0},
		{"after a Grant without a credit", 1, 0, func(a *credit.V2) {
			get(t, a, credit.Grant, 9<<16)
			a.Sent(credit.Grant)
			if a.Free(credit.Grant) {
				t.Error("a second Grant may use the extra Receive")
			}
			get(t, a, credit.Grant, 9<<16)
		}, true, 0},
	} {
		a := newV2(false, c.serves, 0)
		get(t, a, credit.Other, word(9, c.credits+1))
		a.Sent(credit.Other)
		if c.do(a); a.Due() != c.due {
			t.Errorf("%s: due is %t", c.name, a.Due())
		}
		if !c.due {
			continue
		}
		if w := a.Sent(credit.Grant); w&0xffff == 0 || a.Due() || a.Available() != c.left {
			t.Errorf("%s: %#x, then due is %t, %d credits, want %d", c.name, w, a.Due(), a.Available(), c.left)
		}
	}
}

// A client gives its last credit for a Grant only while it waits for an answer. Otherwise it sends
// the Grant without it.
func TestV2ClientKeepsItsLastCredit(t *testing.T) {
	for _, waits := range []bool{false, true} {
		a := newV2(true, 4, 0)
		a.Sent(credit.Other)
		get(t, a, credit.Other, word(2, 2))
		if waits {
			a.Sent(credit.Call)
		} else {
			a.Sent(credit.Other)
		}
		get(t, a, credit.Other, word(2, 0), word(2, 0))
		if get(t, a, credit.Grant, word(2, 0), word(2, 0)); a.Available() != 1 || !a.Due() {
			t.Fatalf("waits %t: %d credits, a Grant is due: %t", waits, a.Available(), a.Due())
		}
		if a.Sent(credit.Grant); a.Available() > 0 == waits {
			t.Errorf("waits %t: %d credits after the Grant", waits, a.Available())
		}
	}
}

// Ends know their kin by their first messages. Each must be properties with a ceiling one above the
// grant. The ceiling does not count the one.
func TestV2KnowsItsKin(t *testing.T) {
	for _, c := range []struct {
		name  string
		first credit.Class // of this end, a client; Error at a server
		peer  credit.Class
		word  uint32
		kin   bool
	}{
		{"a server with the mark", credit.Other, credit.Other, word(5, 4), true},
		{"a server without", credit.Other, credit.Other, word(4, 4), false},
		{"a server that leaves more than one", credit.Other, credit.Other, word(6, 4), false},
		{"a server that grants nothing", credit.Other, credit.Other, word(1, 0), false},
		{"a Grant", credit.Other, credit.Grant, word(5, 4), false},
		{"an answer", credit.Other, credit.Answer, word(5, 4), false},
		{"this end began with a Call", credit.Call, credit.Other, word(5, 4), false},
		{"a client with the mark", credit.Error, credit.Other, word(5, 4), true},
		{"a client that began with a Call", credit.Error, credit.Call, word(5, 4), false},
	} {
		a := newV2(c.first != credit.Error, 4, 0)
		if c.first != credit.Error {
			a.Sent(c.first)
		}
		if get(t, a, c.peer, c.word); a.Kin() != c.kin {
			t.Errorf("%s: kin is %t", c.name, a.Kin())
		}
	}
	a := newV2(false, 4, 0)
	get(t, a, credit.Other, word(5, 4))
	if w := a.Sent(credit.Other); w != word(5, 4) || !a.Kin() {
		t.Errorf("the server answers %#x, kin is %t", w, a.Kin())
	}
	a = newV2(false, 4, 0)
	get(t, a, credit.Other, word(5, 4))
	if w := a.Sent(credit.Answer); w != word(4, 4) || a.Kin() {
		t.Errorf("the server answers %#x, want no mark, and kin is %t", w, a.Kin())
	}
}

// A thousand Grants of a strict peer, which grant nothing or one credit, always leave it a credit,
// and get fewer Grants than there were (R171, R176). That holds for each ceiling of this end.
func TestV2GrantsAlone(t *testing.T) {
	for ceiling := 1; ceiling <= 40; ceiling++ {
		for _, client := range []bool{false, true} {
			for _, low := range []uint32{0, 1} {
				a := newV2(client, ceiling, 0)
				if client {
					a.Sent(credit.Other)
				}
				get(t, a, credit.Other, word(16, 16))
				if !client || a.Due() {
					a.Sent(credit.Other)
				}
				left := a.Outstanding()
				grants := 0
				for i := range 1000 {
					if left == 0 {
						t.Fatalf("ceiling %d, client %t, low %d: no credit after %d Grants", ceiling, client, low, i)
					}
					left--
					if get(t, a, credit.Grant, word(16, low)); a.Due() {
						left = min(left+int(a.Sent(credit.Grant)&0xffff), ceiling)
						grants++
					}
				}
				if ceiling > 2 && grants > 500 {
					t.Errorf("ceiling %d, client %t, low %d: %d Grants answer 1000", ceiling, client, low, grants)
				}
			}
		}
	}
}

// A strict peer without credits may use the extra Receive again once this end has sent it a Grant
// (R175).
func TestV2StrictPeerUsesTheExtraReceiveAgain(t *testing.T) {
	a := newV2(false, 1, 0)
	get(t, a, credit.Other, word(9, 9))
	a.Sent(credit.Other)
	for i := range 3 {
		get(t, a, credit.Call, word(9, 0)) // its credit
		get(t, a, credit.Grant, word(9, 1))
		if a.Taken(credit.Grant) {
			t.Errorf("round %d: the extra Receive is used twice", i)
		}
		a.Posted(1)
		if w := a.Sent(credit.Grant); w != word(1, 1) || a.Outstanding() != 1 {
			t.Errorf("round %d: a Grant of %#x, %d credits are outstanding", i, w, a.Outstanding())
		}
	}
}

// A Grant that could grant nothing is not followed by another one without a credit.
func TestV2OneGrantWithoutCredit(t *testing.T) {
	a := credit.NewV2(false, 4, 0)
	a.Posted(3)
	a.Taken(credit.Other)
	a.Received(word(9, 1), credit.Other)
	if a.Sent(credit.Answer); !a.Free(credit.Grant) {
		t.Fatal("no Grant can be sent to a peer without credits")
	}
	if w := a.Sent(credit.Grant); w != word(4, 0) || a.Free(credit.Grant) {
		t.Errorf("after the Grant %#x another one can be sent", w)
	}
}
