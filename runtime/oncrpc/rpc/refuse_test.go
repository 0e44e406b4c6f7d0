package rpc_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rpcrdma/rpcrdma/examples/filestore/store"
	"github.com/rpcrdma/rpcrdma/rdmaio"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/rpc"
	"github.com/rpcrdma/rpcrdma/runtime/xdr"
)

// bogus is a refusal with an invalid status.
var bogus = &oncrpc.ReplyError{Accept: 99}

// The caller gets the refusal that RFC 5531 §9 has for each error of a procedure, and for
// procedures, versions and programs that are not served (R328).
func TestErrorsBecomeRefusals(t *testing.T) {
	outcomes := []struct {
		name string
		err  error              // of the procedure
		want *oncrpc.ReplyError // nil: none
		told bool               // HandlerConfig.Failed is
		res  store.ReadRes      // of the procedure
		cred *oncrpc.OpaqueAuth // of the caller
		prog *oncrpc.Program    // called
		proc uint32             // called; 0 is ProcRead
		args xdr.Value          // nil: right ones
		is   error              // what the caller can ask for
		ran  bool               // it may have
	}{
		{name: "plain error", err: errors.New("the disk is full"), want: &oncrpc.ReplyError{Accept: oncrpc.SystemErr}, told: true, is: oncrpc.ErrSystem, ran: true},
		{name: "sentinel", err: oncrpc.ErrGarbageArgs, want: &oncrpc.ReplyError{Accept: oncrpc.GarbageArgs}, is: oncrpc.ErrGarbageArgs},
		{name: "refusal", err: oncrpc.Refused(oncrpc.AuthStatRejectedCred), want: &oncrpc.ReplyError{Reply: oncrpc.Denied, Reject: oncrpc.AuthError, Auth: oncrpc.AuthStatRejectedCred}, is: oncrpc.ErrAuth},
		{name: "of another server", err: &rpc.Error{Err: oncrpc.Refused(oncrpc.AuthStatRejectedCred)}, want: &oncrpc.ReplyError{Accept: oncrpc.SystemErr}, told: true, is: oncrpc.ErrSystem, ran: true},
		{name: "no such status", err: bogus, want: &oncrpc.ReplyError{Accept: oncrpc.SystemErr}, told: true, is: oncrpc.ErrSystem, ran: true},
		{name: "zero refusal", err: new(oncrpc.ReplyError), want: &oncrpc.ReplyError{Accept: oncrpc.SystemErr}, told: true, is: oncrpc.ErrSystem, ran: true},
		{name: "unusable results", res: store.ReadRes{OK: store.ReadOK{Data: make([]byte, store.MaxData+1)}}, want: &oncrpc.ReplyError{Accept: oncrpc.SystemErr}, told: true, is: oncrpc.ErrSystem, ran: true},
		{name: "program", prog: &oncrpc.Program{Number: 7, Version: 1}, want: &oncrpc.ReplyError{Accept: oncrpc.ProgUnavail}, is: oncrpc.ErrProgUnavail},
		{name: "version", prog: &oncrpc.Program{Number: store.Program, Version: 9}, want: &oncrpc.ReplyError{Accept: oncrpc.ProgMismatch, Range: oncrpc.VersionRange{Low: 1, High: 3}}, is: oncrpc.ErrProgMismatch},
		{name: "procedure", proc: 99, want: &oncrpc.ReplyError{Accept: oncrpc.ProcUnavail}, is: oncrpc.ErrProcUnavail},
		{name: "short arguments", args: new(oncrpc.Void), want: &oncrpc.ReplyError{Accept: oncrpc.GarbageArgs}, is: oncrpc.ErrGarbageArgs},
		{name: "arguments of another type", args: &store.WriteArgs{Data: []byte("much too much")}, want: &oncrpc.ReplyError{Accept: oncrpc.GarbageArgs}, is: oncrpc.ErrGarbageArgs},
		{name: "malformed AUTH_SYS", cred: &oncrpc.OpaqueAuth{Flavor: oncrpc.AuthSys, Body: []byte("zzzz")}, want: &oncrpc.ReplyError{Reply: oncrpc.Denied, Reject: oncrpc.AuthError, Auth: oncrpc.AuthStatBadCred}, is: oncrpc.ErrAuth},
		{name: "AUTH_NONE with a body", cred: &oncrpc.OpaqueAuth{Flavor: oncrpc.AuthNone, Body: []byte("zzzz")}, want: &oncrpc.ReplyError{Reply: oncrpc.Denied, Reject: oncrpc.AuthError, Auth: oncrpc.AuthStatBadCred}, is: oncrpc.ErrAuth},
		{name: "malformed AUTH_SYS, no such program", prog: &oncrpc.Program{Number: 7, Version: 1}, cred: &oncrpc.OpaqueAuth{Flavor: oncrpc.AuthSys}, want: &oncrpc.ReplyError{Reply: oncrpc.Denied, Reject: oncrpc.AuthError, Auth: oncrpc.AuthStatBadCred}, is: oncrpc.ErrAuth},
		{name: "flavour", cred: &oncrpc.OpaqueAuth{Flavor: oncrpc.RPCSecGSS}, want: &oncrpc.ReplyError{Reply: oncrpc.Denied, Reject: oncrpc.AuthError, Auth: oncrpc.AuthStatRejectedCred}, is: oncrpc.ErrAuth},
	}
	for _, tt := range outcomes {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t, "mem")
			var told error
			svc, third := rpc.NewService(storeV1), rpc.NewService(oncrpc.Program{Number: store.Program, Version: 3})
			rpc.Handle(svc, store.ProcRead, func(_ *rpc.Request, _ *store.ReadArgs, res *store.ReadRes) error {
				*res = tt.res
				return tt.err
			})
			w.serve(rpc.NewHandler(&rpc.HandlerConfig{Failed: func(_ *rpc.Request, err error) { told = err }}, svc, third), nil)
			prog, proc, args := storeV1, uint32(store.ProcRead), tt.args
			if tt.prog != nil {
				prog = *tt.prog
			}
			if tt.proc != 0 {
				proc = tt.proc
			}
			if args == nil {
				args = new(store.ReadArgs)
			}
			c := rpc.NewClient(w.dial(nil), prog, nil)
			var res store.ReadRes
			err := c.Call(context.Background(), proc, args, &res, &rpc.Options{Cred: tt.cred})
			var e *rpc.Error
			var got *oncrpc.ReplyError
			if !errors.As(err, &e) || !errors.As(err, &got) || !errors.Is(err, tt.is) {
				t.Fatalf("error %v", err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" || e.MayHaveRun != tt.ran || e.Procedure != proc || e.Program != prog.Number {
				t.Errorf("%#v (-want +got)\n%s", e, diff)
			}
			if (told != nil) != tt.told {
				t.Errorf("the server's Failed function got %v", told)
			}
			if err := rpc.NewClient(w.dial(nil), storeV1, nil).Call(context.Background(), 0, nil, nil, nil); err != nil {
				t.Errorf("procedure 0 afterwards: %v", err)
			}
		})
	}
}

// The server answers messages that no client of this package sends.
func TestBadCalls(t *testing.T) {
	w := newWorld(t, "mem")
	w.serve(rpc.NewHandler(nil, newService()), nil)
	conn := w.dial(nil)
	call := func(words ...uint32) *oncrpc.Header {
		t.Helper()
		e := xdr.NewEncoder(nil)
		for _, v := range append([]uint32{conn.XID(), 0}, words...) {
			_ = (*oncrpc.Uint32)(&v).EncodeXDR(e)
		}
		r, err := conn.Call(context.Background(), &rdmaio.Call{Message: rdmaio.Message{Inline: e.Bytes()}})
		if err != nil {
			t.Fatal(err)
		}
		m := new(oncrpc.Header)
		if err := m.UnmarshalBinary(r.Message); err != nil {
			t.Fatal(err)
		}
		return m
	}
	if m := call(3, store.Program); m.Body.Reply.Rejected.Stat != oncrpc.RPCMismatch || m.Body.Reply.Stat != oncrpc.Denied ||
		m.Body.Reply.Rejected.MismatchInfo != (oncrpc.VersionRange{Low: 2, High: 2}) {
		t.Errorf("RPC version 3: %+v", m.Body.Reply)
	}
	for name, words := range map[string][]uint32{
		"nothing": nil, "version only": {2}, "no credential": {2, store.Program, 1, 0}, "credential of 404 bytes": {2, store.Program, 1, 0, 0, 404},
		"bytes behind procedure 0": {2, store.Program, 1, 0, 0, 0, 0, 0, 7},
	} {
		if m := call(words...); m.Body.Reply.Stat != oncrpc.Accepted || m.Body.Reply.Accepted.Data.Stat != oncrpc.GarbageArgs {
			t.Errorf("%s: %+v", name, m.Body.Reply)
		}
	}
	exchange(t, rpc.NewClient(conn, storeV1, nil), true)
}

// reply answers each call with a message that it makes from the call.
func reply(with func(xid uint32) []byte) rdmaio.Handler {
	return rdmaio.HandlerFunc(func(r *rdmaio.Request) {
		xid, _, _ := oncrpc.Peek(r.Message)
		r.Reply(rdmaio.Message{Inline: with(xid)}, nil)
	})
}

// The client refuses invalid replies, and reports that the procedure may have run.
func TestBadReplies(t *testing.T) {
	success := func(verf oncrpc.OpaqueAuth, results ...byte) func(uint32) []byte {
		return func(xid uint32) []byte {
			m := oncrpc.NewReply(xid, oncrpc.Success)
			m.Body.Reply.Accepted.Verf = verf
			b, _ := m.AppendBinary(nil)
			return append(b, results...)
		}
	}
	var x *xdr.Error
	sys, err := (&oncrpc.AuthSysParms{MachineName: []byte("here"), UID: 7}).Auth()
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name string
		with func(uint32) []byte
		cred oncrpc.OpaqueAuth
		is   error
		as   any
		text string // a part of the error; of nil: there is none
	}{
		{name: "right", with: success(oncrpc.None(), 0, 0, 0, 0, 0, 0, 0, 9)},
		{name: "short verifier for AUTH_SYS", with: success(oncrpc.OpaqueAuth{Flavor: oncrpc.AuthShort, Body: []byte("abcd")}, 0, 0, 0, 0, 0, 0, 0, 9), cred: sys},
		{name: "short verifier for nothing", with: success(oncrpc.OpaqueAuth{Flavor: oncrpc.AuthShort}, 0, 0, 0, 0, 0, 0, 0, 9), is: oncrpc.ErrVerf, text: "AUTH_SHORT"},
		{name: "GSS verifier", with: success(oncrpc.OpaqueAuth{Flavor: oncrpc.RPCSecGSS}, 0, 0, 0, 0, 0, 0, 0, 9), cred: sys, is: oncrpc.ErrVerf, text: "RPCSEC_GSS"},
		{name: "no results", with: success(oncrpc.None()), as: &x, text: "results: "},
		{name: "too much", with: success(oncrpc.None(), 0, 0, 0, 0, 0, 0, 0, 9, 0, 0, 0, 0), as: &x, text: "results: "},
		{name: "half a header", with: func(xid uint32) []byte { b, _ := oncrpc.NewReply(xid, 0).AppendBinary(nil); return b[:12] }, as: &x, text: "header of the reply: "},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t, "mem")
			w.serve(reply(tt.with), nil)
			c := rpc.NewClient(w.dial(nil), storeV1, &rpc.ClientConfig{Cred: tt.cred})
			var res store.WriteRes
			err := c.Call(context.Background(), store.ProcWrite, new(store.WriteArgs), &res, nil)
			if tt.text == "" {
				if err != nil || res.Count != 9 {
					t.Errorf("%d, %v", res.Count, err)
				}
				return
			}
			var e *rpc.Error
			if !errors.As(err, &e) || !e.MayHaveRun || !strings.Contains(err.Error(), tt.text) {
				t.Fatalf("error %v", err)
			}
			if tt.is != nil && !errors.Is(err, tt.is) || tt.as != nil && !errors.As(err, tt.as) {
				t.Errorf("error %v", err)
			}
		})
	}
}

// A server decides by the credential of a call, and ClientConfig.CheckVerf checks the verifier of
// the reply.
func TestServerDecidesByTheCredential(t *testing.T) {
	w := newWorld(t, "mem")
	svc := rpc.NewService(storeV1)
	rpc.Handle(svc, store.ProcWrite, func(r *rpc.Request, _ *store.WriteArgs, res *store.WriteRes) error {
		who, err := r.AuthSys()
		if err == nil {
			res.Count = who.UID
		}
		return err
	})
	w.serve(rpc.NewHandler(nil, svc), nil)
	conn := w.dial(nil)
	sys, err := (&oncrpc.AuthSysParms{MachineName: []byte("here"), UID: 1000, GIDs: []uint32{1, 2}}).Auth()
	if err != nil {
		t.Fatal(err)
	}
	strange := errors.New("no verifier is good enough")
	for _, tt := range []struct {
		name string
		cfg  rpc.ClientConfig
		opt  *rpc.Options
		uid  uint32
		auth oncrpc.AuthStat
		is   error
	}{
		{name: "AUTH_SYS", cfg: rpc.ClientConfig{Cred: sys}, uid: 1000},
		{name: "of one call", opt: &rpc.Options{Cred: &sys}, uid: 1000},
		{name: "nothing", auth: oncrpc.AuthStatTooWeak},
		{name: "malformed", cfg: rpc.ClientConfig{Cred: oncrpc.OpaqueAuth{Flavor: oncrpc.AuthSys, Body: sys.Body[:9]}}, auth: oncrpc.AuthStatBadCred},
		{name: "verifier", cfg: rpc.ClientConfig{Cred: sys, CheckVerf: func(_, _ *oncrpc.OpaqueAuth) error { return strange }}, is: strange},
	} {
		var res store.WriteRes
		err := rpc.NewClient(conn, storeV1, &tt.cfg).Call(context.Background(), store.ProcWrite, new(store.WriteArgs), &res, tt.opt)
		var refused *oncrpc.ReplyError
		switch {
		case tt.is != nil:
			if !errors.Is(err, tt.is) {
				t.Errorf("%s: %v", tt.name, err)
			}
		case tt.auth != 0:
			if !errors.As(err, &refused) || refused.Auth != tt.auth {
				t.Errorf("%s: %v, want %v", tt.name, err, tt.auth)
			}
		case err != nil || res.Count != tt.uid:
			t.Errorf("%s: user %d, %v", tt.name, res.Count, err)
		}
	}
}

// Errors found before anything is sent report that the procedure has not run.
func TestNotSent(t *testing.T) {
	w := newWorld(t, "mem")
	w.serve(rpc.NewHandler(nil, newService()), nil)
	c := rpc.NewClient(w.dial(nil), storeV1, nil)
	gone, cancel := context.WithCancel(context.Background())
	cancel()
	for name, tt := range map[string]struct {
		ctx  context.Context
		args xdr.Value
		opt  *rpc.Options
		is   error
	}{
		"places without a binding": {args: new(store.WriteArgs), opt: &rpc.Options{Results: [][]byte{make([]byte, 9)}}, is: rpc.ErrOptions},
		"too long a name":          {args: &store.WriteArgs{Name: make([]byte, store.MaxName+1)}, is: xdr.ErrBound},
		"too long a credential":    {args: new(store.WriteArgs), opt: &rpc.Options{Cred: &oncrpc.OpaqueAuth{Body: make([]byte, 401)}}, is: xdr.ErrBound},
		"cancelled":                {ctx: gone, args: new(store.WriteArgs), is: context.Canceled},
	} {
		ctx := context.Background()
		if tt.ctx != nil {
			ctx = tt.ctx
		}
		err := c.Call(ctx, store.ProcWrite, tt.args, new(store.WriteRes), tt.opt)
		var e *rpc.Error
		if !errors.As(err, &e) || e.MayHaveRun || !errors.Is(err, tt.is) {
			t.Errorf("%s: %v", name, err)
		}
	}
	exchange(t, c, true)
}

// An error for ERR_CHUNK lists the causes that are possible for this call, with the sizes, and no
// others.
func TestNoRoom(t *testing.T) {
	w := newWorld(t, "mem")
	w.serve(rpc.NewHandler(nil, newService()), &rdmaio.Config{MaxReadBytes: 10_000})
	c := rpc.NewClient(w.dial(inline4096()), storeV1, nil)
	if err := c.Call(context.Background(), store.ProcWrite, &store.WriteArgs{Data: pattern(9000)}, new(store.WriteRes), nil); err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		proc      uint32
		args, res xdr.Value
		opt       *rpc.Options
		want      rdmaio.RefusedError
		text      []string
		not       string
	}{
		"reply, no room": {
			store.ProcRead, new(store.ReadArgs), new(store.ReadRes), &rpc.Options{ReplyBuf: make([]byte, 100)},
			rdmaio.RefusedError{ReplyRoom: 4096 - 28},
			[]string{"longer than the 4068 bytes that come inline"},
			"read chunks",
		},
		"reply, little room": {
			store.ProcRead, new(store.ReadArgs), new(store.ReadRes), &rpc.Options{ReplyBuf: make([]byte, 8000)},
			rdmaio.RefusedError{ReplyRoom: 8000, ReplyChunk: true},
			[]string{"longer than the 8000 bytes of ReplyBuf"},
			"read chunks",
		},
		"result": {
			store.ProcRead, new(store.ReadArgs), new(store.ReadRes), &rpc.Options{Results: [][]byte{make([]byte, 7000)}},
			rdmaio.RefusedError{ReplyRoom: 4096 - 28 - 24, Results: 1},
			[]string{"longer than its buffer, one of 1 in Results"},
			"read chunks",
		},
		"arguments": {
			store.ProcWrite, &store.WriteArgs{Data: pattern(10_001)}, new(store.WriteRes), nil,
			rdmaio.RefusedError{ReplyRoom: 4096 - 28, ReadBytes: 10_001, ReadChunks: 1},
			[]string{"10001 bytes in 1 read chunk", "Config.MaxReadBytes"},
			"Results",
		},
	} {
		err := c.Call(context.Background(), tt.proc, tt.args, tt.res, tt.opt)
		var got *rdmaio.RefusedError
		var peer *rdmaio.PeerError
		if !errors.As(err, &got) || !errors.As(err, &peer) {
			t.Errorf("%s: %v", name, err)
			continue
		}
		tt.want.Peer = peer
		if *got != tt.want {
			t.Errorf("%s: %+v, want %+v", name, *got, tt.want)
		}
		for _, text := range tt.text {
			if !strings.Contains(err.Error(), text) {
				t.Errorf("%s: %q is not in: %v", name, text, err)
			}
		}
		if strings.Contains(err.Error(), tt.not) {
			t.Errorf("%s: names %q, an impossible cause: %v", name, tt.not, err)
		}
	}
}

// A call without an answer ends with its context, or with the connection.
func TestNoAnswer(t *testing.T) {
	w := newWorld(t, "mem")
	svc := rpc.NewService(storeV1)
	ended := make(chan error, 1)
	rpc.HandleAsync(svc, store.ProcRead, func(r *rpc.Request, _ *store.ReadArgs, _ *store.ReadRes, answer func(error)) {
		go func() { // R278: what it waits for never comes
			<-r.Context().Done()
			ended <- context.Cause(r.Context())
			answer(r.Context().Err())
		}()
	})
	rpc.Handle(svc, store.ProcWrite, func(r *rpc.Request, args *store.WriteArgs, _ *store.WriteRes) error {
		if len(args.Data) > 0 {
			go func() { _ = r.Conn().(*rdmaio.Conn).Close() }()
			<-r.Context().Done()
		}
		return rpc.ErrDrop
	})
	w.serve(rpc.NewHandler(nil, svc), nil)

	conn := w.dial(nil)
	c := rpc.NewClient(conn, storeV1, nil)
	for _, proc := range []uint32{store.ProcRead, store.ProcWrite} {
		if err := c.Call(context.Background(), 0, nil, nil, nil); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Millisecond)
		defer cancel()
		args := xdr.Value(new(store.ReadArgs))
		if proc == store.ProcWrite {
			args = new(store.WriteArgs)
		}
		err := c.Call(ctx, proc, args, nil, nil)
		var e *rpc.Error
		if !errors.Is(err, context.DeadlineExceeded) || !errors.As(err, &e) || !e.MayHaveRun {
			t.Errorf("procedure %d: %v", proc, err)
		}
	}
	err := c.Call(context.Background(), store.ProcWrite, &store.WriteArgs{Data: []byte{1}}, nil, nil)
	var e *rpc.Error
	if !errors.As(err, &e) || !e.MayHaveRun || conn.Err() == nil {
		t.Errorf("after the end of the connection: %v; the connection: %v", err, conn.Err())
	}
	if why := <-ended; why == nil {
		t.Error("the procedure's context ended without a reason")
	}
}
