package credit_test

import (
	"fmt"
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
	busy     int // Calls that this end serves
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
	broken string // a deliberate fault, which the search must find

	seen     map[duel]bool
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
	if !s.us.Taken(n.class, n.word) {
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
	move(s.us.Due() && (d.broken == "" || !t.begun), func(n *duel) { d.send(n, credit.Grant) })
	move(s.busy > 0 && s.us.Free(credit.Answer), func(n *duel) {
		n.busy--
		n.us.Answered()
		d.send(n, credit.Answer)
	})
	move(t.serving > 0 && t.credits > 0, func(n *duel) {
		n.them.serving--
		d.say(n, credit.Answer)
	})
	spare := t.credits > 1 || t.credits > 0 && t.out > 0 // see TestV2StrictPeers
	move(t.begun && t.out == 0 && spare, func(n *duel) { d.say(n, credit.Grant) })
	move(t.begun && t.out == 0 && t.credits == 0 && !t.top, func(n *duel) { // R175: on top
		n.them.top = true
		n.them.credits++
		d.say(n, credit.Grant)
	})
	if !work {
		return
	}
	move(t.begun && spare, func(n *duel) { d.say(n, credit.Grant) })
	move(t.credits > 0, func(n *duel) { d.say(n, credit.Other) })
	move(t.credits > 0 && t.calls < d.ours, func(n *duel) {
		n.them.calls++
		d.say(n, credit.Call)
	})
}

// settle visits every state that follows s without new work, which must come to an end with a
// credit for the strict end, and for the account unless the strict end has only one.
func (d *duels) settle(s *duel) {
	if done, ok := d.seen[*s]; ok || d.found != "" {
		if ok && !done {
			d.fail(s, "messages without work")
		}
		return
	}
	d.seen[*s] = false
	d.frontier = append(d.frontier, *s)
	switch {
	case len(s.toUs)/3 > s.receives, len(s.toThem)/3 > d.theirs+1: // R175
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
	case !last, s.us.Doubtful():
	case t.begun && t.credits == 0:
		d.fail(s, "the strict end has no credit and gets no further one")
	case t.begun && s.us.Available() == 0 && t.credits > 1:
		d.fail(s, "the account has no credit and gets no further one")
	case t.begun && t.out == 0 && t.credits == 1: // its next message grants
	case s.busy > 0, t.serving > 0:
		d.fail(s, "no step is possible, and work is left")
	}
	d.seen[*s] = true
}

// explore visits all states, and returns their number and the first fault.
func (d duels) explore() (int, string) {
	d.seen = map[duel]bool{}
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
		s := d.frontier[0]
		d.frontier = d.frontier[1:]
		d.moves(&s, true, d.settle)
	}
	return len(d.seen), d.found
}

// An end that counts a credit for each of its Grants, and uses its last one for a Grant, is never
// without a credit for good, and messages end without new work: as client and as server, with
// ceilings of 1 to 3, whether it grants as much as it can or only to an end without credits (R169,
// R171, R174 to R176; A3).
//
// This side sends only Grants and answers here, and makes no Calls.
//
// There is one exception. A Grant that uses the last credit while the account is without credits
// looks like a free Grant of this account. The account counts it so, until a further Grant shows
// the difference. States in which such a Grant is in doubt have no final checks.
func TestV2StrictPeers(t *testing.T) {
	most := 3
	if testing.Short() {
		most = 2
	}
	total := 0
	for _, client := range []bool{false, true} {
		for ours := 1; ours <= most; ours++ {
			for theirs := 1; theirs <= most; theirs++ {
				for _, lazy := range []bool{false, true} {
					n, found := duels{client: client, ours: ours, theirs: theirs, lazy: lazy}.explore()
					if total += n; found != "" {
						t.Errorf("client %t, ceilings %d and %d, lazy %t: %s", client, ours, theirs, lazy, found)
					}
				}
			}
		}
	}
	if t.Logf("%d states in all", total); total < 2_000 {
		t.Errorf("%d states, want at least 2000", total)
	}
}

// The canary: the search finds an end that answers no Grant.
func TestV2StrictModelSees(t *testing.T) {
	const want = "the strict end has no credit and gets no further one"
	if n, found := (duels{ours: 2, theirs: 2, broken: "answers no Grant"}).explore(); !strings.HasPrefix(found, want) {
		t.Errorf("%q after %d states, want %q", found, n, want)
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

// What an account counted for a peer before it knew that the peer pays for each Grant is corrected
// then, and the extra Receives of both ends are used again and again (R175; A4).
func TestV2StrictCorrections(t *testing.T) {
	start := func(credits uint32) *credit.V2 { // it has granted 4 credits
		a := newV2(false, 4, 0)
		get(t, a, credit.Other, word(9, credits+1))
		a.Sent(credit.Other)
		return a
	}
	a := start(0)
	get(t, a, credit.Other, 9<<16, 9<<16, 9<<16)
	get(t, a, credit.Grant, word(9, 9)) // looks free, and used the last credit
	get(t, a, credit.Grant, 9<<16)      // without a credit
	if a.Taken(credit.Grant, 9<<16) {
		t.Error("a second Grant without a credit is taken")
	}

	a = start(1)
	get(t, a, credit.Other, 9<<16, 9<<16, 9<<16)
	get(t, a, credit.Grant, 9<<16)
	for i := range 3 {
		if !a.Due() {
			t.Fatalf("round %d: no Grant is due", i)
		}
		if a.Sent(credit.Grant); a.Available() != 1 || a.Outstanding() != 4 {
			t.Fatalf("round %d: %d credits, %d granted, want 1 and 4", i, a.Available(), a.Outstanding())
		}
		if get(t, a, credit.Grant, word(9, 1)); a.Available() != 1 {
			t.Fatalf("round %d: %d credits, want the granted one in place of the one kept", i, a.Available())
		}
		get(t, a, credit.Grant, 9<<16, 9<<16, 9<<16)
		get(t, a, credit.Grant, 9<<16) // without a credit
	}
}

// A Grant that could grant nothing is not followed by another one without a credit.
func TestV2OneGrantWithoutCredit(t *testing.T) {
	a := credit.NewV2(false, 4, 0)
	a.Posted(3)
	a.Taken(credit.Other, word(9, 1))
	if a.Received(word(9, 1), credit.Other); !a.Free(credit.Grant) {
		t.Fatal("no Grant can be sent to a peer without credits")
	}
	if w := a.Sent(credit.Grant); w != word(4, 0) || a.Free(credit.Grant) {
		t.Errorf("after the Grant %#x another one can be sent", w)
	}
}
