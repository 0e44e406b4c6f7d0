package gss_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/rpcrdma/rpcrdma/examples/filestore/store"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/gss"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/gss/gsstest"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/replycache"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/rpc"
)

var program = oncrpc.Program{Number: store.Program, Version: store.Version1, Bindings: store.DDPBindings()}

// file is a service with one file.
type file struct {
	data    []byte
	writes  atomic.Int64
	caller  atomic.Pointer[gss.Caller]
	wrote   func() // called in WRITE, or nil
	service *rpc.Service
}

func newFile() *file {
	f := &file{service: rpc.NewService(program)}
	rpc.Handle(f.service, store.ProcWrite, func(r *rpc.Request, args *store.WriteArgs, res *store.WriteRes) error {
		f.caller.Store(gss.FromContext(r.Context()))
		f.data = bytes.Clone(args.Data)
		f.writes.Add(1)
		res.Count = uint32(len(args.Data))
		if f.wrote != nil {
			f.wrote()
		}
		return nil
	})
	rpc.Handle(f.service, store.ProcRead, func(r *rpc.Request, args *store.ReadArgs, res *store.ReadRes) error {
		f.caller.Store(gss.FromContext(r.Context()))
		res.OK.Data = f.data[:min(int(args.Count), len(f.data))]
		return nil
	})
	return f
}

// handler returns the service's handler, wrapped in a reply cache.
func (f *file) handler() oncrpc.Handler { return replycache.New(rpc.NewHandler(nil, f.service), nil) }

// soon returns a context that ends after patience.
func soon(t testing.TB) context.Context {
	ctx, stop := context.WithTimeout(context.Background(), patience)
	t.Cleanup(stop)
	return ctx
}

// secure returns a Carrier over c. The test closes it at its end.
func secure(t testing.TB, c oncrpc.Carrier, mech gss.Initiator, service gss.Service) *gss.Carrier {
	t.Helper()
	s, err := gss.NewCarrier(c, mech, &gss.CarrierConfig{Service: service})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close(soon(t)) })
	return s
}

func write(t testing.TB, c oncrpc.Carrier, data []byte) error {
	var res store.WriteRes
	return rpc.NewClient(c, program, nil).Call(soon(t), store.ProcWrite, &store.WriteArgs{Name: store.Name("a"), Data: data}, &res, nil)
}

// Bulk data is written and read with each service, over each carrier, with mechanisms that exchange
// any number of tokens. The procedure knows the user, no context is left at either side, and READ
// gets its data with and without memory for it (R305, R306; RFC 8166 §8.2.2).
func TestDataTravelsWithEachService(t *testing.T) {
	for name, connect := range carriers {
		for i, service := range services {
			for tokens := 1 + i%2; tokens <= 4; tokens += 2 {
				t.Run(fmt.Sprintf("%s/%v/%d tokens", name, service, tokens), func(t *testing.T) {
					f, realm := newFile(), gsstest.NewRealm(tokens)
					h := gss.NewHandler(f.handler(), realm.Acceptor(), nil)
					var apart atomic.Int64 // items and memory for results that came apart
					front := oncrpc.HandlerFunc(func(r *oncrpc.Request) {
						results, _ := r.Room()
						apart.Add(int64(len(r.Placed) + len(results)))
						h.ServeRPC(r)
					})
					c := secure(t, connect(t, front, nil), realm.Initiator("alice@REALM", "nfs@server"), service)
					data := bytes.Repeat([]byte("0123456789"), 30_001)
					if err := write(t, c, data); err != nil {
						t.Fatal(err)
					}
					if !bytes.Equal(f.data, data) {
						t.Error("other data was written")
					}
					want := gss.Caller{Principal: "alice@REALM", Mechanism: gsstest.OID, Acceptor: "nfs@server", Service: service}
					if got := f.caller.Load(); got == nil || *got != want {
						t.Errorf("the caller is %+v, want %+v", got, want)
					}
					for _, opt := range []*rpc.Options{
						nil,
						{Results: [][]byte{make([]byte, len(data))}},
						{ReplyBuf: make([]byte, rpc.ReplyHead+8+4+4+len(data)+3)},
					} {
						var res store.ReadRes
						err := rpc.NewClient(c, program, nil).CallAtMost(soon(t), store.ProcRead, &store.ReadArgs{Count: 1 << 20}, &res, opt, 310_000)
						if err != nil || !bytes.Equal(res.OK.Data, data) {
							t.Errorf("%+v: %d bytes, %v", opt != nil, len(res.OK.Data), err)
						}
					}
					if n, want := apart.Load(), service == gss.None && name != "tcp"; (n > 0) != want {
						t.Errorf("%d items apart from their messages", n)
					}
					if s := h.Stats(); s.Contexts != 1 || s.Incomplete != 0 || s.Replays != 0 || s.BadChecksums != 0 {
						t.Errorf("%+v", s)
					}
					if err := c.Close(soon(t)); err != nil {
						t.Error(err)
					}
					if s := h.Stats(); s.Contexts != 0 || realm.Live() != 0 { // RFC 2203 §5.4
						t.Errorf("after Close: %+v, %d contexts are left", s, realm.Live())
					}
					if err := write(t, c, data); !errors.Is(err, oncrpc.ErrClosed) {
						t.Errorf("after Close: %v", err)
					}
				})
			}
		}
	}
}

// A service refuses calls with too little protection, and a Handler does so for all services.
func TestTooLittleProtectionIsRefused(t *testing.T) {
	realm := gsstest.NewRealm(2)
	sys, err := (&oncrpc.AuthSysParms{}).Auth()
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name     string
		least    gss.Service // of the rpc.Service
		required gss.Service // of the Handler
		used     gss.Service // 0: AUTH_SYS
		refused  bool
	}{
		{name: "AUTH_SYS, nothing required"},
		{name: "none, nothing required", used: gss.None},
		{name: "service: none", least: gss.None, used: gss.None},
		{name: "service: AUTH_SYS", least: gss.None, refused: true},
		{name: "service: too weak", least: gss.Privacy, used: gss.Integrity, refused: true},
		{name: "service: enough", least: gss.Integrity, used: gss.Privacy},
		{name: "handler: AUTH_SYS", required: gss.None, refused: true},
		{name: "handler: too weak", required: gss.Privacy, used: gss.Integrity, refused: true},
		{name: "handler: enough", required: gss.Integrity, used: gss.Integrity},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := newFile()
			if tt.least != 0 {
				f.service.Allow = func(r *rpc.Request) error { return gss.Require(r.Context(), tt.least) }
			}
			refusals := 0
			h := gss.NewHandler(f.handler(), realm.Acceptor(), &gss.HandlerConfig{Required: tt.required, Refused: func(*oncrpc.Request, error) { refusals++ }})
			conn := overTCP(t, h, nil)
			client := rpc.NewClient(conn, program, &rpc.ClientConfig{Cred: sys})
			if tt.used != 0 {
				client = rpc.NewClient(secure(t, conn, realm.Initiator("alice", "s"), tt.used), program, nil)
			}
			var res store.WriteRes
			err := client.Call(soon(t), store.ProcWrite, &store.WriteArgs{Data: []byte("abc")}, &res, nil)
			var refused *oncrpc.ReplyError
			if tt.refused != (errors.As(err, &refused) && refused.Auth == oncrpc.AuthStatTooWeak) || !tt.refused && err != nil {
				t.Errorf("%v", err)
			}
			if want := "the call had rpc_gss_svc_integrity, and the server may require more"; tt.refused && tt.used == gss.Integrity && !strings.Contains(err.Error(), want) {
				t.Errorf("%v, expected %q", err, want)
			}
			if want := tt.refused && tt.required != 0; (refusals == 1) != want {
				t.Errorf("%d refusals of the Handler", refusals)
			}
			if n := h.InUse(); n != 0 {
				t.Errorf("%d calls use a context after the answer", n)
			}
			// Procedure 0 is always allowed.
			if err := client.Call(soon(t), 0, nil, nil, nil); err != nil {
				t.Errorf("procedure 0: %v", err)
			}
		})
	}
}

// Without a Handler of this package, nothing proves what a credential of flavour RPCSEC_GSS says.
func TestCredentialWithoutHandler(t *testing.T) {
	f := newFile()
	body, err := (&gss.Cred{Version: gss.Version1, V1: gss.CredV1{Service: gss.Privacy, Handle: make([]byte, 16)}}).MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	cred := oncrpc.OpaqueAuth{Flavor: oncrpc.RPCSecGSS, Body: body}
	client := rpc.NewClient(overTCP(t, f.handler(), nil), program, &rpc.ClientConfig{Cred: cred})
	var res store.WriteRes
	err = client.Call(soon(t), store.ProcWrite, &store.WriteArgs{}, &res, nil)
	var refused *oncrpc.ReplyError
	if !errors.As(err, &refused) || refused.Auth != oncrpc.AuthStatRejectedCred || f.writes.Load() != 0 {
		t.Errorf("%v, %d writes", err, f.writes.Load())
	}
	// A server without RPCSEC_GSS refuses a context, and the error says so.
	realm := gsstest.NewRealm(2)
	err = write(t, secure(t, overTCP(t, f.handler(), nil), realm.Initiator("a", "b"), gss.Integrity), nil)
	if !errors.Is(err, oncrpc.ErrAuth) || !strings.Contains(err.Error(), "a server without version 1 of RPCSEC_GSS") || realm.Live() != 0 {
		t.Errorf("%v, %d contexts", err, realm.Live())
	}
	// So does a Carrier for a call that has a credential already.
	c := secure(t, overTCP(t, f.handler(), nil), realm.Initiator("a", "b"), gss.Integrity)
	err = rpc.NewClient(c, program, &rpc.ClientConfig{Cred: cred}).Call(soon(t), 0, nil, nil, nil)
	if !errors.Is(err, oncrpc.ErrMessage) || !strings.Contains(err.Error(), "AUTH_NONE") {
		t.Errorf("%v", err)
	}
}

// A call is made again in a new context when the server has forgotten the old one, or when it has
// expired (RFC 2203 §5.3.3.3), and is executed once.
func TestCallIsMadeAgainInANewContext(t *testing.T) {
	for name, lose := range map[string]func(realm *gsstest.Realm, other func()){
		"evicted": func(_ *gsstest.Realm, other func()) { other() },
		"expired": func(realm *gsstest.Realm, _ func()) { realm.Expire() },
	} {
		for _, service := range services {
			t.Run(name+"/"+service.String(), func(t *testing.T) {
				f, realm := newFile(), gsstest.NewRealm(3)
				h := gss.NewHandler(f.handler(), realm.Acceptor(), &gss.HandlerConfig{MaxContexts: 1})
				conn := overTCP(t, h, nil)
				c := secure(t, conn, realm.Initiator("alice", "s"), service)
				for i := range 5 {
					if err := write(t, c, []byte{byte(i)}); err != nil {
						t.Fatal(err)
					}
					if f.writes.Load() != int64(i+1) || f.data[0] != byte(i) {
						t.Errorf("call %d: %d writes of %d", i, f.writes.Load(), f.data[0])
					}
					lose(realm, func() {
						if err := rpc.NewClient(secure(t, conn, realm.Initiator("bob", "s"), service), program, nil).Call(soon(t), 0, nil, nil, nil); err != nil {
							t.Fatal(err)
						}
					})
				}
			})
		}
	}
}

// A server that refuses each context in turn gets a bounded number of calls. After
// RPCSEC_GSS_CTXPROBLEM they may have run (RFC 2203 §5.3.3.4.1).
func TestRefreshBounded(t *testing.T) {
	for _, why := range []oncrpc.AuthStat{oncrpc.AuthStatCredProblem, oncrpc.AuthStatCtxProblem} {
		t.Run(why.String(), func(t *testing.T) { testRefreshBounded(t, why) })
	}
}

func testRefreshBounded(t *testing.T, why oncrpc.AuthStat) {
	realm := gsstest.NewRealm(2)
	h := gss.NewHandler(newFile().handler(), realm.Acceptor(), nil)
	contexts, calls := 0, 0
	conn := overTCP(t, oncrpc.HandlerFunc(func(r *oncrpc.Request) {
		if r.Message[39] == byte(gss.ProcInit) { // gss_proc in the credential
			contexts++
			h.ServeRPC(r)
			return
		}
		calls++
		xid, _, _ := oncrpc.Peek(r.Message)
		b, _ := oncrpc.NewAuthError(xid, why).AppendBinary(nil)
		r.Reply(oncrpc.Message{Inline: b}, nil)
	}), nil)
	err := write(t, secure(t, conn, realm.Initiator("alice", "s"), gss.Integrity), nil)
	var refused *oncrpc.ReplyError
	var failed *rpc.Error
	if !errors.As(err, &failed) || failed.MayHaveRun != (why == oncrpc.AuthStatCtxProblem) {
		t.Errorf("%v, may have run: %v", err, failed != nil && failed.MayHaveRun)
	}
	if !errors.As(err, &refused) || refused.Auth != why || contexts != 3 || calls != 3 {
		t.Errorf("%v after %d contexts and %d calls", err, contexts, calls)
	}
}
