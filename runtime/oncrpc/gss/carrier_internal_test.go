package gss

import (
	"context"
	"errors"
	"math"
	"reflect"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
)

// A context that the server refused is deleted by its last user. A context that the server knows is
// kept for Close. Retiring either leaves the next context current.
func TestRetiredContextIsDeletedAtItsLastUse(t *testing.T) {
	for _, known := range []bool{false, true} {
		c := &Carrier{}
		mechs := []*counted{{}, {}}
		old := &association{mech: mechs[0], users: 2, held: true, knownToServer: true}
		next := &association{mech: mechs[1], users: 1, held: true, knownToServer: true}
		c.current = old
		c.retire(old, known)
		if c.current != nil || len(c.ended) == 1 != known || old.held != known {
			t.Errorf("known %v: %d ended, held %v", known, len(c.ended), old.held)
		}
		c.current = next
		c.retire(old, known) // a second call that was refused
		if c.current != next || len(c.ended) == 1 != known || !next.held {
			t.Errorf("known %v: the next context is gone", known)
		}
		if c.retire(old, false); old.knownToServer {
			t.Errorf("known %v: the server knows the context after it has refused it", known)
		}
		c.release(old)
		if mechs[0].deleted != 0 {
			t.Errorf("known %v: deleted in use", known)
		}
		c.release(old)
		c.release(next)
		if mechs[0].deleted == 1 == known || mechs[1].deleted != 0 {
			t.Errorf("known %v: deleted %d and %d times", known, mechs[0].deleted, mechs[1].deleted)
		}
	}
}

// Close sends no RPCSEC_GSS_DESTROY for a context that the server has refused. If a context is in
// use when Close runs out of time, its last user deletes it.
func TestOnlyKnownContextsAreDestroyedAtTheServer(t *testing.T) {
	c := &Carrier{} // without a carrier: a message would panic
	done, stop := context.WithCancel(t.Context())
	stop()
	mech := new(counted)
	a := &association{mech: mech, held: true, unused: make(chan struct{})}
	close(a.unused)
	if err := c.finish(t.Context(), a); err != nil || mech.deleted != 1 || a.held {
		t.Errorf("unknown: %v, deleted %d times", err, mech.deleted)
	}
	mech = new(counted)
	a = &association{mech: mech, users: 1, held: true, knownToServer: true, unused: make(chan struct{})}
	if err := c.finish(done, a); err == nil || mech.deleted != 0 || a.held {
		t.Errorf("in use: %v, deleted %d times", err, mech.deleted)
	}
	c.release(a)
	if mech.deleted != 1 {
		t.Errorf("deleted %d times by the last user", mech.deleted)
	}
	// The same in Close, if the last call then finds the numbers used up.
	mech = new(counted)
	a = &association{mech: mech, users: 1, held: true, knownToServer: true}
	c.current = a
	if err := c.Close(done); err == nil {
		t.Error("Close does not say that a context is in use")
	}
	c.retire(a, true)
	if c.release(a); mech.deleted != 1 {
		t.Errorf("deleted %d times after Close", mech.deleted)
	}
}

// The protected call offers the memory of the plain one and that for the overhead, and under
// Integrity and Privacy all of it in one piece (RFC 8166 §8.2.2.2, §8.2.2.3; R103, R306).
func TestProtectedCallOffersMoreMemory(t *testing.T) {
	info := &Info{MICSize: 30, WrapOverhead: 29}
	const micOnly, integ, priv = 32, 32 + 12 + 32, 32 + 8 + 32
	for _, tt := range []struct {
		name          string
		service       Service
		most, buf     int
		results       []int
		wantMost      int
		wantOfResults int
	}{
		{name: "nothing", service: Integrity},
		{name: "a size", service: None, most: 100, wantMost: 100 + micOnly},
		{name: "a size", service: Integrity, most: 100, wantMost: 100 + integ},
		{name: "a size", service: Privacy, most: 100, wantMost: 100 + priv},
		{name: "memory", service: Privacy, buf: 80, wantMost: 80 + priv},
		{name: "a size and memory", service: Privacy, most: 60, buf: 80, wantMost: 60 + priv},
		{name: "results apart", service: None, most: 100, results: []int{5, 0}, wantMost: 100 + micOnly, wantOfResults: 2},
		{name: "results", service: Integrity, most: 100, results: []int{5, 0, 9}, wantMost: restInline + 8 + 12 + integ},
		{name: "results and more", service: Integrity, most: 5000, results: []int{5}, wantMost: 5000 + 8 + integ},
		{name: "empty results", service: Integrity, results: []int{0}},
	} {
		x := exchange{plain: oncrpc.Call{MaxReply: tt.most, ReplyBuf: make([]byte, tt.buf)}, service: tt.service}
		for _, n := range tt.results {
			x.plain.Results = append(x.plain.Results, make([]byte, n))
		}
		call := oncrpc.Call{Results: x.plain.Results}
		x.call = &call
		x.offer(info)
		if call.MaxReply != tt.wantMost || len(call.ReplyBuf) != tt.buf || len(call.Results) != tt.wantOfResults {
			t.Errorf("%s, %v: MaxReply %d, %d bytes, %d results, want %d, %d, %d", tt.name, tt.service,
				call.MaxReply, len(call.ReplyBuf), len(call.Results), tt.wantMost, tt.buf, tt.wantOfResults)
		}
		for plain, want := range map[int]int{0: 0, -1: -1, 3000: 3000 + overhead(info, tt.service)} {
			x.plain.WholeReply = plain
			if x.offer(info); call.WholeReply != want {
				t.Errorf("%s, %v: WholeReply %d of %d, want %d", tt.name, tt.service, call.WholeReply, plain, want)
			}
		}
	}
}

// A mechanism's error makes a context stale if the context or its credentials have expired.
func TestOnlyExpiryMakesAContextStale(t *testing.T) {
	for major, want := range map[uint32]bool{StatusContextExpired: true, StatusCredentialsExpired: true, StatusBadMIC: false, StatusFailure: false} {
		if got := stale(&StatusError{Major: major}); got != want {
			t.Errorf("status %#x: %v", major, got)
		}
	}
	if stale(context.Canceled) {
		t.Error("any error is one")
	}
}

// A principal has one identity at a Handler, and another at each other Handler. The names of
// mechanism and user do not run together.
func TestEachPrincipalHasOneIdentity(t *testing.T) {
	h, other := NewHandler(nil, nil, nil), NewHandler(nil, nil, nil)
	id := h.identify(&Info{Mechanism: "1.2", Initiator: "3@R", Acceptor: "a"})
	if id != h.identify(&Info{Mechanism: "1.2", Initiator: "3@R", Acceptor: "b"}) {
		t.Error("a principal has two identities")
	}
	for name, got := range map[string][16]byte{
		"another user":      h.identify(&Info{Mechanism: "1.2", Initiator: "4@R"}),
		"another mechanism": h.identify(&Info{Mechanism: "1.3", Initiator: "3@R"}),
		"names together":    h.identify(&Info{Mechanism: "1.23", Initiator: "@R"}),
		"another handler":   other.identify(&Info{Mechanism: "1.2", Initiator: "3@R"}),
	} {
		if got == id {
			t.Errorf("%s: the same identity", name)
		}
	}
}

// The defaults and bounds of HandlerConfig are those that its comments state.
func TestHandlerConfig(t *testing.T) {
	want := HandlerConfig{
		Window: 128, MaxContexts: 4096, MaxPerSource: 512, IdleTimeout: time.Hour,
		MaxIncomplete: 256, MaxIncompletePerSource: 32, IncompleteTimeout: 30 * time.Second,
	}
	if got := (*HandlerConfig)(nil).settled(); !reflect.DeepEqual(got, want) {
		t.Errorf("defaults %+v, want %+v", got, want)
	}
	off := &HandlerConfig{
		Window: 1<<16 + 1, MaxContexts: -1, MaxPerSource: -1, IdleTimeout: -1,
		MaxIncomplete: -1, MaxIncompletePerSource: -1, IncompleteTimeout: -1,
	}
	want = HandlerConfig{
		Window: 1 << 16, MaxContexts: math.MaxInt, MaxPerSource: math.MaxInt,
		MaxIncomplete: math.MaxInt, MaxIncompletePerSource: math.MaxInt,
	}
	if got := off.settled(); !reflect.DeepEqual(got, want) {
		t.Errorf("without limits %+v, want %+v", got, want)
	}
}

// Contexts that are not complete have the limits for those.
func TestIncompleteContextsHaveTheirOwnLimits(t *testing.T) {
	h := NewHandler(nil, nil, &HandlerConfig{
		MaxContexts: 1, MaxPerSource: 2, IdleTimeout: 3, MaxIncomplete: 4, MaxIncompletePerSource: 5, IncompleteTimeout: 6,
	})
	for name, got := range map[string]*table{"complete": h.complete, "incomplete": h.incomplete} {
		want := [3]int{1, 2, 3}
		if name == "incomplete" {
			want = [3]int{4, 5, 6}
		}
		if is := [3]int{got.most, got.mostOfSource, int(got.life)}; is != want {
			t.Errorf("%s contexts: limits %v, want %v", name, is, want)
		}
	}
}

// A mechanism that refuses a context is not blamed for the next one, whose window has no room.
func TestExpiryBelongsToOneContext(t *testing.T) {
	done, stop := context.WithCancel(t.Context())
	stop()
	call := &oncrpc.Call{Message: oncrpc.Message{Inline: make([]byte, callHead)}}
	x := exchange{call: call, plain: *call, expired: true}
	a := &association{mech: new(counted), numbers: newNumbers(0)}
	if _, problem, err := x.do(done, &Carrier{service: None}, a); problem || !errors.Is(err, context.Canceled) {
		t.Errorf("the context is refused: %v; %v", problem, err)
	}
}
