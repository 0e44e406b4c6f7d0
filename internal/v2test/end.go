package v2test

import (
	"context"
	"testing"

	"github.com/rpcrdma/rpcrdma/internal/peertest/peer2"
	"github.com/rpcrdma/rpcrdma/internal/rdmaiotest"
	"github.com/rpcrdma/rpcrdma/rdmaio"
)

// Dialed is the result of Dial.
type Dialed struct {
	Conn *rdmaio.Conn
	Err  error
}

// DialPeer lets our client dial a scripted server, which has not answered yet. The connection is
// closed at the end of the test.
func DialPeer(t *testing.T, w *rdmaiotest.World, pc peer2.Config, cfg *rdmaio.Config) (*peer2.Peer, <-chan Dialed) {
	t.Helper()
	ln, err := w.Server.Listen(context.Background(), w.ListenAddr)
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	p := peer2.New(t, w.Server, pc)
	done := make(chan Dialed, 1)
	go func() {
		c, err := rdmaio.Dial(context.Background(), w.Client, ln.Addr(), cfg)
		done <- Dialed{c, err}
	}()
	if !p.Accept(ln, nil) {
		t.FailNow()
	}
	return p, done
}

// Connected returns the connection that Dial has made.
func Connected(t *testing.T, done <-chan Dialed) *rdmaio.Conn {
	t.Helper()
	d := <-done
	if d.Err != nil {
		t.Fatal(d.Err)
	}
	t.Cleanup(func() {
		if err := d.Conn.Close(); err != nil {
			t.Error(err)
		}
	})
	return d.Conn
}

// Client connects our client to a scripted server of version 2 with these properties.
func Client(t *testing.T, w *rdmaiotest.World, pc peer2.Config, cfg *rdmaio.Config, set ...peer2.Property) (*peer2.Peer, *rdmaio.Conn) {
	t.Helper()
	p, done := DialPeer(t, w, pc, cfg)
	offer := p.Next()
	p.Send(peer2.Props(offer.XID, set...))
	return p, Connected(t, done)
}

// RawClient connects a scripted client to the server of w. It has not sent anything.
func RawClient(t *testing.T, w *rdmaiotest.World, pc peer2.Config) *peer2.Peer {
	t.Helper()
	pc.Client = true
	p := peer2.New(t, w.Client, pc)
	p.Dial(w.Client, w.Addr, nil)
	return p
}

// Server starts a server and connects a scripted client with these properties to it. The
// properties of both ends have been exchanged.
func Server(t *testing.T, w *rdmaiotest.World, h rdmaio.Handler, pc peer2.Config, cfg *rdmaio.Config, set ...peer2.Property) *peer2.Peer {
	t.Helper()
	w.Serve(h, cfg)
	return Hello(t, RawClient(t, w, pc), set...)
}

// Hello exchanges the properties of a scripted client and our server.
func Hello(t *testing.T, p *peer2.Peer, set ...peer2.Property) *peer2.Peer {
	t.Helper()
	p.Send(peer2.Props(0x100, set...))
	if m := p.Next(); m.Type != peer2.ConnProp {
		t.Fatalf("the server answers a CONNPROP with %v", m)
	}
	return p
}
