package gss_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/gss"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/gss/gsstest"
)

// destroying is a carrier to a Handler. It counts the calls of RPCSEC_GSS_DESTROY, and answers them
// by destroy, if that is not nil.
type destroying struct {
	wired
	destroy func(call *oncrpc.Call) (*oncrpc.Reply, error)
	sent    int
}

func (d *destroying) Call(ctx context.Context, call *oncrpc.Call) (*oncrpc.Reply, error) {
	if call.Inline[39] == byte(gss.ProcDestroy) {
		if d.sent++; d.destroy != nil {
			return d.destroy(call)
		}
	}
	return d.wired.Call(ctx, call)
}

// newDestroying returns a Carrier of a user over a destroying.
func newDestroying(t *testing.T, mech gss.Initiator, acceptor gss.Acceptor, service gss.Service) (*gss.Carrier, *destroying) {
	t.Helper()
	d := &destroying{wired: wired{listener: listener{h: gss.NewHandler(oncrpc.HandlerFunc(echo), acceptor, nil)}}}
	c, err := gss.NewCarrier(d, mech, &gss.CarrierConfig{Service: service})
	if err != nil {
		t.Fatal(err)
	}
	return c, d
}

// callArgs makes a call that the server echoes.
func callArgs(t *testing.T, c *gss.Carrier) error {
	t.Helper()
	_, err := c.Call(soon(t), &oncrpc.Call{Message: oncrpc.Message{Inline: plainCall(t, c.XID(), "args")}})
	return err
}

// Close destroys the context that is in use, but none that the server has refused: the server does
// not have it (RFC 2203 §5.4).
func TestCloseDestroysOnlyContextsThatTheServerHas(t *testing.T) {
	realm := gsstest.NewRealm(2)
	c, d := newDestroying(t, realm.Initiator("alice", "s"), realm.Acceptor(), gss.Integrity)
	d.data = func(n int, call *oncrpc.Call) (*oncrpc.Reply, error) {
		if n == 1 {
			return denied(call, oncrpc.AuthStatCredProblem)
		}
		return d.listener.Call(t.Context(), call)
	}
	if err := callArgs(t, c); err != nil {
		t.Fatal(err)
	}
	if err := c.Close(soon(t)); err != nil || d.sent != 1 {
		t.Errorf("%v, %d calls of RPCSEC_GSS_DESTROY, want 1", err, d.sent)
	}
}

// The error of Close is the reason why the server may still have the context. A second
// RPCSEC_GSS_DESTROY would have a number that the server has seen, so it is not sent.
func TestCloseReportsWhyAContextIsNotDestroyed(t *testing.T) {
	for _, tt := range []struct {
		name    string
		destroy func(call *oncrpc.Call) (*oncrpc.Reply, error)
		is      error
		text    string
	}{
		{name: "the connection is lost", destroy: func(call *oncrpc.Call) (*oncrpc.Reply, error) {
			err := call.Again(t.Context())
			if err == nil {
				t.Error("RPCSEC_GSS_DESTROY is sent again")
			}
			return nil, &oncrpc.CallError{XID: call.XID(), MayHaveRun: true, Err: err}
		}, text: "RPCSEC_GSS_DESTROY is not sent again"},
		{name: "a refusal", destroy: func(call *oncrpc.Call) (*oncrpc.Reply, error) {
			return denied(call, oncrpc.AuthStatTooWeak)
		}, is: oncrpc.ErrAuth, text: "AUTH_TOOWEAK"},
		{name: "half a reply", destroy: func(call *oncrpc.Call) (*oncrpc.Reply, error) {
			call.Reply = oncrpc.Reply{Message: words(nil, call.XID(), 1)}
			return &call.Reply, nil
		}, text: "reply to RPCSEC_GSS_DESTROY"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			realm := gsstest.NewRealm(2)
			c, d := newDestroying(t, realm.Initiator("alice", "s"), realm.Acceptor(), gss.Integrity)
			d.destroy = tt.destroy
			if err := callArgs(t, c); err != nil {
				t.Fatal(err)
			}
			err := c.Close(soon(t))
			if err == nil || !strings.Contains(err.Error(), tt.text) || tt.is != nil && !errors.Is(err, tt.is) {
				t.Errorf("%v, want %q", err, tt.text)
			}
		})
	}
	t.Run("no checksum", func(t *testing.T) {
		fail := map[string]bool{}
		c, d := newDestroying(t, &letters{own: "C", peer: "S", fail: fail}, &letters{own: "S", peer: "C"}, gss.None)
		if err := callArgs(t, c); err != nil {
			t.Fatal(err)
		}
		fail["GetMIC"] = true
		if err := c.Close(soon(t)); err == nil || !strings.Contains(err.Error(), "GSS_GetMIC") || d.sent != 0 {
			t.Errorf("%v, %d calls of RPCSEC_GSS_DESTROY", err, d.sent)
		}
	})
}

// A verifier has at most 400 bytes (RFC 5531 §8.2): a call whose checksum is longer is not sent.
func TestLongestChecksum(t *testing.T) {
	for size, ok := range map[int]bool{400: true, 401: false} {
		own := strings.Repeat("c", size-len("mic"))
		c, d := newDestroying(t, &letters{own: own, peer: "S"}, &letters{own: "S", peer: own}, gss.None)
		err := callArgs(t, c)
		if ok && err != nil || !ok && (err == nil || !strings.Contains(err.Error(), "a verifier has at most 400")) {
			t.Errorf("a checksum of %d bytes: %v", size, err)
		}
		if sent := len(d.calls) > 1; sent != ok {
			t.Errorf("a checksum of %d bytes: %d messages were sent", size, len(d.calls))
		}
		_ = c.Close(soon(t))
	}
}

// A call may have run in a context that the server has lost. Its error still says so if the
// mechanism fails in the next context.
func TestMechanismFailsAfterLostContext(t *testing.T) {
	fail := map[string]bool{}
	c, d := newDestroying(t, &letters{own: "C", peer: "S", fail: fail}, &letters{own: "S", peer: "C"}, gss.None)
	d.data = func(_ int, call *oncrpc.Call) (*oncrpc.Reply, error) {
		fail["GetMIC"] = true
		return denied(call, oncrpc.AuthStatCtxProblem)
	}
	var ce *oncrpc.CallError
	if err := callArgs(t, c); !errors.As(err, &ce) || !ce.MayHaveRun {
		t.Errorf("%v; want one that may have run", err)
	}
	_ = c.Close(soon(t))
}

// A Handler with Required refuses calls of other RPC versions and incomplete headers itself: the
// next Handler sees only calls that are protected (RFC 5531 §9).
func TestRequiredRefusesOtherVersionsAndHalfHeaders(t *testing.T) {
	realm := gsstest.NewRealm(2)
	h := gss.NewHandler(oncrpc.HandlerFunc(func(r *oncrpc.Request) { t.Errorf("served: %x", r.Message); echo(r) }),
		realm.Acceptor(), &gss.HandlerConfig{Required: gss.Integrity})
	p := newPeer(t, h, realm, "192.0.2.1:1000")
	p.connect("alice")
	b := p.start(1, p.cred(gss.ProcData, 1, gss.None))
	b[11] = 3 // the RPC version
	if got := p.result(auth(b, oncrpc.RPCSecGSS, p.mic(b))); got != "RPC_MISMATCH" {
		t.Errorf("RPC version 3: %s", got)
	}
	if got := p.result(auth(auth(words(nil, 9, 0, 3, testProgram, testVersion, 1), oncrpc.AuthNone, nil), oncrpc.AuthNone, nil)); got != "RPC_MISMATCH" {
		t.Errorf("RPC version 3 without RPCSEC_GSS: %s", got)
	}
	if got := p.result(words(nil, 10, 0, 2)); got != "GARBAGE_ARGS" {
		t.Errorf("half a header: %s", got)
	}
}
