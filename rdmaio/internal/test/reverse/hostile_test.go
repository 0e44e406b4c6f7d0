package reverse

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/peertest"
	"github.com/rpcrdma/rpcrdma/internal/rdmaiotest"
	"github.com/rpcrdma/rpcrdma/internal/rpctest"
	"github.com/rpcrdma/rpcrdma/rdmaio"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// rawCallee is a raw client of a server that may call it, after a first good Call.
func rawCallee(t *testing.T, cfg rdmaio.Config) (*peertest.Peer, *rdmaio.Conn) {
	t.Helper()
	w := rdmaiotest.New(t)
	var conn *rdmaio.Conn
	served := make(chan struct{}, 100)
	w.Serve(rdmaio.HandlerFunc(func(r *rdmaio.Request) {
		if conn == nil {
			conn = r.Conn().(*rdmaio.Conn)
		}
		rpctest.Quick(nil).ServeRPC(r)
		served <- struct{}{}
	}), &cfg)
	p := w.DialRaw(t)
	p.Send(peertest.Bytes(t, peertest.Msg("")))
	if p.Message(peertest.Patience) == nil {
		t.Fatal("the first Call was not answered")
	}
	<-served
	conn.AllowReverse()
	return p, conn
}

// A server gets bad answers to its Calls: the RPC fails with the name of the rule, and the
// connection stays up and serves the next forward Call. An ERROR belongs to a reverse Call only if
// it has its XID (T73). Only messages that may be Calls are answered by header errors (R123).
func TestBadReverseReplyFailsItsCall(t *testing.T) {
	const xid = 0xcafe0001 // as the forward Calls have
	rpc := rpctest.ReplyHeader(xid).Buf
	put := func(b []byte, at int, v uint32) []byte {
		b = bytes.Clone(b)
		binary.BigEndian.PutUint32(b[at:], v)
		return b
	}
	reply := func(proc uint32, lists string, rest []byte) []byte {
		return append(binary.BigEndian.AppendUint32(peertest.Bytes(t, peertest.Head), proc), append(peertest.Bytes(t, lists), rest...)...)
	}
	none := strings.Repeat("00000000 ", 3)
	for _, c := range []struct {
		name   string
		reply  []byte
		want   string // part of the error; "ok"; "" for a timeout, as the message is dropped
		errors bool   // it is answered with ERROR
	}{
		{"good", reply(0, none, rpc), "ok", false},
		{"T62: unknown XID", put(put(reply(0, none, rpc), 0, 7), 28, 7), "", false},
		{"T28: other XID in the RPC message", reply(0, none, put(rpc, 0, 9)), "XID of the RPC message is 0x9", false},
		{"T66: a write list that was not offered", reply(0, "00000000 00000001 00000000 00000000 00000000", rpc), "1 elements returned, 0 offered", false},
		{"a reply chunk that was not offered", reply(1, "00000000 00000000 00000001 00000001 00000011 00000080 00000000 00000000", nil), "1 elements returned, 0 offered", false},
		{"T70: read list in a Reply", reply(0, peertest.ReadSegment(20, "00000001", 8, "0000000000000000")+none, rpc), "read list of 1 segments", false},
		{"T73: ERROR for another XID", put(reply(4, "00000002", nil), 0, 7), "", false},
		{"T72: ERR_CHUNK", reply(4, "00000002", nil), "ERR_CHUNK", false},
		{"R119: ERR_VERS", reply(4, "00000001 00000002 00000003", nil), "supports versions 2 to 3", false},
		{"R121: unknown error code", reply(4, "0000004d", nil), "code 77", false},
		{"no Reply to anybody: 4 bytes", reply(0, none, rpc[:4]), "", true},
		{"lists that are no XDR", reply(0, "00000002 00000000 00000000", rpc), "", true},
		{"T110: DONE", reply(3, "", nil), "", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p, conn := rawCallee(t, rdmaio.Config{ReverseCredits: 2})
				ctx, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond)
				defer cancel()
				done := make(chan error, 1)
				go func() {
					_, err := conn.Call(ctx, rpctest.NullCall(xid, 40))
					done <- err
				}()
				if got, want := p.Message(peertest.Patience), peertest.Bytes(t, "cafe0001 00000001 00000002 00000000"+none); !bytes.HasPrefix(got, want) {
					t.Fatalf("Call %v, want %v", got, want)
				}
				p.Send(c.reply)
				if c.errors {
					if got := p.Message(peertest.Patience); len(got) != 20 || got[15] != 4 {
						t.Errorf("answer %v", got)
					}
				}
				// A forward Call with the same XID, before the other is done or after.
				p.Send(peertest.Bytes(t, peertest.Msg("")))
				if got := p.Message(peertest.Patience); len(got) != 28+24 || got[11] != 32 {
					t.Errorf("the forward Call was answered with %v", got)
				}
				err := <-done
				switch {
				case c.want == "ok" && err != nil:
					t.Error(err)
				case c.want == "" && !errors.Is(err, context.DeadlineExceeded):
					t.Errorf("the message was not dropped: %v", err)
				case c.want != "ok" && c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
					t.Errorf("error %v, want one about %q", err, c.want)
				}
				var ce *rdmaio.CallError
				// The peer has not run a Call that it answers by ERR_VERS (R114).
				unknown := strings.Contains(c.name, "ERR_VERS")
				if err != nil && (!errors.As(err, &ce) || ce.MayHaveRun == unknown) {
					t.Errorf("%v: want MayHaveRun %v", err, !unknown)
				}
				if conn.Err() != nil {
					t.Errorf("the connection ended: %v", conn.Err())
				}
			})
		})
	}
}

// Credits of the reverse direction at the server: one Call before the first Reply, then the granted
// number, at most the requested one. Forward grants do not change it (R127, R128, R131, R266; T3,
// T4, T16).
func TestReverseDirectionHasItsOwnCredits(t *testing.T) {
	p, conn := rawCallee(t, rdmaio.Config{ReverseCredits: 3, Credits: 5})
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 100)
	for xid := range uint32(20) {
		go func() {
			_, err := conn.Call(ctx, rpctest.NullCall(xid, 40))
			done <- err
		}()
	}
	var out [][]byte // Calls that came
	expect := func(n int, why string) {
		t.Helper()
		for len(out) < n {
			m := p.Message(peertest.Patience)
			if m == nil {
				t.Fatalf("%s: %d Calls, want %d", why, len(out), n)
			}
			out = append(out, m)
		}
		if m := p.Message(3 * time.Millisecond); m != nil {
			t.Fatalf("%s: a Call too many: %x", why, m)
		}
	}
	grant := func(n uint32) {
		xid := binary.BigEndian.Uint32(out[0])
		out = out[1:]
		b := append(bytes.Clone(peertest.Bytes(t, peertest.Head)), make([]byte, 16)...)
		binary.BigEndian.PutUint32(b, xid)
		binary.BigEndian.PutUint32(b[8:], n)
		p.Send(append(b, rpctest.ReplyHeader(xid).Buf...))
		if err := <-done; err != nil {
			t.Fatal(err)
		}
	}
	expect(1, "R128: before the first Reply")
	grant(2)
	expect(2, "a grant of 2")
	p.Send(peertest.Bytes(t, peertest.Msg("")))
	if got := p.Message(peertest.Patience); len(got) != 28+24 || got[11] != 5 {
		t.Errorf("T16: the forward Call, which asks for 32, was answered with %v", got)
	}
	expect(2, "T16: a forward Call is no grant")
	grant(0)
	expect(1, "T3: 0 is 1")
	grant(0xffffffff)
	expect(3, "T4: a huge grant counts as the requested number")
	cancel()
	for range 20 - 3 {
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	}
	rdmaiotest.AwaitStats(t, conn, func(st *rdmaio.Stats) bool {
		return st.Reverse.Calls == 6 && st.Reverse.InFlight == 3 && st.ZeroGrants == 1 && st.OverGrants == 1 && conn.Err() == nil
	})
}

// A client that invalidates a key by a reverse Reply has no right to, offered or not: the
// connection is lost (RFC 8797 §4.1).
func TestReverseReplyMayEndNoKey(t *testing.T) {
	p, conn := rawCallee(t, rdmaio.Config{ReverseCredits: 2, ReverseChunks: true, RemoteInvalidate: 1})
	done := make(chan error, 1)
	go func() {
		_, err := conn.Call(context.Background(), rpctest.ReadCall(1, 0, make([]byte, 4096)))
		done <- err
	}()
	call := p.Message(peertest.Patience)
	if len(call) < 44 {
		t.Fatalf("Call %v", call)
	}
	key := binary.BigEndian.Uint32(call[28:])
	if _, err := p.QP.PostSend([]verbs.SendWR{{WRID: 1 << 33, Opcode: verbs.SendWithInvalidate, InvalidateRKey: key}}); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err == nil {
		t.Error("the Call went well")
	}
	<-conn.Done() // by us, or by the provider, which does not expect the invalidation
}

// R282: credentials of either direction are a part of its messages, which arrive as they were sent.
// The transport keeps none of them, and a handler sees only its own caller's.
func TestCredentialsTravelBothWays(t *testing.T) {
	w := rdmaiotest.New(t)
	withCred := func(flavor uint32, body string) *rdmaio.Call {
		e := &rpctest.Encoder{}
		e.Words(5, 0, 2, 100003, 4, 0, flavor)
		e.Opaque("", []byte(body))
		e.Words(0, 0)
		return &rdmaio.Call{Message: e.Message()}
	}
	forward, reverse := withCred(1, "alice at client"), withCred(7, "a user of another flavour")
	seen := make(chan []byte, 2)
	see := func(r *rdmaio.Request) {
		seen <- bytes.Clone(r.Message)
		rpctest.Quick(nil).ServeRPC(r)
	}
	b := rpctest.NewBoth(w, rdmaio.HandlerFunc(see), rdmaio.HandlerFunc(see), rdmaio.Config{}, rdmaio.Config{})
	for range 2 {
		for _, c := range []struct {
			conn *rdmaio.Conn
			call *rdmaio.Call
		}{{b.Client, forward}, {b.Server, reverse}} {
			if _, err := c.conn.Call(context.Background(), c.call); err != nil {
				t.Fatal(err)
			}
			if got := <-seen; !bytes.Equal(got, c.call.Inline) {
				t.Errorf("%x came, %x was sent", got, c.call.Inline)
			}
		}
	}
	b.Quiet(t)
}

// slowDial is a device whose Dial returns when a Call of the peer was served.
type slowDial struct {
	verbs.Device
	served <-chan string
	got    string
}

func (d *slowDial) Dial(ctx context.Context, addr string, qp verbs.QueuePair, params *verbs.ConnParams) (*verbs.ConnInfo, error) {
	info, err := d.Device.Dial(ctx, addr, qp, params)
	if err == nil {
		select {
		case d.got = <-d.served:
		case <-time.After(peertest.Patience):
		}
	}
	return info, err
}

// A peer calls at once, before our Dial has returned: the handler can identify the caller.
func TestPeerMayCallDuringDial(t *testing.T) {
	w := rdmaiotest.New(t)
	ln, err := w.Server.Listen(t.Context(), w.ListenAddr)
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	defer wg.Wait()
	defer ln.Close()
	p := peertest.New(t, w.Server)
	wg.Go(func() {
		if p.Accept(ln, nil) {
			p.Send(peertest.Bytes(t, peertest.Msg("")))
		}
	})
	served := make(chan string, 1)
	dev := &slowDial{Device: w.Client, served: served}
	c, err := rdmaio.Dial(t.Context(), dev, ln.Addr(), &rdmaio.Config{ReverseCredits: 1, ReverseHandler: rdmaio.HandlerFunc(func(r *rdmaio.Request) {
		served <- r.Conn().RemoteAddr()
		rpctest.Quick(nil).ServeRPC(r)
	})})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	wg.Wait()
	if dev.got != ln.Addr() || c.RemoteAddr() == "" {
		t.Errorf("the peer's address during Dial: %q, after: %q; dialed: %q", dev.got, c.RemoteAddr(), ln.Addr())
	}
}
