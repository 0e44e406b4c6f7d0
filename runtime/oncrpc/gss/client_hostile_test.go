package gss_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"strings"
	"testing"

	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/gss"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/gss/gsstest"
	"github.com/rpcrdma/rpcrdma/runtime/xdr"
)

// changing is a Handler between the client and a gss.Handler. It changes replies.
type changing struct {
	*gss.Handler
	init, data func(reply []byte) []byte
}

func (c *changing) ServeRPC(r *oncrpc.Request) {
	change := c.data
	if p := r.Message[39]; p == byte(gss.ProcInit) || p == byte(gss.ProcContinueInit) {
		change = c.init
	}
	if change != nil {
		r.Responder = &changer{r.Responder, change}
	}
	c.Handler.ServeRPC(r)
}

type changer struct {
	oncrpc.Responder
	change func([]byte) []byte
}

func (c *changer) Reply(m oncrpc.Message, done func(error)) {
	c.Responder.Reply(oncrpc.Message{Inline: c.change(join(m))}, done)
}

// protectedReply is the offset of protected results in a reply.
const protectedReply = 12 + 8 + (gsstest.MICSize+3)&^3 + 4

// callOnce makes a call with four bytes of arguments, which the server echoes, over a connection
// whose replies are changed.
func callOnce(t testing.TB, service gss.Service, init, data func([]byte) []byte) ([]byte, error) {
	realm := gsstest.NewRealm(2)
	h := &changing{gss.NewHandler(oncrpc.HandlerFunc(echo), realm.Acceptor(), nil), init, data}
	wire := &listener{h: h}
	c, err := gss.NewCarrier(wire, realm.Initiator("alice", "s"), &gss.CarrierConfig{Service: service})
	if err != nil {
		t.Fatal(err)
	}
	b, err := oncrpc.NewCall(c.XID(), testProgram, testVersion, 7, oncrpc.None()).AppendBinary(nil)
	if err != nil {
		t.Fatal(err)
	}
	reply, err := c.Call(soon(t), &oncrpc.Call{Message: oncrpc.Message{Inline: append(b, "args"...)}})
	if err != nil {
		var ce *oncrpc.CallError
		if !errors.As(err, &ce) || ce.XID != 1 {
			t.Errorf("no CallError of the call: %v", err)
		}
		return nil, err
	}
	return reply.Message, nil
}

// Replies that are not what the server must send fail the call, with the rule in the error
// (RFC 2203 §5.2.3.1, §5.3.3.2).
func TestBadReplies(t *testing.T) {
	setWord := func(at int, w uint32) func([]byte) []byte {
		return func(b []byte) []byte { binary.BigEndian.PutUint32(b[at:], w); return b }
	}
	flip := func(at int) func([]byte) []byte {
		return func(b []byte) []byte { b[(len(b)+at)%len(b)] ^= 1; return b }
	}
	edit := func(f func(res *gss.InitRes)) func([]byte) []byte {
		return func(b []byte) []byte {
			var head oncrpc.Header
			var res gss.InitRes
			dec := xdr.NewDecoder(b, nil)
			if err := errors.Join(head.DecodeXDR(dec), res.DecodeXDR(dec)); err != nil {
				t.Fatal(err)
			}
			f(&res)
			out, err := head.AppendBinary(nil)
			if err == nil {
				out, err = res.AppendBinary(out)
			}
			if err != nil {
				t.Fatal(err)
			}
			return out
		}
	}
	for _, tt := range []struct {
		name       string
		service    gss.Service
		init, data func([]byte) []byte
		is         error
		text       string
	}{
		{name: "verifier AUTH_NONE", data: func(b []byte) []byte {
			return append(append(bytes.Clone(b[:12]), make([]byte, 8)...), b[protectedReply-4:]...)
		}, is: oncrpc.ErrVerf, text: "the server answered SUCCESS without protection, verifier AUTH_NONE"},
		{name: "an unprotected failure", data: func(b []byte) []byte {
			return append(append(bytes.Clone(b[:12]), make([]byte, 8)...), 0, 0, 0, byte(oncrpc.SystemErr))
		}, is: oncrpc.ErrVerf, text: "the server answered SYSTEM_ERR without protection"},
		{name: "verifier AUTH_SYS", data: setWord(12, 1), is: oncrpc.ErrVerf, text: "flavour AUTH_SYS"},
		{name: "changed verifier", data: flip(21), is: oncrpc.ErrVerf, text: "§5.3.3.2"},
		{name: "a denial as accepted", data: setWord(8, 1), text: "header of the reply"},
		{name: "another XID", data: setWord(0, 99), text: "reply has XID 0x63"},
		{name: "a call", data: func(b []byte) []byte {
			return append(words(b[:4], 0, 2, testProgram, testVersion, 7), make([]byte, 16)...)
		}, text: "message is CALL"},
		{name: "changed results", service: gss.Integrity, data: flip(protectedReply + 8), is: gss.ErrBody, text: "GSS_VerifyMIC"},
		{name: "changed number", service: gss.Integrity, data: flip(protectedReply + 7), is: gss.ErrBody},
		{name: "changed checksum", service: gss.Integrity, data: flip(-4), is: gss.ErrBody},
		{name: "bytes behind", service: gss.Integrity, data: func(b []byte) []byte { return append(b, 0, 0, 0, 0) }, is: gss.ErrBody},
		{name: "no protection", service: gss.Integrity, data: func(b []byte) []byte { return append(b[:protectedReply], "args"...) }, is: gss.ErrBody},
		{name: "changed encrypted results", service: gss.Privacy, data: flip(-8), is: gss.ErrBody, text: "GSS_Unwrap"},
		{name: "no encryption", service: gss.Privacy, data: func(b []byte) []byte { return opaque(b[:protectedReply], []byte("args")) }, is: gss.ErrBody},
		{name: "results at all", data: func(b []byte) []byte { return b[:8] }, text: "header of the reply"},

		{name: "window 0", init: edit(func(r *gss.InitRes) { r.SeqWindow = 0 }), text: "window is 0"},
		{name: "changed window", init: edit(func(r *gss.InitRes) { r.SeqWindow++ }), is: oncrpc.ErrVerf, text: "window"},
		{name: "no handle", init: edit(func(r *gss.InitRes) { r.Handle = nil }), text: "handle has 0 bytes"},
		{name: "long handle", init: edit(func(r *gss.InitRes) { r.Handle = make([]byte, 381) }), text: "handle has 381 bytes"},
		{name: "long token", init: edit(func(r *gss.InitRes) { r.Token = make([]byte, 128<<10+1) }), text: "token has 131073 bytes"},
		{name: "failure", init: edit(func(r *gss.InitRes) { r.Major, r.Minor = gss.StatusBadMIC, 5 }), text: "0x00060000, minor status 5"},
		{name: "unknown success", init: edit(func(r *gss.InitRes) { r.Major = 2 }), text: "0x00000002"},
		{name: "no token", init: edit(func(r *gss.InitRes) { r.Token = nil }), text: "GSS_Init_sec_context"},
		{name: "goes on", init: edit(func(r *gss.InitRes) { r.Major = gss.StatusContinueNeeded }), text: "the mechanism has none"},
		{name: "verifier of the window", init: flip(21), is: oncrpc.ErrVerf},
		{name: "AUTH_TOOWEAK", init: func(b []byte) []byte { return words(b[:4], 1, 1, 1, 5) }, is: oncrpc.ErrAuth, text: "AUTH_TOOWEAK"},
		{name: "a server that refuses arguments", init: func(b []byte) []byte { return words(b[:4], 1, 0, 0, 0, 4) }, is: oncrpc.ErrGarbageArgs, text: "a server without RPCSEC_GSS answers so"},
		{name: "a server that ignores arguments", init: func(b []byte) []byte { return words(b[:4], 1, 0, 0, 0, 0) }, text: "no results: a server without RPCSEC_GSS answers so"},
		{name: "truncated response", init: func(b []byte) []byte { return b[:len(b)-4] }, text: "rpc_gss_init_res"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			service := tt.service
			if service == 0 {
				service = gss.None
			}
			if reply, err := callOnce(t, service, nil, nil); err != nil || len(reply) != 28 {
				t.Fatalf("unchanged: %x, %v", reply, err)
			}
			_, err := callOnce(t, service, tt.init, tt.data)
			if err == nil || tt.is != nil && !errors.Is(err, tt.is) || !strings.Contains(err.Error(), tt.text) {
				t.Errorf("%v, want %v with %q", err, tt.is, tt.text)
			}
		})
	}
}

// A reply with the verifier of another call is not accepted, so replies cannot be exchanged
// (RFC 2203 §5.3.3.2; R307).
func TestReplyOfAnotherCall(t *testing.T) {
	for _, service := range services {
		realm := gsstest.NewRealm(2)
		var first []byte
		h := &changing{Handler: gss.NewHandler(oncrpc.HandlerFunc(echo), realm.Acceptor(), nil)}
		h.data = func(b []byte) []byte {
			if first == nil {
				first = bytes.Clone(b)
				return b
			}
			copy(first, b[:4]) // with the XID of the second call
			return first
		}
		wire := &listener{h: h}
		c := secure(t, wire, realm.Initiator("alice", "s"), service)
		for i := range 2 {
			b, err := oncrpc.NewCall(c.XID(), testProgram, testVersion, 7, oncrpc.None()).AppendBinary(nil)
			if err != nil {
				t.Fatal(err)
			}
			if _, err = c.Call(soon(t), &oncrpc.Call{Message: oncrpc.Message{Inline: b}}); (i == 1) != errors.Is(err, oncrpc.ErrVerf) {
				t.Errorf("%v, call %d: %v", service, i, err)
			}
		}
		h.data = nil
	}
}

// Every truncation of a reply fails the call.
func TestTruncatedReplies(t *testing.T) {
	for _, service := range services {
		size := 0
		measure := func(b []byte) []byte { size = len(b); return b }
		if _, err := callOnce(t, service, nil, measure); err != nil {
			t.Fatal(err)
		}
		for n := range size {
			if service == gss.None && n >= protectedReply {
				break // the results are package rpc's to decode
			}
			if _, err := callOnce(t, service, nil, func(b []byte) []byte { return b[:n] }); err == nil {
				t.Errorf("%v: %d of %d bytes were accepted", service, n, size)
			}
		}
		if _, err := callOnce(t, service, measure, nil); err != nil {
			t.Fatal(err)
		}
		for n := range size {
			if _, err := callOnce(t, service, func(b []byte) []byte { return b[:n] }, nil); err == nil {
				t.Errorf("creation: %d of %d bytes were accepted", n, size)
			}
		}
	}
}

// FuzzReply changes replies at will: the client neither panics nor takes results that the server
// did not send.
//
//fuzz:floor 400 each execution makes a context
func FuzzReply(f *testing.F) {
	f.Add(uint8(0), false, 21, []byte{1})
	f.Add(uint8(1), false, protectedReply, []byte{0, 0, 0, 8})
	f.Add(uint8(2), false, protectedReply, []byte{0xff, 0xff, 0xff, 0xff})
	f.Add(uint8(1), true, 60, []byte{0, 0, 0, 0, 0, 0, 0, 1})
	f.Fuzz(func(t *testing.T, kind uint8, creation bool, at int, with []byte) {
		service := services[int(kind)%3]
		change := func(b []byte) []byte {
			if at < 0 || at > len(b) {
				return b
			}
			return append(bytes.Clone(b[:at]), append(bytes.Clone(with), b[min(len(b), at+len(with)):]...)...)
		}
		var reply []byte
		var err error
		if creation {
			reply, err = callOnce(t, service, change, nil)
		} else {
			reply, err = callOnce(t, service, nil, change)
		}
		if err != nil || service == gss.None {
			return
		}
		accepted := binary.BigEndian.Uint32(reply[8:]) == 0 && binary.BigEndian.Uint32(reply[20:]) == 0
		if accepted && string(reply[24:]) != "args" {
			t.Errorf("results %x", reply)
		}
	})
}
