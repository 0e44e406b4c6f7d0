package gss_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/gss"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/gss/gsstest"
	"github.com/rpcrdma/rpcrdma/runtime/xdr"
)

// The answers to calls in which one thing is wrong (RFC 2203 §5.3.3, §5.4). None of them reaches
// the next Handler, except those that expect "ok".
func TestEachWrongCallIsRefused(t *testing.T) {
	const (
		badCred  = "AUTH_BADCRED"
		rejected = "AUTH_REJECTEDCRED"
		problem  = "RPCSEC_GSS_CREDPROBLEM"
		stale    = "RPCSEC_GSS_CTXPROBLEM"
		garbage  = "GARBAGE_ARGS"
	)
	args := []byte("arguments...")
	for _, tt := range []struct {
		name, want string
		message    func(p *peer) []byte
	}{
		{"none", "ok", func(p *peer) []byte { return p.call(1, 1, gss.None, args) }},
		{"integrity", "ok", func(p *peer) []byte { return p.call(1, 1, gss.Integrity, p.integ(1, args)) }},
		{"privacy", "ok", func(p *peer) []byte { return p.call(1, 1, gss.Privacy, p.priv(1, args)) }},
		{"void arguments", "ok", func(p *peer) []byte { return p.call(1, 1, gss.Integrity, p.integ(1, nil)) }},
		{"the last sequence number", "ok", func(p *peer) []byte { return p.call(1, gss.MaxSeq-1, gss.None, args) }},
		{"sequence number 0", "ok", func(p *peer) []byte { return p.call(1, 0, gss.None, args) }},

		{"MAXSEQ", stale, func(p *peer) []byte { return p.call(1, gss.MaxSeq, gss.None, args) }},
		{"above MAXSEQ", stale, func(p *peer) []byte { return p.call(1, 1<<32-1, gss.None, args) }},
		{"service 0", badCred, func(p *peer) []byte { return p.call(1, 1, 0, args) }},
		{"service 4", badCred, func(p *peer) []byte { return p.call(1, 1, 4, args) }},
		{"control procedure 4", badCred, func(p *peer) []byte {
			return auth(p.start(0, p.cred(4, 1, gss.None)), oncrpc.AuthNone, nil)
		}},
		{"version 2 of a call", badCred, func(p *peer) []byte {
			cred := p.cred(gss.ProcData, 1, gss.None)
			cred[3] = 2
			return auth(p.start(1, cred), oncrpc.AuthNone, nil)
		}},
		{"version 2 of a creation", rejected, func(p *peer) []byte {
			cred := p.cred(gss.ProcInit, 1, gss.None)
			cred[3] = 2
			return auth(p.start(0, cred), oncrpc.AuthNone, nil)
		}},
		{"version 2 of a continuation", rejected, func(p *peer) []byte {
			cred := p.cred(gss.ProcContinueInit, 1, gss.None)
			cred[3] = 2
			return auth(p.start(0, cred), oncrpc.AuthNone, nil)
		}},
		{"empty credential", badCred, func(p *peer) []byte { return auth(p.start(1, nil), oncrpc.AuthNone, nil) }},
		{"bytes behind the credential", badCred, func(p *peer) []byte {
			b := p.start(1, append(p.cred(gss.ProcData, 1, gss.None), 0, 0, 0, 0))
			return auth(b, oncrpc.RPCSecGSS, p.mic(b))
		}},
		{"unknown handle", problem, func(p *peer) []byte {
			p.handle = append([]byte{p.handle[0] ^ 1}, p.handle[1:]...)
			return p.call(1, 1, gss.None, args)
		}},
		{"empty handle", problem, func(p *peer) []byte { p.handle = nil; return p.call(1, 1, gss.None, args) }},
		{"long handle", problem, func(p *peer) []byte {
			p.handle = append(p.handle, make([]byte, 364)...)
			return p.call(1, 1, gss.None, args)
		}},
		{"verifier AUTH_NONE", problem, func(p *peer) []byte {
			return auth(p.start(1, p.cred(gss.ProcData, 1, gss.None)), oncrpc.AuthNone, nil)
		}},
		{"checksum of AUTH_NONE flavour", problem, func(p *peer) []byte {
			b := p.start(1, p.cred(gss.ProcData, 1, gss.None))
			return auth(b, oncrpc.AuthNone, p.mic(b))
		}},
		{"empty checksum", problem, func(p *peer) []byte {
			return auth(p.start(1, p.cred(gss.ProcData, 1, gss.None)), oncrpc.RPCSecGSS, nil)
		}},
		{"our own checksum", problem, func(p *peer) []byte {
			p.send(p.t, p.handler, p.call(1, 1, gss.None, args)) // its reply has one
			return auth(p.start(1, p.cred(gss.ProcData, 2, gss.None)), oncrpc.RPCSecGSS, p.reply[20:20+gsstest.MICSize])
		}},
		{"another number in the data", garbage, func(p *peer) []byte { return p.call(1, 1, gss.Integrity, p.integ(2, args)) }},
		{"another number in encrypted data", garbage, func(p *peer) []byte { return p.call(1, 1, gss.Privacy, p.priv(2, args)) }},
		{"changed data", garbage, func(p *peer) []byte {
			b := p.call(1, 1, gss.Integrity, p.integ(1, args))
			b[bytes.Index(b, args)]++
			return b
		}},
		{"changed encrypted data", garbage, func(p *peer) []byte {
			b := p.call(1, 1, gss.Privacy, p.priv(1, args))
			b[len(b)-8]++
			return b
		}},
		{"data without protection", garbage, func(p *peer) []byte { return p.call(1, 1, gss.Privacy, args) }},
		{"integrity in place of privacy", garbage, func(p *peer) []byte { return p.call(1, 1, gss.Privacy, p.integ(1, args)) }},
		{"bytes behind the data", garbage, func(p *peer) []byte { return p.call(1, 1, gss.Integrity, append(p.integ(1, args), 0, 0, 0, 0)) }},
		{"data of an odd length", garbage, func(p *peer) []byte { return p.call(1, 1, gss.Integrity, p.integ(1, args[:3])) }},
		{"data without a number", garbage, func(p *peer) []byte {
			return p.call(1, 1, gss.Integrity, opaque(opaque(nil, nil), p.mic(nil)))
		}},
		{"creation with a procedure", badCred, func(p *peer) []byte {
			p.handle = nil
			return opaque(auth(p.start(1, p.cred(gss.ProcInit, 1, gss.None)), oncrpc.AuthNone, nil), nil)
		}},
		{"first creation with a handle", badCred, func(p *peer) []byte {
			return opaque(auth(p.start(0, p.cred(gss.ProcInit, 1, gss.None)), oncrpc.AuthNone, nil), nil)
		}},
		{"creation with a verifier", "AUTH_BADVERF", func(p *peer) []byte {
			b := p.start(0, p.cred(gss.ProcContinueInit, 1, gss.None))
			return opaque(auth(b, oncrpc.RPCSecGSS, p.mic(b)), nil)
		}},
		{"creation with an empty verifier of RPCSEC_GSS", "AUTH_BADVERF", func(p *peer) []byte {
			p.handle = nil
			return opaque(auth(p.start(0, p.cred(gss.ProcInit, 1, gss.None)), oncrpc.RPCSecGSS, nil), []byte("token"))
		}},
		{"creation that goes on with a complete context", rejected, func(p *peer) []byte {
			return opaque(auth(p.start(0, p.cred(gss.ProcContinueInit, 1, gss.None)), oncrpc.AuthNone, nil), nil)
		}},
		{"creation without arguments", garbage, func(p *peer) []byte {
			p.handle = nil
			return auth(p.start(0, p.cred(gss.ProcInit, 1, gss.None)), oncrpc.AuthNone, nil)
		}},
		{"token of 128 KiB and 1 byte", garbage, func(p *peer) []byte {
			p.handle = nil
			return opaque(auth(p.start(0, p.cred(gss.ProcInit, 1, gss.None)), oncrpc.AuthNone, nil), make([]byte, 128<<10+1))
		}},
		{"destruction with a procedure", badCred, func(p *peer) []byte {
			b := p.start(1, p.cred(gss.ProcDestroy, 1, gss.None))
			return auth(b, oncrpc.RPCSecGSS, p.mic(b))
		}},
		{"destruction without a checksum", problem, func(p *peer) []byte {
			return auth(p.start(0, p.cred(gss.ProcDestroy, 1, gss.None)), oncrpc.AuthNone, nil)
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			realm := gsstest.NewRealm(2)
			served := 0
			h := gss.NewHandler(oncrpc.HandlerFunc(func(r *oncrpc.Request) { served++; echo(r) }), realm.Acceptor(), nil)
			p := newPeer(t, h, realm, "192.0.2.1:1000")
			p.connect("mallory")
			handle := p.handle
			message := tt.message(p)
			served = 0
			if got := p.result(message); got != tt.want || (served == 1) != (tt.want == "ok") {
				t.Errorf("%s, and %d calls served; want %s", got, served, tt.want)
			}
			// No such message harms the context.
			p.handle = handle
			if tt.name != "the last sequence number" {
				if got := p.result(p.call(1, 100, gss.None, args)); got != "ok" {
					t.Errorf("the next call: %s", got)
				}
			}
		})
	}
}

// No field of the header is believed if it was changed on the way: every header bit is covered by
// the checksum (RFC 2203 §5.3.1; R307), except for the verifier's own padding and length.
func TestChangedHeader(t *testing.T) {
	realm := gsstest.NewRealm(2)
	h := gss.NewHandler(oncrpc.HandlerFunc(func(r *oncrpc.Request) { t.Error("served"); echo(r) }), realm.Acceptor(), nil)
	p := newPeer(t, h, realm, "192.0.2.1:1000")
	p.connect("alice")
	good := p.call(1, 5, gss.None, []byte("args"))
	for bit := range (len(good) - 4) * 8 {
		if bit/8 >= 4 && bit/8 < 12 || bit/8 >= 24 && bit/8 < 28 {
			continue // type, RPC version, flavour: it is then another kind of message
		}
		b := slices.Clone(good)
		b[bit/8] ^= 1 << (bit % 8)
		var head oncrpc.Header
		if head.DecodeXDR(xdr.NewDecoder(b, nil)) != nil {
			continue // no header at all
		}
		if got := p.result(b); got == "ok" || got == "dropped" {
			t.Errorf("byte %d, bit %d: %s", bit/8, bit%8, got)
		}
	}
	if s := h.Stats(); s.BadChecksums < 400 || s.Replays != 0 {
		t.Errorf("%+v", s)
	}
}

// Numbers that were seen or are below the window are dropped without an answer, and all others are
// served once, whatever their order (RFC 2203 §5.3.3.1). A wrong checksum moves nothing.
func TestSequenceWindow(t *testing.T) {
	realm := gsstest.NewRealm(2)
	h := gss.NewHandler(oncrpc.HandlerFunc(echo), realm.Acceptor(), &gss.HandlerConfig{Window: 8})
	p := newPeer(t, h, realm, "192.0.2.1:1000")
	p.connect("alice")
	if p.window != 8 {
		t.Fatalf("window %d", p.window)
	}
	replays := uint64(0)
	for _, step := range []struct {
		seq  uint32
		want string
	}{
		{10, "ok"},
		{10, "dropped"},
		{3, "ok"},
		{2, "dropped"},
		{3, "dropped"},
		{9, "ok"},
		{11, "ok"},
		{3, "dropped"},
		{4, "ok"},
		{18, "ok"},
		{10, "dropped"},
		{11, "dropped"},
		{12, "ok"},
		{1000, "ok"},
		{992, "dropped"},
		{993, "ok"},
		{18, "dropped"},
		{1000, "dropped"},
		{993, "dropped"},
		{999, "ok"},
		{1007, "ok"},
		{1000, "dropped"},
		{1001, "ok"},
	} {
		// The same number, higher ones too, with a wrong checksum before.
		bad := p.call(1, step.seq+5000, gss.None, nil)
		bad[len(bad)-3]++
		if got := p.result(bad); got != "RPCSEC_GSS_CREDPROBLEM" {
			t.Errorf("wrong checksum: %s", got)
		}
		message := p.call(1, step.seq, gss.None, nil)
		if got := p.result(message); got != step.want {
			t.Errorf("number %d: %s, want %s", step.seq, got, step.want)
		}
		if got := p.result(message); got != "dropped" { // the same bytes: a replay
			t.Errorf("number %d a second time: %s", step.seq, got)
		}
		replays++
		if step.want == "dropped" {
			replays++
		}
	}
	if s := h.Stats(); s.Replays != replays {
		t.Errorf("%d replays counted, want %d", s.Replays, replays)
	}
}

// A handle need not be secret: another client that has read it can neither use the context nor
// destroy it, from any connection. The owner can, from another one, too (RFC 2203 §5.3.3.3, §5.4).
func TestStolenHandle(t *testing.T) {
	realm := gsstest.NewRealm(2)
	h := gss.NewHandler(oncrpc.HandlerFunc(echo), realm.Acceptor(), nil)
	alice, mallory := newPeer(t, h, realm, "192.0.2.1:1000"), newPeer(t, h, realm, "192.0.2.2:1000")
	alice.connect("alice")
	mallory.connect("mallory")
	mallory.handle = alice.handle
	destroy := func(p *peer, seq uint32) string {
		b := p.start(0, p.cred(gss.ProcDestroy, seq, gss.None))
		return p.result(auth(b, oncrpc.RPCSecGSS, p.mic(b)))
	}
	for seq := range uint32(3) {
		if got := mallory.result(mallory.call(1, 100+seq, gss.None, nil)); got != "RPCSEC_GSS_CREDPROBLEM" {
			t.Errorf("a call of mallory: %s", got)
		}
		if got := destroy(mallory, 200+seq); got != "RPCSEC_GSS_CREDPROBLEM" {
			t.Errorf("mallory destroys: %s", got)
		}
	}
	if got := alice.result(alice.call(1, 1, gss.None, nil)); got != "ok" {
		t.Errorf("alice: %s", got)
	}
	alice.addr = "198.51.100.7:7"
	if got := alice.result(alice.call(1, 2, gss.None, nil)); got != "ok" {
		t.Errorf("alice from another address: %s", got)
	}
	if got := destroy(alice, 2); got != "dropped" {
		t.Errorf("a number that was seen: %s", got)
	}
	if got := destroy(alice, 3); got != "ok" {
		t.Errorf("alice destroys: %s", got)
	}
	if mic := alice.reply[20 : 20+gsstest.MICSize]; alice.mech.VerifyMIC(words(nil, 3), mic) != nil {
		t.Errorf("the verifier of the reply is %x", mic)
	}
	if got := alice.result(alice.call(1, 4, gss.None, nil)); got != "RPCSEC_GSS_CREDPROBLEM" {
		t.Errorf("after that: %s", got)
	}
}

// Under integrity and privacy, arguments that came apart from the message are refused; so are items
// in the header, and tokens apart (RFC 8166 §8.2.2, §8.2.2.3; R305, R306, T61).
func TestPlacedItems(t *testing.T) {
	realm := gsstest.NewRealm(2)
	var seen *oncrpc.Request
	h := gss.NewHandler(oncrpc.HandlerFunc(func(r *oncrpc.Request) { seen = r; echo(r) }), realm.Acceptor(), nil)
	p := newPeer(t, h, realm, "192.0.2.1:1000")
	p.connect("alice")
	at := func(b []byte) xdr.Item { return xdr.Item{Position: uint64(len(b) - 8), Data: b[len(b)-8:]} }
	args := []byte("\x00\x00\x00\x08bulkdata")

	b := p.call(1, 1, gss.Integrity, p.integ(1, args))
	if got := p.result(b, at(b)); got != "GARBAGE_ARGS" {
		t.Errorf("integrity: %s", got)
	}
	b = p.call(1, 2, gss.Privacy, p.priv(2, args))
	if got := p.result(b, at(b)); got != "GARBAGE_ARGS" {
		t.Errorf("privacy: %s", got)
	}
	b = p.call(1, 3, gss.None, args)
	for _, position := range []uint64{0, 24, 40, uint64(len(b)) - 13} {
		item := xdr.Item{Position: position, Data: b[position : position+1]}
		if got := p.result(p.call(1, 4+uint32(position), gss.None, args), item); got != "GARBAGE_ARGS" {
			t.Errorf("an item at %d in the header of %d bytes: %s", position, len(b)-12, got)
		}
	}
	if seen != nil {
		t.Error("the next Handler was called")
	}
	b = p.call(1, 2000, gss.None, args)
	if got := p.result(b, at(b)); got != "ok" || seen == nil || len(seen.Placed) != 1 {
		t.Fatalf("none: %s", got)
	}
	if i := seen.Placed[0]; string(seen.Message[i.Position:]) != "bulkdata" {
		t.Errorf("none: the item is at %d of %q", i.Position, seen.Message)
	}
	b = p.call(1, 2001, gss.None, args)
	first := xdr.Item{Position: uint64(len(b) - 8), Data: b[len(b)-8 : len(b)-4]}
	last := xdr.Item{Position: uint64(len(b) - 4), Data: b[len(b)-4:]}
	if got := p.result(b, first, last); got != "ok" || len(seen.Placed) != 2 {
		t.Fatalf("two items: %s", got)
	}
	if one, two := seen.Placed[0], seen.Placed[1]; string(seen.Message[one.Position:]) != "bulkdata" || string(seen.Message[two.Position:]) != "data" {
		t.Errorf("two items are at %d and %d of %q", one.Position, two.Position, seen.Message)
	}
	p.handle = nil
	b = opaque(auth(p.start(0, p.cred(gss.ProcInit, 0, 0)), oncrpc.AuthNone, nil), []byte("tokentok"))
	if got := p.result(b, at(b)); got != "GARBAGE_ARGS" {
		t.Errorf("a token: %s", got)
	}
}

// The next Handler gets the service of the call in the credential, so that a reply cache
// distinguishes a call with less protection. What it appends to the message overwrites nothing.
func TestNextHandlerSeesTheService(t *testing.T) {
	realm := gsstest.NewRealm(2)
	var seen *oncrpc.Request
	h := gss.NewHandler(oncrpc.HandlerFunc(func(r *oncrpc.Request) { seen = r; echo(r) }), realm.Acceptor(), nil)
	p := newPeer(t, h, realm, "192.0.2.1:1000")
	p.connect("alice")
	args, identity := []byte("args"), ""
	for i, service := range services {
		seq := uint32(i + 1)
		body := map[gss.Service][]byte{gss.None: args, gss.Integrity: p.integ(seq, args), gss.Privacy: p.priv(seq, args)}[service]
		if got := p.result(p.call(1, seq, service, body)); got != "ok" {
			t.Fatalf("%v: %s", service, got)
		}
		var head oncrpc.Header
		dec := xdr.NewDecoder(seen.Message, nil)
		if err := head.DecodeXDR(dec); err != nil || string(dec.Rest()) != "args" {
			t.Fatalf("%v: %v, arguments %q", service, err, dec.Rest())
		}
		var cred gss.Cred
		if err := cred.UnmarshalBinary(head.Body.Call.Cred.Body); err != nil || cred.V1.Service != service || cred.V1.Seq != 0 {
			t.Errorf("%v: the credential has %+v, %v", service, cred.V1, err)
		}
		if i == 0 {
			identity = string(cred.V1.Handle)
		} else if identity != string(cred.V1.Handle) {
			t.Errorf("%v: the identity of the caller is %x, was %x", service, cred.V1.Handle, identity)
		}
		if service == gss.Integrity && cap(seen.Message) != len(seen.Message) {
			t.Errorf("%v: %d bytes follow the message in its memory", service, cap(seen.Message)-len(seen.Message))
		}
	}
}

// Whatever clients of one source begin, the contexts of another stay, and the number is bounded.
// Nothing is left when their time is over.
func TestFloodEvictsNoOtherContexts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		realm := gsstest.NewRealm(3)
		h := gss.NewHandler(oncrpc.HandlerFunc(echo), realm.Acceptor(), &gss.HandlerConfig{
			MaxIncomplete: 20, MaxIncompletePerSource: 8, IncompleteTimeout: time.Minute, MaxContexts: 20, MaxPerSource: 8, IdleTimeout: time.Hour,
		})
		complete := func(p *peer, user string, step gss.Step, res gss.InitRes) {
			i := realm.Initiator(user, "server")
			step, err := i.InitSecContext(t.Context(), step.Context, res.Token)
			if err == nil {
				p.handle = res.Handle
				res, _, err = p.init(gss.ProcContinueInit, step.Token)
			}
			if err != nil || res.Major != gss.StatusComplete || !bytes.Equal(res.Handle, p.handle) {
				t.Fatalf("%+v, %v", res, err)
			}
			p.mech = step.Context
		}
		honest := newPeer(t, h, realm, "192.0.2.1:1000")
		step, res, err := honest.begin("alice")
		if err != nil || res.Major != gss.StatusContinueNeeded || res.SeqWindow == 0 {
			t.Fatalf("%+v, %v", res, err)
		}
		var greedy []*peer
		for i := range 200 { // from 10 addresses of each of three networks
			p := newPeer(t, h, realm, fmt.Sprintf("[2001:db8:0:%d::%d]:1000", i%3, i%10))
			other, otherRes, err := p.begin("mallory")
			if err != nil {
				t.Fatal(err)
			}
			if s := h.Stats(); s.Incomplete > 20 {
				t.Fatalf("%+v", s)
			}
			if i%2 == 0 {
				complete(p, "mallory", other, otherRes)
				greedy = append(greedy, p)
			} else {
				other.Context.Delete()
			}
			if got := p.result(opaque(auth(p.start(0, opaque(words(nil, 1, 1, 0, 0), nil)), oncrpc.AuthNone, nil), []byte("no token"))); got != "ok" {
				t.Fatalf("a bad token: %s", got)
			}
			if i == 100 {
				complete(honest, "alice", step, res)
			}
		}
		if got := honest.result(honest.call(1, 1, gss.None, nil)); got != "ok" {
			t.Errorf("the honest client: %s", got)
		}
		if s := h.Stats(); s.Contexts > 20 || s.Evicted == 0 || s.EvictedEarly == 0 {
			t.Errorf("%+v", s)
		}
		for _, p := range greedy {
			p.mech.Delete()
		}
		// Unused ones go: the incomplete ones first, and one that is used stays.
		time.Sleep(59 * time.Minute)
		if got := honest.result(honest.call(1, 2, gss.None, nil)); got != "ok" {
			t.Errorf("after 59 minutes: %s", got)
		}
		time.Sleep(59 * time.Minute)
		if got := honest.result(honest.call(1, 3, gss.None, nil)); got != "ok" {
			t.Errorf("after 118 minutes: %s", got)
		}
		if _, _, err := newPeer(t, h, realm, "x").init(gss.ProcInit, []byte("no token")); err != nil {
			t.Error(err)
		}
		if s := h.Stats(); s.Contexts != 1 || s.Incomplete != 0 {
			t.Errorf("after 118 minutes: %+v", s)
		}
		time.Sleep(time.Hour + time.Second)
		if got := honest.result(honest.call(1, 4, gss.None, nil)); got != "RPCSEC_GSS_CREDPROBLEM" {
			t.Errorf("after an hour without calls: %s", got)
		}
		honest.mech.Delete()
		if n := realm.Live(); n != 0 {
			t.Errorf("%d contexts are left", n)
		}
	})
}

// A failure of the mechanism comes to the client in a successful reply without handle and token
// (RFC 2203 §5.2.3.1), and leaves nothing.
func TestBadTokens(t *testing.T) {
	realm := gsstest.NewRealm(4)
	h := gss.NewHandler(oncrpc.HandlerFunc(echo), realm.Acceptor(), nil)
	p := newPeer(t, h, realm, "192.0.2.1:1000")
	check := func(res gss.InitRes, head oncrpc.Header, err error) {
		t.Helper()
		if err != nil || res.Major != gss.StatusDefectiveToken || res.Minor == 0 || len(res.Handle)+len(res.Token) > 0 || head.Body.Reply.Accepted.Verf.Flavor != oncrpc.AuthNone {
			t.Errorf("%+v, %v", res, err)
		}
	}
	check(p.init(gss.ProcInit, nil))
	check(p.init(gss.ProcInit, []byte("{}")))
	step, res, err := p.begin("alice")
	if err != nil || res.Major != gss.StatusContinueNeeded {
		t.Fatalf("%+v, %v", res, err)
	}
	p.handle = res.Handle
	check(p.init(gss.ProcContinueInit, []byte("{}")))
	if _, _, err := p.init(gss.ProcContinueInit, []byte("{}")); !errors.Is(err, oncrpc.ErrAuth) {
		t.Errorf("the context goes on: %v", err)
	}
	step.Context.Delete()
	if s := h.Stats(); s.Contexts != 0 || s.Incomplete != 0 || realm.Live() != 0 {
		t.Errorf("%+v, %d contexts", s, realm.Live())
	}
}

// Every truncated message is refused, not served.
func TestTruncatedMessageIsRefused(t *testing.T) {
	realm := gsstest.NewRealm(2)
	h := gss.NewHandler(oncrpc.HandlerFunc(func(r *oncrpc.Request) {
		if gss.FromContext(r.Context()) != nil && binary.BigEndian.Uint32(r.Message[44:]) == uint32(gss.ProcData) {
			t.Errorf("served: %x", r.Message)
		}
		r.Drop(nil)
	}), realm.Acceptor(), nil)
	p := newPeer(t, h, realm, "192.0.2.1:1000")
	p.connect("alice")
	handle := p.handle
	for _, whole := range [][]byte{
		p.call(1, 1, gss.Integrity, p.integ(1, []byte("data"))),
		p.call(1, 1, gss.Privacy, p.priv(1, []byte("data"))),
		opaque(auth(p.start(0, opaque(words(nil, 1, 1, 0, 0), nil)), oncrpc.AuthNone, nil), []byte("token")),
		auth(p.start(0, p.cred(gss.ProcDestroy, 1, gss.None)), oncrpc.RPCSecGSS, []byte("checksum")),
	} {
		for n := 8; n < len(whole); n++ {
			p.send(t, h, whole[:n])
		}
	}
	p.handle = handle
	if s := h.Stats(); s.Contexts != 1 {
		t.Errorf("%+v", s)
	}
}
