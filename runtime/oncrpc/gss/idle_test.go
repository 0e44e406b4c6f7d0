package gss_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/gss"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/gss/gsstest"
)

// Only a call with a right checksum and a new sequence number keeps a context. Anyone can send a
// call that was seen, or forge one.
func TestOnlyNewCallsKeepAContext(t *testing.T) {
	for _, tt := range []struct {
		what string
		call func(p *peer) []byte
		want string
		kept bool
	}{
		{"a new call", func(p *peer) []byte { return p.call(1, 2, gss.None, nil) }, "ok", true},
		{"a call that was seen", func(p *peer) []byte { return p.call(1, 1, gss.None, nil) }, "dropped", false},
		{"a wrong checksum", func(p *peer) []byte {
			b := p.call(1, 2, gss.None, nil)
			b[len(b)-8] ^= 1
			return b
		}, "RPCSEC_GSS_CREDPROBLEM", false},
		{"a number that is too high", func(p *peer) []byte { return p.call(1, gss.MaxSeq, gss.None, nil) }, "RPCSEC_GSS_CTXPROBLEM", false},
	} {
		synctest.Test(t, func(t *testing.T) {
			realm := gsstest.NewRealm(2)
			h := gss.NewHandler(oncrpc.HandlerFunc(echo), realm.Acceptor(), &gss.HandlerConfig{IdleTimeout: time.Hour})
			p := newPeer(t, h, realm, "192.0.2.1:1000")
			p.connect("alice")
			if got := p.result(p.call(1, 1, gss.None, nil)); got != "ok" {
				t.Fatal(got)
			}
			time.Sleep(40 * time.Minute)
			if got := p.result(tt.call(p)); got != tt.want {
				t.Errorf("%s: %s, want %s", tt.what, got, tt.want)
			}
			if n := h.InUse(); n != 0 {
				t.Errorf("%s: the context has %d users after the answer", tt.what, n)
			}
			time.Sleep(40 * time.Minute)
			if s := h.Stats(); s.Contexts == 1 != tt.kept {
				t.Errorf("%s: %d contexts, want one: %v", tt.what, s.Contexts, tt.kept)
			}
		})
	}
}

// A call with too little protection uses the context no longer than its refusal takes.
func TestWeakCallLeavesTheContext(t *testing.T) {
	realm := gsstest.NewRealm(2)
	for _, null := range []bool{true, false} {
		h := gss.NewHandler(nullKnower{oncrpc.HandlerFunc(echo), null}, realm.Acceptor(), &gss.HandlerConfig{Required: gss.Integrity})
		p := newPeer(t, h, realm, "192.0.2.1:1000")
		p.connect("alice")
		want := []string{"ok", "AUTH_TOOWEAK"} // the null procedure needs no protection
		if !null {
			want[0] = "AUTH_TOOWEAK"
		}
		for i, want := range want {
			if got := p.result(p.call(uint32(i), uint32(i+1), gss.None, nil)); got != want {
				t.Errorf("null %t, procedure %d: %s, want %s", null, i, got, want)
			}
			if n := h.InUse(); n != 0 {
				t.Errorf("null %t, procedure %d: the context has %d users after the answer", null, i, n)
			}
		}
	}
}

// nullKnower is a Handler that says of procedure 0 whether it is null.
type nullKnower struct {
	oncrpc.Handler
	null bool
}

func (k nullKnower) IsNull(uint32, uint32) bool { return k.null }

// Contexts that a limit removes are counted, complete and incomplete ones apart.
func TestEvictionsAreCountedApart(t *testing.T) {
	mech := &scripted{script: func(n int, s *scripted) (gss.Step, error) {
		return gss.Step{Context: s, Complete: n <= 2, Token: []byte("next")}, nil
	}}
	h := gss.NewHandler(oncrpc.HandlerFunc(echo), mech, &gss.HandlerConfig{MaxContexts: 1, MaxIncomplete: 2})
	p := newPeer(t, h, nil, "192.0.2.1:1000")
	for range 7 {
		if _, _, err := p.init(gss.ProcInit, []byte("first")); err != nil {
			t.Fatal(err)
		}
	}
	want := gss.HandlerStats{Contexts: 1, Evicted: 1, Incomplete: 2, EvictedEarly: 3}
	if got := h.Stats(); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}
