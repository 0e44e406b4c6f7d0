package rdmaio

import (
	"context"
	"sync"
	"testing"

	"github.com/rpcrdma/rpcrdma/rdmaio/providers/mem"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
)

// quickly is a Handler of procedures that never block.
type quickly struct{ HandlerFunc }

func (quickly) NonBlocking(_, _, _ uint32) bool { return true }

// A row counts the Requests that wait in it: none does when all have run, whether they came alone
// or together.
func TestRowCountsItsRequests(t *testing.T) {
	net := mem.New(nil)
	there, err := net.Open("server", nil)
	if err != nil {
		t.Fatal(err)
	}
	here, err := net.Open("client", nil)
	if err != nil {
		t.Fatal(err)
	}
	conns := make(chan *Conn, 64)
	gate := make(chan struct{})
	server, err := Listen(context.Background(), there, "server:1", quickly{func(r *Request) {
		<-gate
		conns <- r.Conn().(*Conn)
		b, _ := oncrpc.NewReply(r.Responder.(*request).req.XID, oncrpc.Success).AppendBinary(nil)
		r.Reply(Message{Inline: b}, nil)
	}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	c, err := Dial(context.Background(), here, server.Addr(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var calls sync.WaitGroup
	for range 8 {
		calls.Go(func() {
			call, err := oncrpc.NewCall(c.XID(), 1, 1, 0, oncrpc.None()).AppendBinary(nil)
			if err == nil {
				_, err = c.Call(context.Background(), &Call{Message: Message{Inline: call}})
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	close(gate)
	calls.Wait()
	row := (<-conns).answerer.row.Load()
	row.mu.Lock()
	waiting, first := row.waiting.Load(), row.first
	row.mu.Unlock()
	if waiting != 0 || first != nil {
		t.Errorf("%d Requests are counted in an empty row", waiting)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	if err := server.Close(); err != nil {
		t.Error(err)
	}
}
