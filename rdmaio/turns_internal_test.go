package rdmaio

import (
	"context"
	"encoding/binary"
	"slices"
	"testing"

	"github.com/rpcrdma/rpcrdma/rdmaio/providers/mem"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
)

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
	for range 2 { // each on its own connection
		go func() {
			call, err := oncrpc.NewCall(c.XID(), 1, 1, 0, oncrpc.None()).AppendBinary(nil)
			if err == nil {
				_, err = c.Call(context.Background(), &Call{Message: Message{Inline: call}})
			}
			failed <- err
		}()
		calls = append(calls, <-held)
	}
	up := connsOf(c)
	if len(up) != 2 || up[0].Terms().Version != 1 || up[1].Terms().Version != 1 {
		t.Fatalf("%d connections, want two of version 1", len(up))
	}
	if !c.turns(up[0], &PeerError{Version: 1, Code: PeerErrVers, Low: 2, High: 2}) {
		t.Error("the Client does not turn to version 2")
	}
	for _, conn := range connsOf(c) { // there may be one already that the Client has made since
		if slices.Contains(up, conn) {
			t.Fatalf("a connection of version %d is left", conn.Terms().Version)
		}
	}
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

// connsOf returns the connections of a Client that Calls can get.
func connsOf(c *Client) (list []*Conn) {
	c.pool.Discard(func(conn *Conn) bool {
		list = append(list, conn)
		return false
	})
	return list
}
