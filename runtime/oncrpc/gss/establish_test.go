package gss_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/gss"
	"github.com/rpcrdma/rpcrdma/runtime/xdr"
)

// scripted is a mechanism, and its only context, whose steps a test writes.
type scripted struct {
	letters
	script  func(n int, s *scripted) (gss.Step, error) // n counts the steps from 1
	tokens  []string                                   // that came
	deleted int
}

func (s *scripted) step(token []byte) (gss.Step, error) {
	s.tokens = append(s.tokens, string(token))
	return s.script(len(s.tokens), s)
}

func (s *scripted) InitSecContext(_ context.Context, _ gss.Context, token []byte) (gss.Step, error) {
	return s.step(token)
}

func (s *scripted) AcceptSecContext(_ context.Context, _ gss.Context, token []byte) (gss.Step, error) {
	return s.step(token)
}

func (s *scripted) Delete() { s.deleted++ }

// completesAt returns a script that is complete at a step, without a token there.
func completesAt(last int) func(int, *scripted) (gss.Step, error) {
	return func(n int, s *scripted) (gss.Step, error) {
		if n == last {
			return gss.Step{Context: s, Complete: true}, nil
		}
		return gss.Step{Context: s, Token: []byte("next")}, nil
	}
}

// A server takes at most eight tokens, and a failure at any of them leaves no context and is
// reported (RFC 2203 §5.2.3.1).
func TestEstablishmentAtServer(t *testing.T) {
	failed := errors.New("no credentials")
	for _, tt := range []struct {
		name    string
		script  func(int, *scripted) (gss.Step, error)
		own     string
		fail    string
		tokens  int    // that the client sends
		major   uint32 // of the last response
		deleted int
	}{
		{name: "the first token completes", script: completesAt(1), tokens: 1},
		{name: "the eighth token completes", script: completesAt(8), tokens: 8},
		{name: "eight tokens do not", script: completesAt(9), tokens: 8, major: gss.StatusFailure, deleted: 1},
		{name: "a step without its context", script: func(n int, s *scripted) (gss.Step, error) {
			if n == 1 {
				return gss.Step{Context: s, Token: []byte("next")}, nil
			}
			return gss.Step{Complete: true}, nil
		}, tokens: 2},
		{name: "neither context nor error", script: func(int, *scripted) (gss.Step, error) {
			return gss.Step{}, nil
		}, tokens: 1, major: gss.StatusFailure},
		{name: "an error without a context", script: func(int, *scripted) (gss.Step, error) {
			return gss.Step{}, failed
		}, tokens: 1, major: gss.StatusFailure},
		{name: "an error with a context", script: func(_ int, s *scripted) (gss.Step, error) {
			return gss.Step{Context: s}, &gss.StatusError{Major: gss.StatusBadMIC, Err: failed}
		}, tokens: 1, major: gss.StatusBadMIC, deleted: 1},
		{name: "an error with a status of success", script: func(int, *scripted) (gss.Step, error) {
			return gss.Step{}, &gss.StatusError{Major: gss.StatusContinueNeeded, Err: failed}
		}, tokens: 1, major: gss.StatusFailure},
		{name: "no checksum of the window", script: completesAt(1), fail: "GetMIC", tokens: 1, major: gss.StatusFailure, deleted: 1},
		{name: "a long checksum of the window", script: completesAt(1), own: strings.Repeat("x", 398), tokens: 1, major: gss.StatusFailure, deleted: 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			mech := &scripted{script: tt.script, letters: letters{own: tt.own, fail: map[string]bool{tt.fail: true}}}
			reported := 0
			h := gss.NewHandler(oncrpc.HandlerFunc(echo), mech, &gss.HandlerConfig{Refused: func(*oncrpc.Request, error) { reported++ }})
			p := newPeer(t, h, nil, "192.0.2.1:1000")
			proc := gss.ProcInit
			for i := 1; i <= tt.tokens; i++ {
				res, _, err := p.init(proc, []byte{byte(i)})
				want := uint32(gss.StatusContinueNeeded)
				if i == tt.tokens {
					want = tt.major
				}
				if err != nil || res.Major != want || (len(res.Handle) == 0) != (want > gss.StatusContinueNeeded) {
					t.Fatalf("token %d: %+v, %v, want status %#x", i, res, err, want)
				}
				p.handle, proc = res.Handle, gss.ProcContinueInit
			}
			failures := 0
			if tt.major != gss.StatusComplete {
				failures = 1
			}
			if s := h.Stats(); s.Incomplete != 0 || s.Contexts != 1-failures || reported != failures || mech.deleted != tt.deleted {
				t.Errorf("%+v, %d failures reported, deleted %d times", s, reported, mech.deleted)
			}
		})
	}
}

// The mechanism gets tokens of up to 128 KiB, and no other creation request gets to it.
func TestCreationRequests(t *testing.T) {
	mech := &scripted{script: completesAt(1)}
	h := gss.NewHandler(oncrpc.HandlerFunc(echo), mech, nil)
	p := newPeer(t, h, nil, "192.0.2.1:1000")
	creation := func(proc gss.Proc, verf, args []byte) []byte {
		return append(auth(p.start(0, p.cred(proc, 0, 0)), oncrpc.AuthNone, verf), args...)
	}
	for name, tt := range map[string]struct {
		want    string
		message []byte
	}{
		"a body in the verifier":     {"AUTH_BADVERF", creation(gss.ProcInit, []byte("body"), opaque(nil, []byte("token")))},
		"bytes behind the token":     {"GARBAGE_ARGS", creation(gss.ProcInit, nil, append(opaque(nil, []byte("token")), 0, 0, 0, 0))},
		"to go on without a handle":  {"AUTH_REJECTEDCRED", creation(gss.ProcContinueInit, nil, opaque(nil, []byte("token")))},
		"a token of 128 KiB and one": {"GARBAGE_ARGS", creation(gss.ProcInit, nil, opaque(nil, make([]byte, 128<<10+1)))},
	} {
		if got := p.result(tt.message); got != tt.want || len(mech.tokens) != 0 {
			t.Errorf("%s: %s, and %d tokens got through, want %s", name, got, len(mech.tokens), tt.want)
		}
	}
	if got := p.result(creation(gss.ProcInit, nil, opaque(nil, make([]byte, 128<<10)))); got != "ok" || len(mech.tokens) != 1 || len(mech.tokens[0]) != 128<<10 {
		t.Errorf("a token of 128 KiB: %s, and %d tokens got through", got, len(mech.tokens))
	}
}

// Padding of RDMA_MSGP is passed on with the place where the message now begins. Nothing that is
// protected, and no token, may have it (RFC 8166 §8.2.2, §8.2.2.3).
func TestPaddingMovesWithTheMessage(t *testing.T) {
	var seen *oncrpc.Request
	h := gss.NewHandler(oncrpc.HandlerFunc(func(r *oncrpc.Request) { seen = r; echo(r) }), &letters{own: "S", peer: "C"}, nil)
	p := newPeer(t, h, nil, "192.0.2.1:1000")
	p.mech = &letters{own: "C", peer: "S"}
	res, _, err := p.init(gss.ProcInit, []byte("hello"))
	if err != nil {
		t.Fatal(err)
	}
	padded := func(message []byte) string {
		p.reply = nil
		h.ServeRPC(&oncrpc.Request{Message: message, Padding: oncrpc.Padding{Align: 8, Threshold: 1, Start: 28}, Responder: responder{p.line}})
		return refusal(t, p.reply)
	}
	if got := padded(opaque(auth(p.start(0, p.cred(gss.ProcInit, 0, 0)), oncrpc.AuthNone, nil), []byte("hello"))); got != "GARBAGE_ARGS" {
		t.Errorf("a token: %s", got)
	}
	p.handle = res.Handle
	if got := padded(p.call(1, 1, gss.Integrity, p.integ(1, nil))); got != "GARBAGE_ARGS" || seen != nil {
		t.Errorf("integrity: %s", got)
	}
	message := p.call(1, 2, gss.None, []byte("args"))
	before := len(message)
	if got := padded(message); got != "ok" || seen == nil {
		t.Fatalf("none: %s", got)
	}
	if at := seen.Padding.Start + len(seen.Message); at != 28+before {
		t.Errorf("the message ends %d bytes behind the transport's header, want %d", at, 28+before)
	}
}

// answering is a carrier whose replies a test makes from the calls.
type answering struct {
	xid    uint32
	calls  int
	answer func(n int, call *oncrpc.Call) ([]byte, error) // n counts the calls from 1
}

func (a *answering) XID() uint32 { a.xid++; return a.xid }

func (a *answering) Call(_ context.Context, call *oncrpc.Call) (*oncrpc.Reply, error) {
	a.calls++
	b, err := a.answer(a.calls, call)
	if err != nil {
		return nil, err
	}
	call.Reply = oncrpc.Reply{Message: b}
	return &call.Reply, nil
}

// created returns the response to a creation request (RFC 2203 §5.2.3.1).
func created(t *testing.T, xid uint32, verf oncrpc.OpaqueAuth, res gss.InitRes) []byte {
	t.Helper()
	head := oncrpc.NewReply(xid, oncrpc.Success)
	head.Body.Reply.Accepted.Verf = verf
	b, err := head.AppendBinary(nil)
	if err == nil {
		b, err = res.AppendBinary(b)
	}
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// A client makes a context only if both mechanisms are complete at the same token, with one handle,
// and deletes its side otherwise (RFC 2203 §5.2.2, §5.2.3.1).
func TestEstablishmentAtClient(t *testing.T) {
	const more = gss.StatusContinueNeeded
	verf := oncrpc.OpaqueAuth{Flavor: oncrpc.RPCSecGSS, Body: []byte("micS")}
	// toSend returns a script for one token and the second step.
	toSend := func(token []byte, second gss.Step) func(int, *scripted) (gss.Step, error) {
		return func(n int, s *scripted) (gss.Step, error) {
			if n == 1 {
				return gss.Step{Context: s, Token: token}, nil
			}
			return second, nil
		}
	}
	atOnce := func(_ int, s *scripted) (gss.Step, error) {
		return gss.Step{Context: s, Token: []byte("token"), Complete: true}, nil
	}
	last := func(n int) func(i int, res *gss.InitRes) {
		return func(i int, res *gss.InitRes) {
			if i < n {
				res.Major = more
			}
		}
	}
	for _, tt := range []struct {
		name     string
		script   func(int, *scripted) (gss.Step, error)
		response func(i int, res *gss.InitRes) // changes the i-th
		verf     *oncrpc.OpaqueAuth
		behind   []byte
		text     string // of the error; empty means success
		calls    int
	}{
		{name: "two tokens", calls: 1},
		{name: "one token", script: atOnce, response: func(_ int, r *gss.InitRes) { r.Token = nil }, calls: 1},
		{name: "eight tokens", script: completesAt(9), response: last(8), calls: 8},
		{name: "nine tokens", script: completesAt(10), response: last(9), calls: 8, text: "not complete after 8 tokens"},
		{name: "a handle of 380 bytes", response: func(_ int, r *gss.InitRes) { r.Handle = make([]byte, 380) }, calls: 1},
		{name: "a handle of 381 bytes", response: func(_ int, r *gss.InitRes) { r.Handle = make([]byte, 381) }, calls: 1, text: "handle has 381 bytes"},
		{name: "a token of 128 KiB", script: toSend(make([]byte, 128<<10), gss.Step{Complete: true}), calls: 1},
		{name: "a token of 128 KiB and one", script: toSend(make([]byte, 128<<10+1), gss.Step{}), text: "at most 131072 are sent"},
		{name: "a token of the server of 128 KiB", response: func(_ int, r *gss.InitRes) { r.Token = make([]byte, 128<<10) }, calls: 1},
		{name: "no context", script: func(int, *scripted) (gss.Step, error) {
			return gss.Step{Token: []byte("token")}, nil
		}, text: "neither a context nor an error"},
		{name: "an error with a context", script: func(_ int, s *scripted) (gss.Step, error) {
			return gss.Step{Context: s}, errors.New("no ticket")
		}, text: "no ticket"},
		{name: "no token", script: toSend(nil, gss.Step{}), text: "the mechanism has none"},
		{name: "complete, and the server has a token", script: atOnce, calls: 1, text: "goes on after that of the client"},
		{name: "complete, and the server goes on", script: atOnce, response: func(_ int, r *gss.InitRes) {
			r.Token, r.Major = nil, more
		}, calls: 1, text: "goes on after that of the client"},
		{name: "the server alone is complete", script: toSend([]byte("token"), gss.Step{}), calls: 1, text: "the mechanism of the client is not"},
		{name: "complete, with a token for the server", script: toSend([]byte("token"), gss.Step{Complete: true, Token: []byte("more")}), calls: 1, text: "the mechanism of the client is not"},
		{name: "another handle", script: completesAt(9), response: func(i int, r *gss.InitRes) {
			r.Major, r.Handle = more, []byte{byte(i)}
		}, calls: 2, text: "changed the handle"},
		{name: "AUTH_NONE with the checksum", verf: &oncrpc.OpaqueAuth{Flavor: oncrpc.AuthNone, Body: []byte("micS")}, calls: 1, text: "flavour AUTH_NONE"},
		{name: "bytes behind the response", behind: make([]byte, 4), calls: 1, text: "rpc_gss_init_res"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			mech := &scripted{script: completesAt(2), letters: letters{own: "C", peer: "S"}}
			if tt.script != nil {
				mech.script = tt.script
			}
			conn := &answering{answer: func(n int, call *oncrpc.Call) ([]byte, error) {
				if prog, vers, proc, _ := oncrpc.Procedure(call.Inline); prog != testProgram || vers != 7 || proc != 0 && call.Inline[39] != byte(gss.ProcData) {
					t.Errorf("call of %d, %d, %d", prog, vers, proc)
				}
				switch proc := gss.Proc(call.Inline[39]); {
				case proc == gss.ProcData:
					return append(auth(words(nil, call.XID(), 1, 0), oncrpc.RPCSecGSS, verf.Body), words(nil, 0)...), nil
				case proc == gss.ProcDestroy:
					return auth(words(nil, call.XID(), 1, 0), oncrpc.RPCSecGSS, append(verf.Body, 0, 0, 0, 0)), nil
				case proc == gss.ProcInit != (n == 1):
					t.Errorf("request %d is %v", n, proc)
				}
				res := gss.InitRes{Handle: []byte("handle"), SeqWindow: 5, Token: []byte("welcome")}
				if tt.response != nil {
					tt.response(n, &res)
				}
				v := verf
				if tt.verf != nil {
					v = *tt.verf
				}
				b := append(created(t, call.XID(), v, res), tt.behind...)
				if tt.text == "" && call.MaxReply < len(b)+400-4 {
					t.Errorf("room for %d bytes, and %d came with a short checksum", call.MaxReply, len(b))
				}
				return b, nil
			}}
			c, err := gss.NewCarrier(conn, mech, &gss.CarrierConfig{Service: gss.None})
			if err != nil {
				t.Fatal(err)
			}
			b, err := oncrpc.NewCall(c.XID(), testProgram, 7, 1, oncrpc.None()).AppendBinary(nil)
			if err != nil {
				t.Fatal(err)
			}
			_, err = c.Call(soon(t), &oncrpc.Call{Message: oncrpc.Message{Inline: b}})
			if (err == nil) != (tt.text == "") || err != nil && !strings.Contains(err.Error(), tt.text) {
				t.Errorf("%v, want an error with %q", err, tt.text)
			}
			made, calls := 0, tt.calls
			if len(mech.tokens) > 0 && !(len(mech.tokens) == 1 && tt.name == "no context") {
				made = 1
			}
			if tt.text == "" {
				calls++ // the caller's own
			}
			if conn.calls != calls {
				t.Errorf("%d calls, want %d", conn.calls, calls)
			}
			_ = c.Close(soon(t))
			if mech.deleted != made {
				t.Errorf("deleted %d times, want %d", mech.deleted, made)
			}
		})
	}
}

// If the connection is lost, an establishment begins again with a new context, for three attempts
// at most. No token is sent twice.
func TestEstablishmentBeginsAgain(t *testing.T) {
	for _, tt := range []struct{ losses, begun int }{{0, 1}, {1, 2}, {2, 3}, {3, 3}} {
		mech := &scripted{letters: letters{own: "C", peer: "S"}, script: func(n int, s *scripted) (gss.Step, error) {
			return gss.Step{Context: s, Token: []byte{byte(n)}, Complete: true}, nil
		}}
		sent := map[string]bool{}
		conn := &answering{answer: func(n int, call *oncrpc.Call) ([]byte, error) {
			token := string(call.Inline[len(call.Inline)-4:])
			if sent[token] {
				t.Errorf("the token %x is sent twice", token)
			}
			if sent[token] = true; n <= tt.losses {
				_, err := call.Renew(t.Context())
				if err == nil {
					t.Fatal("there is a further message")
				}
				return nil, &oncrpc.CallError{XID: call.XID(), MayHaveRun: true, Err: err}
			}
			return words(nil, call.XID(), 1, 1, 1, uint32(oncrpc.AuthStatTooWeak)), nil
		}}
		c, err := gss.NewCarrier(conn, mech, nil)
		if err != nil {
			t.Fatal(err)
		}
		b, err := oncrpc.NewCall(c.XID(), testProgram, 7, 1, oncrpc.None()).AppendBinary(nil)
		if err != nil {
			t.Fatal(err)
		}
		_, err = c.Call(soon(t), &oncrpc.Call{Message: oncrpc.Message{Inline: b}})
		var failed *oncrpc.CallError
		if !errors.As(err, &failed) || failed.MayHaveRun || errors.Is(err, oncrpc.ErrAuth) == (tt.losses == 3) {
			t.Errorf("%d losses: %v", tt.losses, err)
		}
		if len(mech.tokens) != tt.begun || conn.calls != tt.begun || mech.deleted != tt.begun {
			t.Errorf("%d losses: begun %d times with %d calls, and deleted %d times, want %d", tt.losses, len(mech.tokens), conn.calls, mech.deleted, tt.begun)
		}
	}
}

// A carrier refuses what it cannot protect, and protects with Integrity by default.
func TestCarrierConfig(t *testing.T) {
	wire := &listener{h: gss.NewHandler(oncrpc.HandlerFunc(echo), &letters{own: "S", peer: "C"}, nil)}
	mech := &letters{own: "C", peer: "S"}
	if _, err := gss.NewCarrier(wire, mech, &gss.CarrierConfig{Service: 4}); err == nil || !strings.Contains(err.Error(), "Service is 4") {
		t.Errorf("service 4: %v", err)
	}
	c, err := gss.NewCarrier(wire, mech, nil)
	if err != nil {
		t.Fatal(err)
	}
	good := func() []byte {
		b, err := oncrpc.NewCall(c.XID(), testProgram, 7, 1, oncrpc.None()).AppendBinary(nil)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	withVerifier := good()
	withVerifier[35] = 1
	withCred := good()
	withCred[27] = 1
	reply := good()
	reply[7] = 1
	for name, call := range map[string]*oncrpc.Call{
		"nil": nil, "a reply": {Message: oncrpc.Message{Inline: reply}},
		"a short header": {Message: oncrpc.Message{Inline: good()[:36]}},
		"a credential":   {Message: oncrpc.Message{Inline: withCred}},
		"a verifier":     {Message: oncrpc.Message{Inline: withVerifier}},
		"an item in the header": {Message: oncrpc.Message{Inline: good(), Items: []xdr.Item{
			{Position: 36, Inline: 36, Data: make([]byte, 4)},
		}}},
	} {
		var ce *oncrpc.CallError
		if _, err := c.Call(soon(t), call); !errors.As(err, &ce) || ce.MayHaveRun || !errors.Is(err, oncrpc.ErrMessage) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if len(wire.calls) != 0 {
		t.Errorf("%d messages were sent", len(wire.calls))
	}
	if _, err := c.Call(soon(t), &oncrpc.Call{Message: oncrpc.Message{Inline: good()}}); err != nil {
		t.Fatal(err)
	}
	if service := wire.calls[1][47]; gss.Service(service) != gss.Integrity {
		t.Errorf("the service is %d", service)
	}
	if err := c.Close(soon(t)); err != nil || len(wire.calls) != 3 {
		t.Errorf("Close: %v, after %d messages", err, len(wire.calls))
	}
	if err := c.Close(soon(t)); err != nil || len(wire.calls) != 3 {
		t.Errorf("Close again: %v, after %d messages", err, len(wire.calls))
	}
}
