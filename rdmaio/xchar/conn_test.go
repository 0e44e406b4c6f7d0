package xchar_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	wire "github.com/rpcrdma/rpcrdma/gen/xchar"
	"github.com/rpcrdma/rpcrdma/internal/peertest"
	"github.com/rpcrdma/rpcrdma/internal/rdmaiotest"
	"github.com/rpcrdma/rpcrdma/rdmaio"
	"github.com/rpcrdma/rpcrdma/rdmaio/xchar"
)

// everything accepts all changes.
type everything struct{}

func (everything) CutReceiveSize(_, _ uint32) xchar.Decision         { return xchar.Accept }
func (everything) RaiseReceiveSize(_, _ uint32) xchar.Decision       { return xchar.Accept }
func (everything) Invalidation(bool) xchar.Decision                  { return xchar.Accept }
func (everything) Backward(_, _ wire.BackwardSupport) xchar.Decision { return xchar.Accept }

// side returns a Config of version 2 with messages of up to 16384 bytes. With a nil x the side has
// no extension.
func side(t testing.TB, x *xchar.Config, change ...func(*rdmaio.Config)) *rdmaio.Config {
	t.Helper()
	cfg := &rdmaio.Config{Versions: []int{2}, InlineSend: 16384, InlineRecv: 16384, RemoteInvalidate: 1, Continue: -1}
	if x != nil {
		ext, err := xchar.Extension(x)
		if err != nil {
			t.Fatal(err)
		}
		cfg.Extensions = []rdmaio.Extension{ext}
	}
	for _, f := range change {
		f(cfg)
	}
	return cfg
}

// rpc returns an RPC message of n bytes: a Call with typ 0, a Reply with 1.
func rpc(xid, typ uint32, n int) []byte {
	b := make([]byte, n)
	binary.BigEndian.PutUint32(b, xid)
	binary.BigEndian.PutUint32(b[4:], typ)
	return b
}

// server answers a Call with a reply of as many bytes as its third word says.
type server struct {
	once sync.Once
	conn chan *rdmaio.Conn // the first one
}

func (s *server) ServeRPC(r *rdmaio.Request) {
	s.once.Do(func() { s.conn <- r.Conn().(*rdmaio.Conn) })
	r.Reply(rdmaio.Message{Inline: rpc(binary.BigEndian.Uint32(r.Message), 1, max(24, int(binary.BigEndian.Uint32(r.Message[8:]))))}, nil)
}

// pair is both ends of a connection.
type pair struct {
	t      testing.TB
	ctx    context.Context
	client *rdmaio.Conn
	server *rdmaio.Conn
	calls  atomic.Uint64 // made by call
}

// connect makes a connection and a Call.
func connect(t testing.TB, w *rdmaiotest.World, serving, client *rdmaio.Config) *pair {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	t.Cleanup(cancel)
	s := &server{conn: make(chan *rdmaio.Conn, 1)}
	w.Serve(s, serving)
	p := &pair{t: t, ctx: ctx, client: w.Dial(client)}
	p.call(100, 100)
	p.server = <-s.conn
	return p
}

// call makes a Call of n bytes with a reply of reply bytes.
func (p *pair) call(n, reply int) {
	p.t.Helper()
	p.calls.Add(1)
	b := rpc(p.client.XID(), 0, n)
	binary.BigEndian.PutUint32(b[8:], uint32(reply))
	r, err := p.client.Call(p.ctx, &rdmaio.Call{Message: rdmaio.Message{Inline: b}, MaxReply: reply})
	if err != nil || len(r.Message) != reply {
		p.t.Errorf("Call of %d bytes, reply of %d: %v", n, reply, err)
	}
}

// counts returns the server's counts, when it has counted the replies to all calls.
func (p *pair) counts() rdmaio.Stats {
	p.t.Helper()
	for deadline := time.Now().Add(peertest.Patience); ; time.Sleep(time.Millisecond) {
		if s := p.server.Stats(); s.Replies >= p.calls.Load() {
			return s
		}
		if time.Now().After(deadline) {
			p.t.Fatalf("the server has not counted %d replies: %+v", p.calls.Load(), p.server.Stats())
		}
	}
}

// of returns a connection's extension.
func of(t testing.TB, c *rdmaio.Conn) *xchar.Conn {
	t.Helper()
	x, ok := xchar.Of(c)
	if !ok {
		t.Fatal("the connection has no extension")
	}
	return x
}

// await waits until the extension has what f looks for.
func (p *pair) await(c *rdmaio.Conn, what string, f func(x *xchar.Conn) bool) {
	p.t.Helper()
	x := of(p.t, c)
	for {
		changed := x.Changed()
		if f(x) {
			return
		}
		select {
		case <-changed:
		case <-p.ctx.Done():
			p.t.Fatalf("%s: own %+v, peer %+v", what, x.Own(), x.Peer())
		}
	}
}

// terms waits until a connection has terms: the limits of messages follow a characteristic a moment
// later.
func (p *pair) terms(c *rdmaio.Conn, what string, f func(t rdmaio.Terms) bool) {
	p.t.Helper()
	for !f(c.Terms()) {
		if p.ctx.Err() != nil {
			p.t.Fatalf("%s: terms %+v", what, c.Terms())
		}
		time.Sleep(time.Millisecond)
	}
}

// request makes a request of one change, with this result.
func (p *pair) request(c *rdmaio.Conn, v xchar.Value, want xchar.Result) {
	p.t.Helper()
	got, err := of(p.t, c).Request(p.ctx, v)
	if err != nil || !slices.Equal(got, []xchar.Result{want}) {
		p.t.Fatalf("request of %v: %v, %v, want %v", v, got, err, want)
	}
}

// R243, R231, R234 to R236: each side learns the characteristics of the other, which replace the
// sizes of CONNPROP (R239).
func TestConnInit(t *testing.T) {
	rdmaiotest.Each(t, func(t *testing.T, w *rdmaiotest.World) {
		p := connect(t, w, side(t, &xchar.Config{Local: xchar.Characteristics{ReceiveSize: 8192, Backward: wire.BackwardGeneral}}), side(t, &xchar.Config{}))
		p.await(p.client, "the client", func(x *xchar.Conn) bool { return x.Peer().ReceiveSize == 8192 })
		want := xchar.Characteristics{ReceiveSize: 16384, RemoteInvalidation: w.Client.Attributes().RemoteInvalidate, Backward: wire.BackwardNone}
		p.await(p.server, "the server", func(x *xchar.Conn) bool { return x.Peer() == want })
		p.terms(p.client, "the client", func(t rdmaio.Terms) bool { return t.InlineSend == 8192 && t.InlineRecv == 16384 })
		p.terms(p.server, "the server", func(t rdmaio.Terms) bool { return t.InlineSend == 16384 && t.InlineRecv == 8192 })
		if own := of(t, p.client).Own(); own != want {
			t.Errorf("the client has %+v, want %+v", own, want)
		}
	})
}

// T114, R237, R244, R247 to R251: a raise is pending while small Receives are posted. When they are
// used up it is announced, and a message of the new size goes in one Send directly after that.
func TestConnRaise(t *testing.T) {
	rdmaiotest.Each(t, func(t *testing.T, w *rdmaiotest.World) {
		small := xchar.Characteristics{ReceiveSize: 4096}
		p := connect(t, w, side(t, &xchar.Config{Local: small, Policy: everything{}}), side(t, &xchar.Config{Local: small, Policy: everything{}}))
		x := of(t, p.client)
		p.request(p.client, xchar.ReceiveSize(16384), xchar.Pending)
		if s, n := x.PeerState(wire.IDReceiveBufferSize), x.Peer().ReceiveSize; s != xchar.StatePending || n != 4096 {
			t.Fatalf("on an idle connection: %v, size %d", s, n)
		}
		reads := p.counts().BytesRead
		for i := 0; x.PeerState(wire.IDReceiveBufferSize) == xchar.StatePending; i++ {
			if i > 1000 {
				t.Fatal("still pending after 1000 Calls")
			}
			p.call(4000, 100)
		}
		if got, err := x.Settled(p.ctx, wire.IDReceiveBufferSize); err != nil || got.ReceiveSize != 16384 {
			t.Fatalf("%+v, %v", got, err)
		}
		p.terms(p.client, "the client", func(t rdmaio.Terms) bool { return t.InlineSend == 16384 })
		p.call(16000, 100)
		if s := p.client.Stats(); s.PartsSent != 0 || p.counts().BytesRead != reads {
			t.Errorf("the Call went in %d parts, %d bytes were read", s.PartsSent, p.counts().BytesRead-reads)
		}
		// The other way, without a request (R251).
		if err := x.Set(xchar.ReceiveSize(12288)); err != nil {
			t.Fatal(err)
		}
		for range 1000 {
			if of(t, p.server).Peer().ReceiveSize == 12288 {
				break
			}
			p.call(100, 4000)
		}
		p.terms(p.server, "the server", func(t rdmaio.Terms) bool { return t.InlineSend == 12288 })
		p.terms(p.client, "the client", func(t rdmaio.Terms) bool { return t.InlineRecv == 12288 })
		p.call(100, 12000)
		if s := p.counts(); s.PartsSent != 0 || s.BytesWritten != 0 {
			t.Errorf("the reply went in %d parts, %d bytes were written", s.PartsSent, s.BytesWritten)
		}
	})
}

// T113, R238: cuts and raises in both directions while Calls of all sizes run. No message meets a
// Receive that is too small, which would end the connection.
func TestConnResizeUnderLoad(t *testing.T) {
	rdmaiotest.Each(t, func(t *testing.T, w *rdmaiotest.World) {
		p := connect(t, w, side(t, &xchar.Config{Policy: everything{}}), side(t, &xchar.Config{Policy: everything{}}))
		ctx, stop := context.WithCancel(p.ctx)
		var load sync.WaitGroup
		for i := range 4 {
			load.Add(1)
			go func() {
				defer load.Done()
				sizes := []int{100, 16000, 4000, 9000, 30000}
				for n := i; ctx.Err() == nil && p.client.Err() == nil; n++ {
					p.call(sizes[n%5], sizes[(n/5)%5])
				}
			}()
		}
		rounds := 20
		if testing.Short() {
			rounds = 5
		}
		for n := range rounds {
			for _, c := range []*rdmaio.Conn{p.client, p.server} {
				cut := []uint32{4096, 1024, 8192}[n%3]
				p.request(c, xchar.ReceiveSize(cut), xchar.Done)
				p.terms(c, "after a cut", func(t rdmaio.Terms) bool { return t.InlineSend == int(cut) })
				p.request(c, xchar.ReceiveSize(16384), xchar.Pending)
				if got, err := of(t, c).Settled(p.ctx, wire.IDReceiveBufferSize); err != nil || got.ReceiveSize != 16384 {
					t.Fatalf("%+v, %v", got, err)
				}
			}
		}
		stop()
		load.Wait()
		for _, c := range []*rdmaio.Conn{p.client, p.server} {
			if err := c.Err(); err != nil {
				t.Errorf("the connection was lost: %v", err)
			}
			if s := of(t, c).Stats(); s != (xchar.Stats{}) {
				t.Errorf("messages were not applied: %+v", s)
			}
		}
	})
}

// R248, R255, R257: what a side cannot do, or declared fixed, is rejected or refused.
func TestConnRejects(t *testing.T) {
	w := rdmaiotest.New(t)
	p := connect(t, w, side(t, &xchar.Config{Policy: everything{}, HeaderType: 4294967295}),
		side(t, &xchar.Config{Fixed: []wire.ID{wire.IDBackwardSupport}, HeaderType: 4294967295}))
	p.request(p.client, xchar.ReceiveSize(16385), xchar.Rejected) // no memory
	p.request(p.server, xchar.ReceiveSize(8192), xchar.Rejected)  // by the default Policy
	p.request(p.server, xchar.RemoteInvalidation(!of(t, p.client).Own().RemoteInvalidation), xchar.Rejected)
	p.await(p.server, "INIT", func(x *xchar.Conn) bool { return x.PeerState(wire.IDBackwardSupport) == xchar.StateFixed })
	if _, err := of(t, p.server).Request(p.ctx, xchar.Backward(wire.BackwardGeneral)); !errors.Is(err, xchar.ErrFixed) {
		t.Errorf("request of a fixed characteristic: %v", err)
	}
	if err := of(t, p.client).Set(xchar.Backward(wire.BackwardGeneral)); !errors.Is(err, xchar.ErrFixed) {
		t.Errorf("change of a fixed characteristic: %v", err)
	}
	if err := of(t, p.server).Set(xchar.ReceiveSize(4096)); !errors.Is(err, xchar.ErrCut) {
		t.Errorf("cut without a request: %v", err)
	}
	for _, v := range []xchar.Value{xchar.ReceiveSize(16385)} {
		if err := of(t, p.client).Set(v); err == nil {
			t.Errorf("%v was set", v)
		}
	}
	if _, err := of(t, p.client).Request(p.ctx, xchar.ReceiveSize(1023)); err == nil {
		t.Error("a size was requested that no message fits")
	}
	if err := of(t, p.client).Settle(wire.IDReceiveBufferSize, true); !errors.Is(err, xchar.ErrNotPending) {
		t.Errorf("decision without a request: %v", err)
	}
	_ = p.client.Close()
	if _, err := of(t, p.client).Request(p.ctx, xchar.ReceiveSize(4096)); !errors.Is(err, rdmaio.ErrClosed) {
		t.Errorf("request on a closed connection: %v", err)
	}
}

// later defers all decisions.
type later struct{ everything }

func (later) CutReceiveSize(_, _ uint32) xchar.Decision { return xchar.Defer }

// R249, R250: a deferred change is pending at both ends until Settle, and a cut is obeyed until
// then (R238).
func TestConnSettle(t *testing.T) {
	for _, accept := range []bool{false, true} {
		w := rdmaiotest.New(t)
		p := connect(t, w, side(t, &xchar.Config{Policy: later{}}), side(t, &xchar.Config{}))
		p.request(p.client, xchar.ReceiveSize(8192), xchar.Pending)
		p.terms(p.client, "while it is pending", func(t rdmaio.Terms) bool { return t.InlineSend == 8192 })
		if s := of(t, p.server).OwnState(wire.IDReceiveBufferSize); s != xchar.StatePending {
			t.Errorf("state %v", s)
		}
		if err := of(t, p.server).Settle(wire.IDReceiveBufferSize, accept); err != nil {
			t.Fatal(err)
		}
		want := map[bool]int{true: 8192, false: 16384}[accept]
		got, err := of(t, p.client).Settled(p.ctx, wire.IDReceiveBufferSize)
		if err != nil || got.ReceiveSize != uint32(want) {
			t.Errorf("%+v, %v, want %d", got, err, want)
		}
		p.terms(p.client, "afterwards", func(t rdmaio.Terms) bool { return t.InlineSend == want })
		p.call(8000, 100)
	}
}

// R240, A25: a server invalidates keys only while the client's characteristic says so, whatever
// keys its Calls name. A client without the extension has the default, false (R235).
func TestConnInvalidation(t *testing.T) {
	for _, c := range []struct {
		name string
		x    *xchar.Config
		want bool
	}{
		{"as configured", &xchar.Config{}, true},
		{"not accepted", &xchar.Config{Local: xchar.Characteristics{Backward: wire.BackwardNone}}, false},
		{"without the extension", nil, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := rdmaiotest.New(t)
			p := connect(t, w, side(t, &xchar.Config{}), side(t, c.x))
			if c.x != nil {
				p.await(p.server, "INIT", func(x *xchar.Conn) bool { return x.Peer().RemoteInvalidation == c.want })
				p.terms(p.server, "INIT", func(t rdmaio.Terms) bool { return t.RemoteInvalidate == c.want })
			}
			p.call(40000, 100)
			if n := p.counts().RemoteInvalidations; (n > 0) != c.want {
				t.Errorf("%d keys were invalidated", n)
			}
			if !c.want {
				return
			}
			if err := of(t, p.client).Set(xchar.RemoteInvalidation(false)); err != nil {
				t.Fatal(err)
			}
			p.terms(p.server, "UPD", func(t rdmaio.Terms) bool { return !t.RemoteInvalidate })
			n := p.counts().RemoteInvalidations
			p.call(40000, 100)
			if got := p.counts().RemoteInvalidations; got != n {
				t.Errorf("%d keys were invalidated after the UPD", got-n)
			}
		})
	}
}

// R241: a server makes reverse Calls as the client's characteristic allows.
func TestConnBackward(t *testing.T) {
	for level, works := range map[wire.BackwardSupport]bool{wire.BackwardNone: false, wire.BackwardSizeLimited: true, wire.BackwardUnknown: true} {
		t.Run(fmt.Sprint(level), func(t *testing.T) {
			w := rdmaiotest.New(t)
			reverse := func(c *rdmaio.Config) {
				c.ReverseCredits = 2
				c.ReverseHandler = &server{conn: make(chan *rdmaio.Conn, 1)}
			}
			x := &xchar.Config{Local: xchar.Characteristics{Backward: level, RemoteInvalidation: true}}
			p := connect(t, w, side(t, &xchar.Config{}, reverse), side(t, x, reverse))
			p.await(p.server, "INIT", func(x *xchar.Conn) bool { return x.Peer().RemoteInvalidation })
			p.terms(p.server, "INIT", func(t rdmaio.Terms) bool { return t.RemoteInvalidate })
			p.server.AllowReverse()
			b := rpc(p.server.XID(), 0, 100)
			binary.BigEndian.PutUint32(b[8:], 100)
			_, err := p.server.Call(p.ctx, &rdmaio.Call{Message: rdmaio.Message{Inline: b}})
			if works != (err == nil) || !works && !errors.Is(err, rdmaio.ErrReverse) {
				t.Errorf("a reverse Call: %v", err)
			}
			if got, _ := of(t, p.server).PeerBackward(); got != level {
				t.Errorf("the server knows %v", got)
			}
		})
	}
}

// T115, R258: a server without the extension answers the INIT with error 3. All characteristics
// have their defaults, requests are rejected, and the limits of CONNPROP stay.
func TestConnUnsupported(t *testing.T) {
	rdmaiotest.Each(t, func(t *testing.T, w *rdmaiotest.World) {
		p := connect(t, w, side(t, nil), side(t, &xchar.Config{}))
		x := of(t, p.client)
		got, err := x.Request(p.ctx, xchar.ReceiveSize(8192))
		if err == nil && !slices.Equal(got, []xchar.Result{xchar.Rejected}) || err != nil && !errors.Is(err, xchar.ErrUnsupported) {
			t.Errorf("%v, %v", got, err)
		}
		if _, err := x.Request(p.ctx, xchar.ReceiveSize(8192)); !errors.Is(err, xchar.ErrUnsupported) {
			t.Errorf("the second request: %v", err)
		}
		if x.Peer() != xchar.Defaults() {
			t.Errorf("the peer has %+v", x.Peer())
		}
		p.terms(p.client, "the client", func(t rdmaio.Terms) bool { return t.InlineSend == 16384 })
		p.call(16000, 16000)
		if _, ok := xchar.Of(p.server); ok {
			t.Error("the server has the extension")
		}
	})
}

// Off by default, and not on a connection of version 1, whose Receives have the initial size.
func TestConnVersionOne(t *testing.T) {
	rdmaiotest.Each(t, func(t *testing.T, w *rdmaiotest.World) {
		both := func(c *rdmaio.Config) { c.Versions = []int{2, 1} }
		one := func(c *rdmaio.Config) { c.Versions = []int{1} }
		p := connect(t, w, side(t, &xchar.Config{Local: xchar.Characteristics{ReceiveSize: 8192}}, both), side(t, nil, one))
		if _, ok := xchar.Of(p.server); ok || p.client.Terms().InlineSend != 8192 {
			t.Errorf("the extension is there: %t; terms %+v", ok, p.client.Terms())
		}
		p.call(8000, 8000)
		terms := p.server.MaxTerms()
		if terms.InlineRecv != 8192 || p.server.SetTerms(rdmaio.Terms{InlineSend: 16384, InlineRecv: 16384}) != nil || p.server.Terms().InlineRecv != 8192 {
			t.Errorf("largest terms %+v, now %+v", terms, p.server.Terms())
		}
	})
}

// Configurations that cannot work are refused.
func TestExtensionConfig(t *testing.T) {
	if _, err := xchar.Extension(&xchar.Config{HeaderType: 5}); err == nil {
		t.Error("header type 5 is accepted")
	}
	w := rdmaiotest.New(t)
	for _, size := range []uint32{1024, 16385} {
		if _, err := rdmaio.Dial(context.Background(), w.Client, "there", side(t, &xchar.Config{Local: xchar.Characteristics{ReceiveSize: size}})); err == nil {
			t.Errorf("Receives of %d bytes are accepted", size)
		}
	}
}
