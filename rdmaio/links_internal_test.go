package rdmaio

import (
	"context"
	"encoding/binary"
	"slices"
	"testing"

	"github.com/rpcrdma/rpcrdma/rdmaio/providers/mem"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
)

// A Call that comes while others wait goes behind them, even if there is a credit: it is for the
// first of them.
func TestQueueIsNotPassed(t *testing.T) {
	l := &link{conn: &Conn{host: host{ctx: context.Background()}}}
	s := links{most: 1, all: []*link{l}}
	first := s.wait()
	if s.take() != nil {
		t.Error("a Call has passed the queue")
	}
	s.serve()
	if first.link != l || l.users != 1 || len(s.queue) != 0 {
		t.Errorf("the first in the queue has %v, %d users, %d still wait", first.link, l.users, len(s.queue))
	}
	if s.take() != l || l.users != 2 {
		t.Errorf("%d users after the next Call, want 2", l.users)
	}
}

// When the server refuses version 1 on one connection, the Client drops all of that version.
func TestTurnDropsAll(t *testing.T) {
	net := mem.New(nil)
	there, err := net.Open("server", nil)
	if err != nil {
		t.Fatal(err)
	}
	here, err := net.Open("client", nil)
	if err != nil {
		t.Fatal(err)
	}
	held := make(chan *Request, 2)
	server, err := Listen(context.Background(), there, "server:1", HandlerFunc(func(r *Request) { held <- r }), &Config{Versions: []int{1, 2}})
	if err != nil {
		t.Fatal(err)
	}
	c, err := NewClient(here, server.Addr(), &ClientConfig{Connections: 2, Conn: &Config{Versions: []int{1, 2}}})
	if err != nil {
		t.Fatal(err)
	}
	failed := make(chan error, 2)
	var calls []*Request
	for range 2 { // each on a connection of its own
		go func() {
			call, err := oncrpc.NewCall(c.XID(), 1, 1, 0, oncrpc.None()).AppendBinary(nil)
			if err == nil {
				_, err = c.Call(context.Background(), &Call{Message: Message{Inline: call}})
			}
			failed <- err
		}()
		calls = append(calls, <-held)
	}
	c.mu.Lock()
	up := append([]*link(nil), c.links.all...)
	c.mu.Unlock()
	if len(up) != 2 || up[0].conn.Terms().Version != 1 || up[1].conn.Terms().Version != 1 {
		t.Fatalf("%d connections, want two of version 1", len(up))
	}
	if !c.turns(up[0].conn, &PeerError{Version: 1, Code: PeerErrVers, Low: 2, High: 2}) {
		t.Error("the Client does not turn to version 2")
	}
	c.mu.Lock()
	for _, l := range c.links.all { // there may be one already that the Client has made since
		if slices.Contains(up, l) {
			t.Errorf("a connection of version %d is left", l.conn.Terms().Version)
		}
	}
	c.mu.Unlock()
	for _, r := range calls { // they are sent again, with version 2
		<-r.Context().Done()
		r.Drop(nil)
	}
	for range 2 {
		r := <-held
		reply, err := oncrpc.NewReply(binary.BigEndian.Uint32(r.Message), oncrpc.Success).AppendBinary(nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Reply(Message{Inline: reply}, nil)
	}
	for range 2 {
		if err := <-failed; err != nil {
			t.Error(err)
		}
	}
	for _, err := range []error{c.Close(), server.Close(), here.Close(), there.Close()} {
		if err != nil {
			t.Error(err)
		}
	}
}
