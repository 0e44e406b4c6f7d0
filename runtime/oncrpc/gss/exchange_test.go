package gss_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/gss"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/gss/gsstest"
)

// plainCall returns a call of procedure 1 with four bytes of arguments.
func plainCall(t *testing.T, xid uint32, args string) []byte {
	t.Helper()
	b, err := oncrpc.NewCall(xid, testProgram, testVersion, 1, oncrpc.None()).AppendBinary(nil)
	if err != nil {
		t.Fatal(err)
	}
	return append(b, args...)
}

// wired is a carrier to a Handler. data, if it is not nil, has the calls of RPCSEC_GSS_DATA.
type wired struct {
	listener
	data func(n int, call *oncrpc.Call) (*oncrpc.Reply, error) // n counts them from 1
	n    int
}

func (w *wired) Call(ctx context.Context, call *oncrpc.Call) (*oncrpc.Reply, error) {
	if w.data == nil || call.Inline[39] != byte(gss.ProcData) {
		return w.listener.Call(ctx, call)
	}
	w.n++
	return w.data(w.n, call)
}

// denied is a reply that refuses a call.
func denied(call *oncrpc.Call, why oncrpc.AuthStat) (*oncrpc.Reply, error) {
	call.Reply = oncrpc.Reply{Message: words(nil, call.XID(), 1, 1, 1, uint32(why))}
	return &call.Reply, nil
}

// A call that is sent again may be answered for any of its transmissions. It holds one sequence
// number only, so a window of one is enough, and the caller gets its Call back as it was, with the
// arguments of the last transmission (RFC 2203 §5.3.3.1).
func TestReplyToAnyTransmission(t *testing.T) {
	for _, service := range services {
		for which := range 2 {
			synctest.Test(t, func(t *testing.T) {
				realm := gsstest.NewRealm(2)
				h := gss.NewHandler(oncrpc.HandlerFunc(echo), realm.Acceptor(), &gss.HandlerConfig{Window: 1})
				w := &wired{listener: listener{h: h}}
				w.data = func(_ int, call *oncrpc.Call) (*oncrpc.Reply, error) {
					var replies [2][]byte
					for i := range replies {
						if i > 0 {
							if err := call.Again(soon(t)); err != nil {
								t.Fatal(err)
							}
						}
						if _, err := w.listener.Call(t.Context(), call); err != nil {
							t.Fatal(err)
						}
						replies[i] = call.Reply.Message
					}
					call.Reply = oncrpc.Reply{Message: replies[which]}
					return &call.Reply, nil
				}
				c, err := gss.NewCarrier(w, realm.Initiator("alice", "s"), &gss.CarrierConfig{Service: service})
				if err != nil {
					t.Fatal(err)
				}
				for range 3 {
					xid := c.XID()
					second := plainCall(t, xid, "args")
					call := &oncrpc.Call{Message: oncrpc.Message{Inline: plainCall(t, xid, "ARGS")}, Results: [][]byte{make([]byte, 8)}, MaxReply: 500, WholeReply: 600}
					call.Renew = func(context.Context) (oncrpc.Message, error) { return oncrpc.Message{Inline: second}, nil }
					reply, err := c.Call(soon(t), call)
					if want := []string{"ARGS", "args"}[which]; err != nil || string(reply.Message[24:]) != want {
						t.Fatalf("%v, reply to transmission %d: %+v, %v", service, which, reply, err)
					}
					if m, err := call.Renew(t.Context()); err != nil || !bytes.Equal(m.Inline, second) || !bytes.Equal(call.Inline, second) || len(call.Results) != 1 || call.MaxReply != 500 || call.WholeReply != 600 {
						t.Errorf("the Call was changed: %+v", call)
					}
				}
				if err := c.Close(soon(t)); err != nil || realm.Live() != 0 {
					t.Errorf("%v, %d contexts are left", err, realm.Live())
				}
			})
		}
	}
}

// The error of a call says that it may have run if any of its transmissions, in any context, may
// have run (RFC 2203 §5.3.3.4.1).
func TestMayHaveRun(t *testing.T) {
	lost := func(call *oncrpc.Call, mayHaveRun bool) (*oncrpc.Reply, error) {
		return nil, &oncrpc.CallError{XID: call.XID(), MayHaveRun: mayHaveRun, Err: errors.New("lost")}
	}
	for _, tt := range []struct {
		name     string
		data     func(n int, call *oncrpc.Call, realm *gsstest.Realm) (*oncrpc.Reply, error)
		refuse   bool // further contexts
		run      bool
		contexts int
	}{
		{name: "not sent", data: func(_ int, call *oncrpc.Call, _ *gsstest.Realm) (*oncrpc.Reply, error) {
			return lost(call, false)
		}, contexts: 1},
		{name: "sent", data: func(_ int, call *oncrpc.Call, _ *gsstest.Realm) (*oncrpc.Reply, error) {
			return lost(call, true)
		}, run: true, contexts: 1},
		{name: "a reply that is none", data: func(_ int, call *oncrpc.Call, _ *gsstest.Realm) (*oncrpc.Reply, error) {
			call.Reply = oncrpc.Reply{Message: words(nil, call.XID()+1, 1, 0, 0, 0, 0)}
			return &call.Reply, nil
		}, run: true, contexts: 1},
		{name: "CREDPROBLEM, then not sent", data: func(n int, call *oncrpc.Call, _ *gsstest.Realm) (*oncrpc.Reply, error) {
			if n == 1 {
				return denied(call, oncrpc.AuthStatCredProblem)
			}
			return lost(call, false)
		}, contexts: 2},
		{name: "CTXPROBLEM, then not sent", data: func(n int, call *oncrpc.Call, _ *gsstest.Realm) (*oncrpc.Reply, error) {
			if n == 1 {
				return denied(call, oncrpc.AuthStatCtxProblem)
			}
			return lost(call, false)
		}, run: true, contexts: 2},
		{name: "CTXPROBLEM, then no context", data: func(_ int, call *oncrpc.Call, _ *gsstest.Realm) (*oncrpc.Reply, error) {
			return denied(call, oncrpc.AuthStatCtxProblem)
		}, refuse: true, run: true, contexts: 2},
		{name: "CREDPROBLEM, then no context", data: func(_ int, call *oncrpc.Call, _ *gsstest.Realm) (*oncrpc.Reply, error) {
			return denied(call, oncrpc.AuthStatCredProblem)
		}, refuse: true, contexts: 2},
		{name: "CREDPROBLEM to the second transmission, then not sent", data: func(n int, call *oncrpc.Call, _ *gsstest.Realm) (*oncrpc.Reply, error) {
			if n > 1 {
				return lost(call, false)
			}
			if err := call.Again(t.Context()); err != nil {
				return nil, err
			}
			return denied(call, oncrpc.AuthStatCredProblem)
		}, run: true, contexts: 2},
		{name: "expired before the second transmission, then not sent", data: func(n int, call *oncrpc.Call, realm *gsstest.Realm) (*oncrpc.Reply, error) {
			if n > 1 {
				return lost(call, false)
			}
			realm.Expire()
			err := call.Again(t.Context())
			if err == nil {
				return nil, errors.New("there is a second transmission")
			}
			return nil, &oncrpc.CallError{XID: call.XID(), MayHaveRun: true, Err: err}
		}, run: true, contexts: 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			realm := gsstest.NewRealm(2)
			contexts := 0
			h := gss.NewHandler(oncrpc.HandlerFunc(echo), realm.Acceptor(), nil)
			w := &wired{listener: listener{h: oncrpc.HandlerFunc(func(r *oncrpc.Request) {
				if gss.Proc(r.Message[39]) == gss.ProcInit {
					if contexts++; contexts > 1 && tt.refuse {
						xid, _, _ := oncrpc.Peek(r.Message)
						r.Reply(oncrpc.Message{Inline: words(nil, xid, 1, 1, 1, uint32(oncrpc.AuthStatTooWeak))}, nil)
						return
					}
				}
				h.ServeRPC(r)
			})}}
			w.data = func(n int, call *oncrpc.Call) (*oncrpc.Reply, error) { return tt.data(n, call, realm) }
			c := secure(t, w, realm.Initiator("alice", "s"), gss.Integrity)
			_, err := c.Call(soon(t), &oncrpc.Call{Message: oncrpc.Message{Inline: plainCall(t, c.XID(), "args")}})
			var ce *oncrpc.CallError
			if !errors.As(err, &ce) || ce.MayHaveRun != tt.run {
				t.Errorf("%v, may have run: %v, want %v", err, ce != nil && ce.MayHaveRun, tt.run)
			}
			if contexts != tt.contexts {
				t.Errorf("%d contexts, want %d", contexts, tt.contexts)
			}
		})
	}
}

// A mechanism that fails before a call is sent fails that call alone. Only a context that has
// expired is replaced.
func TestMechanismFailsBeforeSending(t *testing.T) {
	fail := map[string]bool{}
	wire := &listener{h: gss.NewHandler(oncrpc.HandlerFunc(echo), &letters{own: "S", peer: "C"}, nil)}
	c := secure(t, wire, &letters{own: "C", peer: "S", fail: fail}, gss.None)
	for i, broken := range []bool{false, true, false} {
		fail["GetMIC"] = broken
		_, err := c.Call(soon(t), &oncrpc.Call{Message: oncrpc.Message{Inline: plainCall(t, c.XID(), "args")}})
		var ce *oncrpc.CallError
		if errors.As(err, &ce) != broken || broken && ce.MayHaveRun {
			t.Errorf("call %d: %v", i, err)
		}
	}
	if len(wire.calls) != 3 { // one creation, and two calls
		t.Errorf("%d messages were sent, want 3", len(wire.calls))
	}
}

// A failure that the procedure reports has a verifier and no protected results. The caller gets it
// as it is (RFC 2203 §5.3.3.2).
func TestFailureOfProcedure(t *testing.T) {
	for _, service := range services {
		realm := gsstest.NewRealm(2)
		h := gss.NewHandler(oncrpc.HandlerFunc(func(r *oncrpc.Request) {
			xid, _, _ := oncrpc.Peek(r.Message)
			b, _ := oncrpc.NewReply(xid, oncrpc.SystemErr).AppendBinary(nil)
			r.Reply(oncrpc.Message{Inline: b}, nil)
		}), realm.Acceptor(), nil)
		wire := &listener{h: h}
		c := secure(t, wire, realm.Initiator("alice", "s"), service)
		reply, err := c.Call(soon(t), &oncrpc.Call{Message: oncrpc.Message{Inline: plainCall(t, c.XID(), "args")}})
		if err != nil {
			t.Fatalf("%v: %v", service, err)
		}
		if want := words(nil, 1, 1, 0, 0, 0, uint32(oncrpc.SystemErr)); !bytes.Equal(reply.Message, want) {
			t.Errorf("%v: the caller gets %x, want %x", service, reply.Message, want)
		}
		if n := len(wire.replies[len(wire.replies)-1]); n != protectedReply {
			t.Errorf("%v: the reply has %d bytes, want %d: nothing behind its status", service, n, protectedReply)
		}
	}
}

// A reply of RDMA_MSGP is refused: no checksum says which of its bytes are padding (RFC 8166
// §8.2.2).
func TestPaddedReply(t *testing.T) {
	realm := gsstest.NewRealm(2)
	w := &wired{listener: listener{h: gss.NewHandler(oncrpc.HandlerFunc(echo), realm.Acceptor(), nil)}}
	align := uint32(1)
	w.data = func(_ int, call *oncrpc.Call) (*oncrpc.Reply, error) {
		reply, err := w.listener.Call(t.Context(), call)
		if err == nil {
			reply.Padding = oncrpc.Padding{Align: align, Threshold: 1}
		}
		return reply, err
	}
	c := secure(t, w, realm.Initiator("alice", "s"), gss.None)
	for ; align <= 8; align *= 2 {
		if _, err := c.Call(soon(t), &oncrpc.Call{Message: oncrpc.Message{Inline: plainCall(t, c.XID(), "args")}}); !errors.Is(err, gss.ErrBody) {
			t.Errorf("alignment %d: %v", align, err)
		}
	}
}

// A call whose caller has no further message is not sent again: the connection gets the caller's
// error in place of a message.
func TestCallersRenewFails(t *testing.T) {
	realm, gone := gsstest.NewRealm(2), errors.New("no further message")
	w := &wired{listener: listener{h: gss.NewHandler(oncrpc.HandlerFunc(echo), realm.Acceptor(), nil)}}
	w.data = func(_ int, call *oncrpc.Call) (*oncrpc.Reply, error) {
		m, err := call.Renew(t.Context())
		if err != gone || len(m.Inline) > 0 {
			t.Errorf("a message of %d bytes, %v", len(m.Inline), err)
		}
		return nil, &oncrpc.CallError{XID: call.XID(), MayHaveRun: true, Err: gone}
	}
	c := secure(t, w, realm.Initiator("alice", "s"), gss.Integrity)
	call := &oncrpc.Call{
		Message: oncrpc.Message{Inline: plainCall(t, c.XID(), "args")},
		Renew:   func(context.Context) (oncrpc.Message, error) { return oncrpc.Message{}, gone },
	}
	if _, err := c.Call(soon(t), call); !errors.Is(err, gone) {
		t.Errorf("%v", err)
	}
}

// What a server says about a context that expired, a replay, and arguments that are not protected:
// only the last is in an accepted reply, which has a verifier (RFC 2203 §5.3.3.1 to §5.3.3.3).
func TestAnswersOfServer(t *testing.T) {
	realm := gsstest.NewRealm(2)
	var reported []error
	h := gss.NewHandler(oncrpc.HandlerFunc(echo), realm.Acceptor(), &gss.HandlerConfig{Refused: func(_ *oncrpc.Request, why error) {
		reported = append(reported, why)
	}})
	p := newPeer(t, h, realm, "192.0.2.1:1000")
	p.connect("alice")
	good := p.call(1, 1, gss.None, nil)
	if got := p.result(good); got != "ok" || len(reported) != 0 {
		t.Fatalf("%s, %v", got, reported)
	}
	if got := p.result(good); got != "dropped" || len(reported) != 1 {
		t.Errorf("a replay: %s, %d were reported, want 1", got, len(reported))
	}
	bad := p.call(1, 2, gss.Integrity, p.integ(3, nil))
	if got := p.result(bad); got != "GARBAGE_ARGS" || len(reported) != 2 {
		t.Errorf("another number: %s, %d were reported, want 2", got, len(reported))
	}
	if oncrpc.Flavor(binary.BigEndian.Uint32(p.reply[12:])) != oncrpc.RPCSecGSS || p.mech.VerifyMIC(words(nil, 2), p.reply[20:20+gsstest.MICSize]) != nil {
		t.Errorf("the refusal of arguments has no verifier: %x", p.reply)
	}
	b := p.start(0, p.cred(gss.ProcDestroy, 3, gss.Integrity))
	destroy := auth(b, oncrpc.RPCSecGSS, p.mic(b))
	if got := p.result(destroy); got != "ok" || len(p.reply) != protectedReply {
		t.Errorf("destruction: %s with %d bytes, want %d: its results are void", got, len(p.reply), protectedReply)
	}
	if n := h.InUse(); n != 0 {
		t.Errorf("%d uses are left", n)
	}
	p.connect("alice")
	another := p.call(1, 4, gss.None, nil)
	realm.Expire()
	if got := p.result(another); got != "RPCSEC_GSS_CTXPROBLEM" {
		t.Errorf("a context that has expired: %s", got)
	}
}

// If a user repeats a call, the next Handler sees the same message, whatever the context. The same
// call of another user is another message: a reply cache must not mix them.
func TestMessageNamesPrincipal(t *testing.T) {
	realm := gsstest.NewRealm(2)
	var seen [][]byte
	drop := false
	h := gss.NewHandler(oncrpc.HandlerFunc(func(r *oncrpc.Request) {
		if seen = append(seen, bytes.Clone(r.Message)); drop {
			r.Drop(nil)
			return
		}
		echo(r)
	}), realm.Acceptor(), nil)
	p := newPeer(t, h, realm, "192.0.2.1:1000")
	for _, user := range []string{"alice", "alice", "bob"} {
		p.connect(user)
		p.xid = 1000
		if got := p.result(p.call(1, 1, gss.None, []byte("args"))); got != "ok" {
			t.Fatalf("%s: %s", user, got)
		}
	}
	if !bytes.Equal(seen[0], seen[1]) || bytes.Equal(seen[1], seen[2]) {
		t.Errorf("the messages of alice are %x and %x, that of bob is %x", seen[0], seen[1], seen[2])
	}
	drop = true
	if got := p.result(p.call(1, 2, gss.None, nil)); got != "dropped" || h.InUse() != 0 {
		t.Errorf("%s, and %d uses are left", got, h.InUse())
	}
}
