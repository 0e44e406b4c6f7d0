package credit_test

import (
	"testing"

	"github.com/rpcrdma/rpcrdma/rdmaio/internal/credit"
)

// Limits of 0 and less, grants at the limit, and more ends than beginnings.
func TestVersion1Edges(t *testing.T) {
	for _, limit := range []int{0, -1} {
		r := credit.NewRequester(limit)
		if r.Want() != 1 || !r.Free() {
			t.Errorf("limit %d: asks for %d credits, want 1", limit, r.Want())
		}
	}
	r := credit.NewRequester(8)
	if r.Grant(8); r.OverGrants() != 0 || r.Granted() != 8 {
		t.Errorf("a grant of the limit: %d, counted as over: %d", r.Granted(), r.OverGrants())
	}
	if r.Grant(9); r.OverGrants() != 1 || r.Granted() != 8 {
		t.Errorf("a grant over the limit: %d, counted as over: %d", r.Granted(), r.OverGrants())
	}
	none := credit.NewResponder(-1, -3)
	if none.Posted(5); none.Accept() {
		t.Error("a limit of -1 accepts a Call")
	}
	p := credit.NewResponder(4, -3)
	if p.Posted(2); p.Grant(9) != 2 {
		t.Errorf("with -3 Receives reserved it grants %d, want 2", p.Grant(9))
	}
	p.Answered()
	if p.Busy() != 0 || p.Grant(9) != 2 {
		t.Errorf("answered without a Call: %d busy, grants %d", p.Busy(), p.Grant(9))
	}
}

// The ceiling is the sum of what an end serves and makes; less than 0 counts as 0.
func TestV2CeilingOfLessThanZero(t *testing.T) {
	for _, c := range []struct{ serves, calls int }{{-5, 3}, {3, -5}} {
		if w := newV2(true, c.serves, c.calls).Sent(credit.Call); w != word(3, 3) {
			t.Errorf("serves %d, makes %d: %#x, want %#x", c.serves, c.calls, w, word(3, 3))
		}
	}
	a := credit.NewV2(false, 4, 0)
	if !a.Taken(credit.Call) {
		t.Error("the first message has no credit")
	}
	if a.Posted(3); a.Sent(credit.Other) != word(4, 1) {
		t.Error("a message without a Receive takes one that is posted later")
	}
}

// Without a credit, an end sends a Grant to its kin only if it expects answers, the rest of a
// message, Calls, or further messages like the last one.
func TestV2Expects(t *testing.T) {
	for _, c := range []struct {
		name   string
		serves int
		last   []credit.Class // the last messages of the peer
		open   bool
		want   bool
	}{
		{"properties or a message of an extension", 0, []credit.Class{credit.Other}, false, true},
		{"an answer", 0, []credit.Class{credit.Answer}, false, false},
		{"a part", 0, []credit.Class{credit.Part}, false, false},
		{"an ERROR", 0, []credit.Class{credit.Error}, false, false},
		{"an answer after a message of an extension", 0, []credit.Class{credit.Other, credit.Answer}, false, false},
		{"an ERROR after a message of an extension", 0, []credit.Class{credit.Other, credit.Error}, false, false},
		{"a Grant after a message of an extension", 0, []credit.Class{credit.Other, credit.Grant}, false, true},
		{"the middle of a message", 0, []credit.Class{credit.Part}, true, true},
		{"this end serves", 1, []credit.Class{credit.Answer}, false, true},
	} {
		a := newV2(true, c.serves, 4-c.serves)
		a.Sent(credit.Other) // it grants 4
		get(t, a, credit.Other, word(2, 1))
		a.Sent(credit.Error) // it uses the credit that came, and grants none
		rest := 3
		for _, class := range c.last {
			if class != credit.Grant {
				rest--
			}
		}
		for range rest {
			get(t, a, credit.Answer, word(1, 0))
		}
		for _, class := range c.last {
			for get(t, a, class, word(1, 0)); a.Available() > 0; {
				a.Sent(credit.Error)
			}
		}
		if a.Sequence(c.open); a.Available() != 0 || a.Outstanding() != 0 {
			t.Fatalf("%s: %d credits, %d granted, want none", c.name, a.Available(), a.Outstanding())
		}
		if a.Free(credit.Grant) != c.want {
			t.Errorf("%s: a Grant may be sent: %v", c.name, !c.want)
		}
		if a.Sequence(false); c.open && a.Free(credit.Grant) {
			t.Errorf("%s: a Grant may be sent after its end", c.name)
		}
	}
}

// R178: before the first grant, an ERROR stands for the one message of the client, and for no more.
func TestV2ErrorsBeforeTheFirstGrant(t *testing.T) {
	client := newV2(true, 3, 0)
	client.Sent(credit.Other)
	for range 2 {
		if get(t, client, credit.Error, 0); client.Available() != 1 {
			t.Errorf("the client has %d credits after an ERROR, want 1", client.Available())
		}
	}
	server := newV2(false, 3, 0)
	if get(t, server, credit.Error, word(9, 9)); server.Available() != 0 || server.Free(credit.Error) {
		t.Errorf("the server has %d credits after an ERROR, want none", server.Available())
	}
	server = newV2(false, 3, 0)
	for range 2 {
		if server.Sent(credit.Error); server.Outstanding() != 1 {
			t.Errorf("the client has %d credits after an ERROR of the server, want 1", server.Outstanding())
		}
	}
	if get(t, server, credit.Call, word(9, 9)); server.Outstanding() != 0 {
		t.Errorf("the client has %d credits after its message, want none", server.Outstanding())
	}
	if server.Sent(credit.Error); server.Outstanding() != 1 {
		t.Errorf("the client has %d credits after the ERROR to it, want 1", server.Outstanding())
	}
	client = newV2(true, 3, 0)
	if client.Sent(credit.Error); client.Outstanding() != 0 || client.Taken(credit.Call) {
		t.Error("an ERROR of the client grants a credit")
	}
}

// R173: credits above a lower ceiling add up, and come back one by one. A grant leaves as many of
// them as fit the ceiling.
func TestV2CreditsAside(t *testing.T) {
	for _, c := range []struct {
		name  string
		words []uint32
		want  int // credits that come back afterwards
	}{
		{"one lower ceiling", []uint32{word(8, 8), word(5, 0)}, 3},
		{"a second one", []uint32{word(8, 8), word(5, 0), word(3, 0)}, 5},
		{"none", []uint32{word(8, 3), word(3, 0)}, 0},
		{"a grant over the ceiling", []uint32{word(8, 8), word(3, 0), word(3, 1)}, 0},
	} {
		a := newV2(true, 0, 40)
		a.Sent(credit.Other)
		get(t, a, credit.Answer, c.words...)
		got := comesBack(t, a)
		if got != c.want {
			t.Errorf("%s: %d credits come back, want %d", c.name, got, c.want)
		}
	}
	a := newV2(true, 0, 40)
	a.Sent(credit.Other)
	get(t, a, credit.Answer, word(8, 8), word(3, 0))
	for range 3 {
		a.Sent(credit.Other)
	}
	get(t, a, credit.Answer, word(3, 1)) // 5 are aside, and with the new one 2 fit the ceiling
	if got := comesBack(t, a); got != 2 {
		t.Errorf("after a grant: %d credits come back, want 2", got)
	}
}

// comesBack uses all credits and returns how many come back with words that grant none.
func comesBack(t *testing.T, a *credit.V2) (n int) {
	t.Helper()
	for ; n < 20; n++ {
		for a.Free(credit.Other) {
			a.Sent(credit.Other)
		}
		if get(t, a, credit.Answer, word(3, 0)); a.Available() == 0 {
			break
		}
		if a.Available() != 1 {
			t.Fatalf("%d credits come back at once", a.Available())
		}
	}
	return n
}

// Calls in flight count as granted, even if the ceiling is lower by now.
func TestV2GrantedWithALowerCeiling(t *testing.T) {
	a := newV2(true, 0, 40)
	a.Sent(credit.Call)
	get(t, a, credit.Answer, word(3, 3))
	a.Sent(credit.Call)
	a.Sent(credit.Call)
	if get(t, a, credit.Other, word(1, 0)); a.Granted() != 3 || a.InFlight() != 3 {
		t.Errorf("%d Calls in flight, %d granted, want 3", a.InFlight(), a.Granted())
	}
}
