package credit_test

import (
	"testing"

	"github.com/rpcrdma/rpcrdma/rdmaio/internal/credit"
)

// newV2 returns an account with its Receives posted.
func newV2(client bool, serves, calls int) *credit.V2 {
	a := credit.NewV2(client, serves, calls)
	a.Posted(a.Receives())
	return &a
}

// word returns a credit word.
func word(ceiling, grant uint32) uint32 { return ceiling<<16 | grant }

// get hands messages with credit words to a, which must have granted credits for them.
func get(t *testing.T, a *credit.V2, c credit.Class, words ...uint32) {
	t.Helper()
	for _, w := range words {
		if !a.Taken(c) {
			t.Fatalf("message %#x of class %d: no credit", w, c)
		}
		a.Received(w, c)
		a.Posted(1)
	}
}

// A grant adds to the credits left, up to the ceiling (R167, R173, R177 to R180; T8 to T10).
func TestV2Grants(t *testing.T) {
	const none = credit.Error
	type step struct {
		word        uint32
		class       credit.Class
		spend, want int // messages to send afterwards, credits left before
	}
	for _, c := range []struct {
		name       string
		steps      []step
		zero, over uint64
	}{
		{"T8: a first grant of 0 is 1", []step{{word(5, 0), credit.Answer, 1, 1}, {word(5, 0), credit.Answer, 0, 0}}, 1, 0},
		{"T8: a ceiling of 0 is 1", []step{{word(0, 3), credit.Answer, 0, 1}}, 0, 1},
		{"T8: both are 0", []step{{0, credit.Other, 0, 1}}, 1, 0},
		{"R167: grants add up", []step{{word(9, 2), credit.Answer, 0, 2}, {word(9, 0), credit.Call, 0, 2}, {word(9, 3), credit.Grant, 0, 5}}, 0, 0},
		{"T9: a grant over the ceiling", []step{{word(4, 9), credit.Answer, 1, 4}, {word(4, 2), credit.Answer, 0, 4}}, 0, 2},
		{"T10, R180: the largest, again and again", []step{
			{word(65535, 65535), credit.Answer, 0, 65535},
			{word(65535, 65535), credit.Part, 1, 65535},
			{word(65535, 65535), credit.Grant, 0, 65535},
		}, 0, 2},
		{"R173: a lower ceiling, of a peer that still counts the credits above it", []step{
			{word(8, 8), credit.Answer, 0, 8},
			{word(3, 0), credit.Answer, 3, 3},
			{word(3, 0), credit.Other, 0, 1},
			{word(3, 0), credit.Other, 1, 1},
			{word(3, 0), credit.Other, 1, 1},
		}, 0, 0},
		{"R173: a lower ceiling, of a peer that has forgotten them", []step{
			{word(8, 8), credit.Answer, 0, 8},
			{word(3, 0), credit.Answer, 3, 3},
			{word(3, 3), credit.Other, 3, 3},
			{word(3, 0), credit.Other, 0, 0},
		}, 0, 0},
		{"R173: and a higher one", []step{{word(2, 2), credit.Answer, 0, 2}, {word(6, 4), credit.Answer, 0, 6}}, 0, 0},
		{"R177: an ERROR grants nothing", []step{{word(9, 2), credit.Answer, 2, 2}, {^uint32(0), none, 0, 0}, {word(9, 0), credit.Answer, 0, 0}}, 0, 0},
		{"R178: before the first grant an ERROR lets the client send one more message", []step{
			{^uint32(0), none, 1, 1}, {^uint32(0), none, 1, 1}, {word(7, 0), credit.Answer, 0, 0}, {word(7, 7), credit.Answer, 0, 7},
		}, 0, 0},
	} {
		a := newV2(true, 0, 40)
		if !a.Free(credit.Call) || a.Free(credit.Grant) {
			t.Errorf("%s: the client cannot begin with a Call, or can with a Grant", c.name)
		}
		a.Sent(credit.Call)
		for i, s := range c.steps {
			get(t, a, s.class, s.word)
			ceiling := 1 // the peer's: it limits the Calls in flight
			if s.class != none {
				ceiling = max(int(s.word>>16), 1)
			}
			if granted := min(s.want+1, ceiling); a.Available() != s.want || a.Granted() != granted {
				t.Errorf("%s, step %d: %d credits, %d with the Call in flight, want %d and %d", c.name, i, a.Available(), a.Granted(), s.want, granted)
			}
			for range s.spend {
				if !a.Free(credit.Other) {
					t.Fatalf("%s, step %d: no credit to send", c.name, i)
				}
				a.Sent(credit.Other)
			}
		}
		if a.ZeroGrants() != c.zero || a.OverGrants() != c.over {
			t.Errorf("%s: counted %d zero and %d over", c.name, a.ZeroGrants(), a.OverGrants())
		}
	}
}

// The server has no credit before the first message. A grant of 0 counts as 1 (T8). The first
// message that the client sends may be a Grant.
func TestV2Server(t *testing.T) {
	for _, c := range []credit.Class{credit.Call, credit.Part, credit.Other, credit.Grant} {
		a := newV2(false, 4, 0)
		if a.Free(credit.Answer) || a.Free(credit.Grant) || a.Due() {
			t.Error("the server may send before the client")
		}
		get(t, a, c, 0)
		if a.Available() != 1 || a.Outstanding() != 0 || !a.Due() {
			t.Errorf("class %d: %d credits, %d granted, want 1, 0, and a Grant to send", c, a.Available(), a.Outstanding())
		}
	}
}

// A message beyond the credits is a violation. Of Grants beyond them, one is not until this end
// sends another message (R170, R175; T1, T11, T12, T15).
func TestV2Violations(t *testing.T) {
	type act struct {
		send bool
		c    credit.Class
		n    int
	}
	takes := func(c credit.Class, n int) act { return act{c: c, n: n} }
	sends := func(c credit.Class) act { return act{true, c, 1} }
	for name, acts := range map[string][]act{
		"T15: two messages before the first grant": {takes(credit.Call, 1), takes(credit.Call, 0)},
		"T15: two messages, the first a Grant":     {takes(credit.Grant, 1), takes(credit.Grant, 0)},
		"an ERROR before the first grant allows another message": {
			takes(credit.Call, 1), sends(credit.Error), takes(credit.Call, 1), takes(credit.Part, 0),
		},
		"T1: three credits":              {takes(credit.Call, 1), sends(credit.Other), takes(credit.Call, 3), takes(credit.Answer, 0)},
		"an ERROR grants none":           {takes(credit.Call, 1), sends(credit.Other), sends(credit.Error), takes(credit.Part, 3), takes(credit.Error, 0)},
		"T11, T12: Grants and no credit": {takes(credit.Call, 1), sends(credit.Other), takes(credit.Call, 3), takes(credit.Grant, 1), takes(credit.Grant, 0)},
		"T12: an extra Receive once more": {
			takes(credit.Call, 1), sends(credit.Other), takes(credit.Call, 3), takes(credit.Grant, 1), sends(credit.Error),
			takes(credit.Grant, 1), takes(credit.Grant, 0),
		},
		"T12: a flood of Grants: three use credits, one the extra Receive": {takes(credit.Call, 1), sends(credit.Other), takes(credit.Grant, 4), takes(credit.Grant, 0)},
		"a peer that did not pay for its Grant":                            {takes(credit.Call, 1), sends(credit.Other), takes(credit.Grant, 1), takes(credit.Call, 3), takes(credit.Call, 0)},
		"nor for two":                                                      {takes(credit.Call, 1), sends(credit.Other), takes(credit.Grant, 2), takes(credit.Call, 2), takes(credit.Call, 0)},
	} {
		a := newV2(false, 3, 0)
		for i, act := range acts {
			if act.send {
				a.Sent(act.c)
				continue
			}
			for range act.n {
				get(t, a, act.c, word(9, 9))
			}
			if act.n == 0 && a.Taken(act.c) {
				t.Errorf("%s: step %d is no violation", name, i)
			}
		}
	}
}

// A word grants what the Receives and the Calls in progress leave of the ceiling, and at least one
// to a peer without any (R167, R169, R171, R172, R177, R180, R181).
func TestV2Words(t *testing.T) {
	busy := func(a *credit.V2, n int) {
		for range n {
			a.Taken(credit.Call)
			a.Received(word(9, 9), credit.Call)
			if !a.Accept() {
				t.Error("a Call is refused")
			}
			if !a.Keeps() {
				a.Posted(1)
			}
		}
	}
	for _, c := range []struct {
		name   string
		client bool
		serves int
		calls  int
		do     func(a *credit.V2)
		class  credit.Class
		want   uint32
	}{
		{"all of the ceiling", true, 3, 4, func(*credit.V2) {}, credit.Call, word(7, 7)},
		{"one more, in the first properties", true, 3, 4, func(*credit.V2) {}, credit.Other, word(8, 7)},
		{"nothing twice", true, 3, 4, func(a *credit.V2) { a.Sent(credit.Call) }, credit.Other, word(7, 0)},
		{"R180: the largest ceiling", true, 65535, 65535, func(*credit.V2) {}, credit.Call, word(65534, 65534)},
		{"R180: more than an int of 32 bits", true, 1<<31 - 1, 1<<31 - 1, func(*credit.V2) {}, credit.Call, word(65534, 65534)},
		{"an end that serves and makes no Calls", true, 0, -1, func(*credit.V2) {}, credit.Call, word(1, 1)},
		{"less the Calls in progress", false, 4, 0, func(a *credit.V2) { busy(a, 1) }, credit.Other, word(4, 3)},
		{"not less an answered one", false, 4, 0, func(a *credit.V2) { busy(a, 1); a.Posted(1); a.Answered() }, credit.Answer, word(4, 4)},
		{"R171: one, if all are in progress", false, 1, 0, func(a *credit.V2) { busy(a, 1) }, credit.Other, word(2, 1)},
		{"R171: but not a second", false, 1, 0, func(a *credit.V2) { busy(a, 1); a.Sent(credit.Other) }, credit.Other, word(1, 0)},
		{"R171: one for the answer to a Call", false, 1, 0, func(a *credit.V2) { busy(a, 1) }, credit.Call, word(1, 1)},
		{"R172: no more than Receives", true, 9, 0, func(a *credit.V2) { *a = credit.NewV2(true, 9, 0); a.Posted(5) }, credit.Call, word(9, 3)},
		{"R172: none without Receives", true, 9, 0, func(a *credit.V2) { *a = credit.NewV2(true, 9, 0); a.Posted(2) }, credit.Call, word(9, 0)},
		{"R177: none with an ERROR", false, 9, 0, func(a *credit.V2) { busy(a, 1); a.Answered() }, credit.Error, word(9, 0)},
		{"R181, T14: those of late Replies, with any message", true, 0, 4, func(a *credit.V2) {
			a.Sent(credit.Call)
			get(t, a, credit.Answer, word(8, 8), word(8, 0), word(8, 0))
		}, credit.Other, word(4, 3)},
	} {
		a := newV2(c.client, c.serves, c.calls)
		c.do(a)
		before := a.Outstanding()
		if got := a.Sent(c.class); got != c.want {
			t.Errorf("%s: %#x, want %#x", c.name, got, c.want)
		}
		if c.class != credit.Error && a.Outstanding() != before+int(c.want&0xffff) {
			t.Errorf("%s: counts %d", c.name, a.Outstanding())
		}
	}
}

// A Grant is due when the peer has half of its credits or less. It never answers a Grant, it never
// uses the last credit, and without a credit it is sent once (R171, R174 to R176; T11 to T13, T91,
// T92).
func TestV2Due(t *testing.T) {
	// A server that granted its kin 4 credits and has as many as the test says.
	start := func(credits uint32) *credit.V2 {
		a := newV2(false, 4, 0)
		get(t, a, credit.Other, word(credits+2, credits+1))
		a.Sent(credit.Other)
		return a
	}
	for _, c := range []struct {
		name    string
		credits uint32
		do      func(a *credit.V2)
		due     bool
		left    int // credits after the Grant
	}{
		{"three left", 5, func(a *credit.V2) { get(t, a, credit.Other, 9<<16) }, false, 0},
		{"two left", 5, func(a *credit.V2) { get(t, a, credit.Other, 9<<16, 9<<16) }, true, 4},
		{"three left, by a Grant", 5, func(a *credit.V2) { get(t, a, credit.Grant, word(9, 1)) }, false, 0},
		{"two left, by Grants", 5, func(a *credit.V2) { get(t, a, credit.Grant, word(9, 1), word(9, 1)) }, true, 6},
		{"two left, and a word has granted two", 5, func(a *credit.V2) {
			get(t, a, credit.Other, 9<<16, 9<<16)
			a.Sent(credit.Other)
		}, false, 0},
		{"two left, and the ERROR has granted none", 5, func(a *credit.V2) {
			get(t, a, credit.Other, 9<<16, 9<<16)
			a.Sent(credit.Error)
		}, true, 3},
		{"two left, the last credit", 1, func(a *credit.V2) { get(t, a, credit.Other, 9<<16, 9<<16) }, false, 0},
		{"none left, the last credit", 1, func(a *credit.V2) { get(t, a, credit.Other, 9<<16, 9<<16, 9<<16, 9<<16) }, true, 1},
		{"none left, no credit", 0, func(a *credit.V2) { get(t, a, credit.Other, 9<<16, 9<<16, 9<<16, 9<<16) }, true, 0},
		{"T92: none left in the middle of a message, and all Calls are busy", 0, func(a *credit.V2) {
			get(t, a, credit.Call, 9<<16, 9<<16, 9<<16, 9<<16)
			for a.Accept() {
			}
			a.Sequence(true)
		}, true, 0},
		{"none left, and all Calls are busy", 0, func(a *credit.V2) {
			get(t, a, credit.Call, 9<<16, 9<<16, 9<<16, 9<<16)
			for a.Accept() {
			}
		}, false, 0},
		{"T92: the message is complete", 0, func(a *credit.V2) {
			get(t, a, credit.Call, 9<<16, 9<<16, 9<<16, 9<<16)
			for a.Accept() {
			}
			a.Sequence(true)
			a.Sequence(false)
		}, false, 0},
		{"the Grant before is not known to have arrived", 0, func(a *credit.V2) {
			get(t, a, credit.Other, 9<<16, 9<<16, 9<<16, 9<<16)
			a.Sent(credit.Grant)
			if get(t, a, credit.Grant, word(9, 9)); a.Free(credit.Grant) {
				t.Error("a second Grant may use the extra Receive")
			}
		}, false, 0},
		{"one left, and the word had none to grant", 5, func(a *credit.V2) {
			get(t, a, credit.Call, 9<<16, 9<<16, 9<<16)
			for a.Accept() {
			}
			if w := a.Sent(credit.Other); w&0xffff != 0 || a.Due() {
				t.Errorf("all Calls are busy: %#x, then due is %t", w, a.Due())
			}
			for range 4 {
				a.Answered()
			}
		}, true, 3},
		{"the Grant before has arrived", 0, func(a *credit.V2) {
			get(t, a, credit.Other, 9<<16, 9<<16, 9<<16, 9<<16)
			a.Sent(credit.Grant)
			get(t, a, credit.Other, 9<<16, 9<<16, 9<<16, 9<<16)
		}, true, 0},
		{"T13: Grants cross", 0, func(a *credit.V2) {
			get(t, a, credit.Other, 9<<16, 9<<16, 9<<16, 9<<16)
			a.Sent(credit.Grant)
			get(t, a, credit.Grant, word(9, 9))
			if a.Outstanding() != 4 || a.Available() != 9 {
				t.Errorf("Grants that cross leave %d credits granted, %d to use", a.Outstanding(), a.Available())
			}
		}, false, 0},
	} {
		a := start(c.credits)
		c.do(a)
		if a.Due() != c.due {
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

// Calls in flight and Calls in progress are limited by the ceilings, and Calls keep Receives only
// as long as one is left to grant (R171, R172).
func TestV2Calls(t *testing.T) {
	a := newV2(true, 0, 2)
	a.Sent(credit.Call)
	get(t, a, credit.Other, word(2, 2))
	a.Sent(credit.Call)
	if a.Free(credit.Call) || !a.Free(credit.Other) || a.InFlight() != 2 {
		t.Errorf("%d Calls in flight, with a ceiling of 2: another may be sent", a.InFlight())
	}
	if a.Ended(); !a.Free(credit.Call) {
		t.Error("a Call has ended, and none may be sent")
	}
	for range 3 {
		a.Ended()
	}
	if a.InFlight() != 0 {
		t.Errorf("%d Calls in flight", a.InFlight())
	}

	b := newV2(false, 3, 0)
	get(t, b, credit.Other, word(9, 9))
	b.Sent(credit.Other)
	for i := range 3 {
		b.Taken(credit.Call)
		b.Received(word(9, 1), credit.Call)
		if hold := b.Keeps(); hold != (i < 2) || !b.Accept() {
			t.Errorf("Call %d: keeps its Receive is %t", i, hold)
		}
	}
	if b.Accept() || b.Busy() != 3 {
		t.Errorf("%d Calls in progress, with a ceiling of 3", b.Busy())
	}
	for range 4 {
		b.Answered()
	}
	if b.Busy() != 0 {
		t.Errorf("%d Calls in progress", b.Busy())
	}
}
