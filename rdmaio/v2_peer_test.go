package rdmaio_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"sync"
	"testing"

	"github.com/rpcrdma/rpcrdma/rdmaio"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/peertest/peer2"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/rdmaiotest"
)

// The tests in v2_*_test.go connect one of our ends to a scripted peer of version 2, which was
// written from the document (peer2). The peer checks every message that it gets, and that it
// granted a credit for it. Besides, the World's oracle checks all messages of our end.

// config2 returns a Config with version 2 before version 1, if it has no versions.
func config2(cfg rdmaio.Config) *rdmaio.Config {
	if cfg.Versions == nil {
		cfg.Versions = []int{2, 1}
	}
	if cfg.InlineSend == 0 {
		cfg.InlineSend, cfg.InlineRecv = 4096, 4096
	}
	return &cfg
}

// dialed is the result of Dial.
type dialed struct {
	conn *rdmaio.Conn
	err  error
}

// dialPeer lets our client dial a scripted server, which has not answered yet. The connection is
// closed at the end of the test.
func dialPeer(t *testing.T, w *rdmaiotest.World, pc peer2.Config, cfg *rdmaio.Config) (*peer2.Peer, <-chan dialed) {
	t.Helper()
	ln, err := w.Server.Listen(context.Background(), w.ListenAddr)
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	p := peer2.New(t, w.Server, pc)
	done := make(chan dialed, 1)
	go func() {
		c, err := rdmaio.Dial(context.Background(), w.Client, ln.Addr(), cfg)
		done <- dialed{c, err}
	}()
	if !p.Accept(ln, nil) {
		t.FailNow()
	}
	return p, done
}

// connected returns the connection that Dial has made.
func connected(t *testing.T, done <-chan dialed) *rdmaio.Conn {
	t.Helper()
	d := <-done
	if d.err != nil {
		t.Fatal(d.err)
	}
	t.Cleanup(func() {
		if err := d.conn.Close(); err != nil {
			t.Error(err)
		}
	})
	return d.conn
}

// ourClient connects our client to a scripted server of version 2 with these properties.
func ourClient(t *testing.T, w *rdmaiotest.World, pc peer2.Config, cfg *rdmaio.Config, set ...peer2.Property) (*peer2.Peer, *rdmaio.Conn) {
	t.Helper()
	p, done := dialPeer(t, w, pc, cfg)
	offer := p.Next()
	p.Send(peer2.Props(offer.XID, set...))
	return p, connected(t, done)
}

// rawClient connects a scripted client to the server of w. It has not sent anything.
func rawClient(t *testing.T, w *rdmaiotest.World, pc peer2.Config) *peer2.Peer {
	t.Helper()
	pc.Client = true
	p := peer2.New(t, w.Client, pc)
	p.Dial(w.Client, w.Addr, nil)
	return p
}

// ourServer starts a server and connects a scripted client with these properties to it. The
// properties of both ends have been exchanged.
func ourServer(t *testing.T, w *rdmaiotest.World, h rdmaio.Handler, pc peer2.Config, cfg *rdmaio.Config, set ...peer2.Property) *peer2.Peer {
	t.Helper()
	w.Serve(h, cfg)
	return hello(t, rawClient(t, w, pc), set...)
}

// hello exchanges the properties of a scripted client and our server.
func hello(t *testing.T, p *peer2.Peer, set ...peer2.Property) *peer2.Peer {
	t.Helper()
	p.Send(peer2.Props(0x100, set...))
	if m := p.Next(); m.Type != peer2.ConnProp {
		t.Fatalf("the server answers a CONNPROP with %v", m)
	}
	return p
}

// result is the result of a Call.
type result struct {
	reply *rdmaio.Reply
	err   error
}

// start makes a Call.
func start(c *rdmaio.Conn, call *rdmaio.Call) <-chan result {
	return startWith(context.Background(), c, call)
}

func startWith(ctx context.Context, c *rdmaio.Conn, call *rdmaio.Call) <-chan result {
	done := make(chan result, 1)
	go func() {
		r, err := c.Call(ctx, call)
		done <- result{r, err}
	}()
	return done
}

// callOf is an RPC Call of n bytes, at least 40.
func callOf(xid uint32, n int) []byte {
	return append(callHeader(xid, procNull).buf, rdmaiotest.Pattern(n-40, uint64(xid))...)
}

// replyOf is an RPC Reply of n bytes, at least 24.
func replyOf(xid uint32, n int) []byte {
	return append(replyHeader(xid).buf, rdmaiotest.Pattern(n-24, uint64(xid))...)
}

// bigCall is a Call of n bytes without items.
func bigCall(xid uint32, n int) *rdmaio.Call {
	return &rdmaio.Call{Message: rdmaio.Message{Inline: callOf(xid, n)}}
}

// app is a handler that keeps the Calls, and answers each with an RPC Reply.
type app struct {
	mu    sync.Mutex
	got   [][]byte
	size  int                          // of a Reply; default: 24
	reply func(r *rdmaio.Request) bool // answers in another way, if it returns true
}

// ServeRPC implements rdmaio.Handler.
func (a *app) ServeRPC(r *rdmaio.Request) {
	a.mu.Lock()
	a.got = append(a.got, bytes.Clone(r.Message))
	a.mu.Unlock()
	if a.reply != nil && a.reply(r) {
		return
	}
	r.Reply(rdmaio.Message{Inline: replyOf(binary.BigEndian.Uint32(r.Message), max(24, a.size))}, nil)
}

// calls returns the Calls that came.
func (a *app) calls() [][]byte {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.got
}

// works makes a Call from a scripted client, whose answer must be a good Reply.
func works(t *testing.T, p *peer2.Peer, xid uint32) {
	t.Helper()
	p.Send(peer2.Call(xid, callOf(xid, 40)))
	if m := p.Next(); !m.IsReply() || m.XID != xid {
		t.Fatalf("a good Call is answered with %v", m)
	}
}

// serves makes a Call of our client, which a scripted server answers.
func serves(t *testing.T, p *peer2.Peer, c *rdmaio.Conn, xid uint32) {
	t.Helper()
	done := start(c, bigCall(xid, 40))
	m := p.Next()
	if !m.IsCall() || m.XID != xid || !bytes.Equal(m.Payload, callOf(xid, 40)) {
		t.Fatalf("got %v, want a Call", m)
	}
	p.Send(m.Unused(replyOf(xid, 24)))
	if r := <-done; r.err != nil || !bytes.Equal(r.reply.Message, replyOf(xid, 24)) {
		t.Fatalf("a good Call ended with %v", r.err)
	}
}

// each2 runs a test over each provider.
func each2(t *testing.T, name string, test func(t *testing.T, w *rdmaiotest.World)) {
	t.Run(name, func(t *testing.T) { rdmaiotest.Each(t, test) })
}
