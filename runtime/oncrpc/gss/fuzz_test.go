package gss_test

import (
	"bytes"
	"runtime"
	"testing"

	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/gss"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/gss/gsstest"
)

// FuzzHandler sends a message with a context's handle, changed at will. The Handler answers or
// drops it once, keeps no use of the context, and a call that is served was made by the owner of
// the context.
//
//fuzz:floor 300 each execution makes a context
func FuzzHandler(f *testing.F) {
	f.Add(uint8(0), 0, []byte{})
	f.Add(uint8(1), 36, []byte{0, 0, 0, 3})
	f.Add(uint8(2), 76, []byte{0, 0, 0, 6, 0, 0, 0, 0})
	f.Add(uint8(3), 48, []byte{0xff, 0xff, 0xff, 0xff})
	f.Add(uint8(4), 28, []byte{0, 0, 1, 0x90})
	for kind := range uint8(20) { // each with each requirement
		f.Add(kind, -1, []byte{})
	}
	f.Fuzz(func(t *testing.T, kind uint8, at int, with []byte) {
		realm := gsstest.NewRealm(2)
		h := gss.NewHandler(oncrpc.HandlerFunc(func(r *oncrpc.Request) {
			if gss.FromContext(r.Context()) == nil { // another flavour
				r.Drop(nil)
				return
			}
			if _, _, proc, _ := oncrpc.Procedure(r.Message); proc != 1 || !bytes.HasSuffix(r.Message, []byte("args")) && kind%5 != 0 {
				t.Errorf("served: %x", r.Message)
			}
			echo(r)
		}), realm.Acceptor(), &gss.HandlerConfig{Required: gss.Service(kind / 5 % 4)})
		p := newPeer(t, h, realm, "192.0.2.1:1000")
		p.connect("alice")
		var b []byte
		switch kind % 5 {
		case 0:
			b = p.call(1, 1, gss.None, []byte("args"))
		case 1:
			b = p.call(1, 1, gss.Integrity, p.integ(1, []byte("args")))
		case 2:
			b = p.call(1, 1, gss.Privacy, p.priv(1, []byte("args")))
		case 3:
			b = p.start(0, p.cred(gss.ProcDestroy, 1, gss.None))
			b = auth(b, oncrpc.RPCSecGSS, p.mic(b))
		default:
			b = opaque(auth(p.start(0, opaque(words(nil, 1, 1, 0, 0), nil)), oncrpc.AuthNone, nil), []byte("token"))
		}
		if at >= 0 && at <= len(b) {
			b = append(b[:at:at], append(append([]byte(nil), with...), b[min(len(b), at+len(with)):]...)...)
		}
		if len(b) >= 8 { // carriers pass nothing shorter
			p.send(t, h, b)
			p.send(t, h, b) // a replay
		}
		if n := h.InUse(); n != 0 {
			t.Errorf("%d uses of contexts are left", n)
		}
		if s := h.Stats(); s.Contexts+s.Incomplete > 2 {
			t.Errorf("%+v", s)
		}
	})
}

// The memory that a message of a stranger takes is bounded by its size: counts in it that promise
// more allocate nothing, and refused contexts leave nothing.
func TestMemoryOfStrangers(t *testing.T) {
	realm := gsstest.NewRealm(2)
	h := gss.NewHandler(oncrpc.HandlerFunc(echo), realm.Acceptor(), nil)
	p := newPeer(t, h, realm, "192.0.2.1:1000")
	p.connect("alice")
	creation := auth(p.start(0, opaque(words(nil, 1, 1, 0, 0), nil)), oncrpc.AuthNone, nil)
	for name, message := range map[string][]byte{
		"token":     append(creation, 0x7f, 0xff, 0xff, 0xff, 1, 2, 3, 4),
		"bad token": opaque(creation, make([]byte, 64)),
		"integrity": p.call(1, 1, gss.Integrity, words(nil, 0x7fffffff, 1, 2, 3)),
		"privacy":   p.call(1, 2, gss.Privacy, words(nil, 0x7fffffff, 1, 2, 3)),
		"handle":    auth(p.start(1, words(nil, 1, 0, 3, 1, 0x7fffffff)), oncrpc.AuthNone, nil),
		"stranger":  auth(p.start(1, opaque(words(nil, 1, 0, 3, 1), make([]byte, 16))), oncrpc.RPCSecGSS, make([]byte, 400)),
	} {
		const times = 100
		var before, after runtime.MemStats
		p.send(t, h, message)
		runtime.ReadMemStats(&before)
		for range times {
			p.send(t, h, message)
		}
		runtime.ReadMemStats(&after)
		if each := (after.TotalAlloc - before.TotalAlloc) / times; each > 16<<10 {
			t.Errorf("%s: a message of %d bytes allocates %d", name, len(message), each)
		}
	}
	if s := h.Stats(); s.Contexts != 1 || s.Incomplete != 0 {
		t.Errorf("%+v", s)
	}
}
