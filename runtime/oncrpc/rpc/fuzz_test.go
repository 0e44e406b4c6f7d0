package rpc_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"testing"

	"github.com/rpcrdma/rpcrdma/examples/filestore/store"
	"github.com/rpcrdma/rpcrdma/internal/growth"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/rpc"
	"github.com/rpcrdma/rpcrdma/runtime/xdr"
)

// justified is the memory that a message of n bytes may take, in bytes.
func justified(n int) uint64 { return 64<<10 + 16*uint64(n) }

// answers is the Responder of a Call that a fuzz target makes up, and the Conn of its client.
type answers struct {
	oncrpc.Responder
	oncrpc.Conn
	replies [][]byte
	drops   int
	reports int
}

func (*answers) Peer() oncrpc.Peer        { return oncrpc.Peer{Addr: "192.0.2.1:9"} }
func (*answers) Room() ([]int, int)       { return nil, 1 << 20 }
func (*answers) Done() <-chan struct{}    { return nil }
func (*answers) Context() context.Context { return context.Background() }
func (*answers) Reserve(int) bool         { return true }
func (a *answers) Report(error)           { a.reports++ }
func (a *answers) Drop(done func(error))  { a.drops++; done(nil) }
func (a *answers) Reply(m oncrpc.Message, done func(error)) {
	var b []byte
	for _, part := range m.Gather(nil, nil) {
		b = append(b, part...)
	}
	a.replies = append(a.replies, b)
	if done != nil {
		done(nil)
	}
}

// responder hides the methods of Conn, which has some names of Responder.
type responder struct{ *answers }

func (r responder) Conn() oncrpc.Conn { return r.answers }

// FuzzHandler passes any Call to a Handler, as it comes from a carrier. Each is answered once, with
// the status of RFC 5531 §9 for it, and a procedure runs only for arguments that encode to the
// bytes that came.
func FuzzHandler(f *testing.F) {
	call := func(prog, vers, proc uint32, cred oncrpc.OpaqueAuth, args xdr.Value) []byte {
		b, _ := oncrpc.NewCall(7, prog, vers, proc, cred).AppendBinary(nil)
		e := xdr.NewEncoder(b)
		if args != nil {
			_ = args.EncodeXDR(e)
		}
		return e.Bytes()
	}
	write := &store.WriteArgs{Name: []byte("name"), Offset: 5, Data: []byte("12345")}
	sys, _ := (&oncrpc.AuthSysParms{MachineName: []byte("host"), GIDs: []uint32{1, 2}}).Auth()
	good := call(store.Program, 1, store.ProcWrite, oncrpc.None(), write)
	at := bytes.Index(good, []byte("12345"))
	for _, b := range [][]byte{
		good, call(store.Program, 1, store.ProcRead, sys, &store.ReadArgs{Name: []byte("n"), Count: 9}),
		call(store.Program, 1, store.ProcNull, oncrpc.None(), nil), call(store.Program, 1, 0, sys, write),
		call(store.Program, 1, store.ProcRead, oncrpc.OpaqueAuth{Flavor: oncrpc.AuthSys, Body: []byte("1234")}, &store.ReadArgs{}),
		call(store.Program, 1, 99, oncrpc.None(), nil), call(store.Program, 2, 1, oncrpc.None(), nil), call(7, 1, 1, oncrpc.None(), nil),
		call(store.Program, 1, 1, oncrpc.OpaqueAuth{Flavor: oncrpc.RPCSecGSS}, write), call(store.Program, 4, 1, oncrpc.OpaqueAuth{Flavor: 9}, write),
		good[:41], good[:24], good[:8], append(good[:11:11], 3), append(good[:7:7], 1), append(good[:11:11], append([]byte{3}, good[12:]...)...),
	} {
		f.Add(b, 0, 0, uint32(0))
		f.Add(append(b, 0, 0, 0, 0), at, 5, uint32(0))
	}
	f.Add(good, at, 5, uint32(0))
	f.Add(good, at, 8, uint32(4))
	f.Add(good, at-4, 5, uint32(0))
	var ran []byte // what the procedure got
	svc, third := rpc.NewService(storeV1), rpc.NewService(oncrpc.Program{Number: store.Program, Version: 3})
	rpc.Handle(svc, store.ProcWrite, func(r *rpc.Request, args *store.WriteArgs, res *store.WriteRes) (err error) {
		ran, err = args.MarshalBinary()
		res.Count = uint32(len(args.Data))
		return err
	})
	rpc.Handle(svc, store.ProcRead, func(r *rpc.Request, args *store.ReadArgs, res *store.ReadRes) error {
		ran, _ = args.MarshalBinary()
		if p, err := r.AuthSys(); err == nil { // it proves nothing, but it can be decoded
			if back, err := p.Auth(); err != nil || !bytes.Equal(back.Body, r.Cred().Body) {
				return fmt.Errorf("%x encodes to %x, %v", r.Cred().Body, back.Body, err)
			}
		} else {
			return err
		}
		res.OK.Data = args.Name
		return nil
	})
	h := rpc.NewHandler(nil, svc, third)
	f.Fuzz(func(t *testing.T, b []byte, at, size int, align uint32) {
		if len(b) < 8 {
			return // carriers pass nothing shorter
		}
		in := bytes.Clone(b)
		r := &oncrpc.Request{Padding: oncrpc.Padding{Align: align}}
		if at > 0 && size > 0 && size <= len(b) && at <= len(b)-size { // as a carrier passes them
			r.Placed = []xdr.Item{{Position: uint64(at), Data: in[at : at+size]}}
		}
		var a *answers
		if err := growth.Within(justified(len(b)), func() {
			ran, a = nil, new(answers)
			r.Message, r.Responder = in, responder{a}
			h.ServeRPC(r)
		}); err != nil {
			t.Fatal(err)
		}
		if len(a.replies) != 1 || a.drops != 0 {
			t.Fatalf("%d replies, %d times dropped", len(a.replies), a.drops)
		}
		var head oncrpc.Header
		dec := xdr.NewDecoder(a.replies[0], nil)
		if err := head.DecodeXDR(dec); err != nil || head.XID != binary.BigEndian.Uint32(b) || head.Body.Type != oncrpc.MsgReply {
			t.Fatalf("the reply %x: %v", a.replies[0], err)
		}
		got := oncrpc.CheckReply(&head, head.XID)
		var call oncrpc.Header
		dec = xdr.NewDecoder(b, nil)
		bad := call.DecodeXDR(dec)
		body := &call.Body.Call
		var want []error // the status is one of these
		switch {
		case len(b) >= 12 && binary.BigEndian.Uint32(b[8:]) != oncrpc.Version:
			want = []error{oncrpc.ErrRPCMismatch}
		case bad != nil:
			want = []error{oncrpc.ErrGarbageArgs}
		case oncrpc.CheckCred(&body.Cred) != nil:
			want = []error{oncrpc.ErrAuth}
		case body.Prog != store.Program:
			want = []error{oncrpc.ErrProgUnavail}
		case body.Vers != 1 && body.Vers != 3:
			want = []error{oncrpc.ErrProgMismatch}
		case body.Proc != 0 && (body.Vers == 3 || body.Proc > 2):
			want = []error{oncrpc.ErrProcUnavail}
		default:
			want = []error{nil, oncrpc.ErrGarbageArgs, oncrpc.ErrAuth}
		}
		if ran != nil {
			if !bytes.HasSuffix(b, ran) || len(ran) != len(b)-dec.Offset() || align != 0 {
				t.Fatalf("the procedure ran with %x, of %x", ran, b)
			}
			if p := r.Placed; len(p) > 0 && (body.Proc != store.ProcWrite || !itemOf(ran, len(b)-len(ran), at, size)) {
				t.Fatalf("the item at %d of %d bytes is no argument of %x", at, size, b)
			}
		}
		for _, w := range want {
			if got == w || w != nil && errors.Is(got, w) {
				return
			}
		}
		t.Fatalf("%x: the reply is %v, want %v", b, got, want)
	})
}

// itemOf reports whether the data of the arguments of a Write, which begin at base, are at a place
// and have a size, with or without padding.
func itemOf(args []byte, base, at, size int) bool {
	var w store.WriteArgs
	if w.UnmarshalBinary(args) != nil {
		return false
	}
	begin := base + len(args) - (len(w.Data)+3)&^3
	return at == begin && (size == len(w.Data) || size == (len(w.Data)+3)&^3)
}

// canned is a carrier whose server answers every Call in the same way.
type canned struct {
	oncrpc.Carrier
	reply oncrpc.Reply
}

func (c *canned) XID() uint32 { return 7 }
func (c *canned) Call(_ context.Context, call *oncrpc.Call) (*oncrpc.Reply, error) {
	call.Reply = c.reply
	return &call.Reply, nil
}

// FuzzClient answers a call of a Client with any reply, and with results that the server placed.
// The caller gets results that encode to the bytes that came, or an error with the reason.
func FuzzClient(f *testing.F) {
	reply := func(e *oncrpc.ReplyError, results xdr.Value) []byte {
		b, _ := e.Header(7).AppendBinary(nil)
		enc := xdr.NewEncoder(b)
		if results != nil {
			_ = results.EncodeXDR(enc)
		}
		return enc.Bytes()
	}
	success := new(oncrpc.ReplyError)
	read := &store.ReadRes{OK: store.ReadOK{EOF: true, Data: []byte("12345678")}}
	good := reply(success, read)
	for _, b := range [][]byte{
		good, reply(success, &store.ReadRes{Status: store.NoSuchFile}), good[:len(good)-4], good[:20], good[:4],
		reply(&oncrpc.ReplyError{Accept: oncrpc.ProgMismatch, Range: oncrpc.VersionRange{Low: 1, High: 2}}, nil),
		reply(&oncrpc.ReplyError{Accept: oncrpc.SystemErr}, nil), reply(oncrpc.Refused(oncrpc.AuthStatTooWeak), nil),
		reply(&oncrpc.ReplyError{Reply: oncrpc.Denied, Reject: oncrpc.RPCMismatch, Range: oncrpc.VersionRange{Low: 2, High: 2}}, nil),
		reply(&oncrpc.ReplyError{Accept: oncrpc.GarbageArgs}, nil), append(bytes.Clone(good), 0, 0, 0, 0), append([]byte{0, 0, 0, 8}, good[4:]...),
	} {
		f.Add(b, -1, uint32(0))
	}
	f.Add(good[:len(good)-8], 8, uint32(0))
	f.Add(good[:len(good)-8], 5, uint32(0))
	f.Add(good, -1, uint32(4))
	f.Fuzz(func(t *testing.T, b []byte, placed int, align uint32) {
		in := bytes.Clone(b)
		c := &canned{reply: oncrpc.Reply{Message: in, Padding: oncrpc.Padding{Align: align}}}
		opt := &rpc.Options{}
		const room = 1 << 16
		if placed >= 0 && placed <= room {
			opt.Results = [][]byte{bytes.Repeat([]byte{'x'}, room)}
			c.reply.Items = []xdr.Item{{Data: opt.Results[0][:placed:placed]}}
		}
		client := rpc.NewClient(c, storeV1, nil)
		var res store.ReadRes
		var err error
		if err := growth.Within(justified(len(b)), func() {
			err = client.Call(context.Background(), store.ProcRead, &store.ReadArgs{}, &res, opt)
		}); err != nil {
			t.Fatal(err)
		}
		var head oncrpc.Header
		dec := xdr.NewDecoder(b, nil)
		bad := head.DecodeXDR(dec)
		if err != nil {
			var e *rpc.Error
			if !errors.As(err, &e) || e.Procedure != store.ProcRead {
				t.Fatalf("%v is no *rpc.Error of the call", err)
			}
			if refused := oncrpc.CheckReply(&head, 7); bad == nil && align == 0 && refused != nil {
				var want, got *oncrpc.ReplyError
				if errors.As(refused, &want) && (!errors.As(err, &got) || *got != *want) {
					t.Fatalf("%x: %v, want %v", b, err, refused)
				}
			}
			return
		}
		if bad != nil || head.XID != 7 || align != 0 || oncrpc.CheckReply(&head, 7) != nil {
			t.Fatalf("%x is a success", b)
		}
		want := b[dec.Offset():]
		if opt.Results != nil && c.reply.Items[0].Data != nil && res.Status == 0 {
			n := len(res.OK.Data)
			if n > placed || xdr.Padded(n) < placed || bytes.Count(res.OK.Data, []byte{'x'}) != n {
				t.Fatalf("%d bytes were placed, the result is %q", placed, res.OK.Data)
			}
			want = append(bytes.Clone(want), append(res.OK.Data, make([]byte, -n&3)...)...)
		}
		clear(in)
		if back, err := res.MarshalBinary(); err != nil || !bytes.Equal(back, want) {
			t.Fatalf("the results %x, %v, of %x", back, err, b)
		}
	})
}
