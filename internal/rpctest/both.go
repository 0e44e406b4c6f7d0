package rpctest

import (
	"testing"

	"github.com/rpcrdma/rpcrdma/internal/rdmaiotest"
	"github.com/rpcrdma/rpcrdma/rdmaio"
)

// Both is a server and a client that call each other.
type Both struct {
	Server *rdmaio.Conn // its end of the connection
	Client *rdmaio.Conn
}

// NewBoth connects a client to a server, each with a handler, and makes the first Call, which
// allows reverse ones.
func NewBoth(w *rdmaiotest.World, forward, reverse rdmaio.Handler, server, client rdmaio.Config) *Both {
	w.T.Helper()
	if server.ReverseCredits == 0 {
		server.ReverseCredits = 8
	}
	client.ReverseHandler = reverse
	b := &Both{}
	w.Serve(rdmaio.HandlerFunc(func(r *rdmaio.Request) {
		if b.Server == nil { // like CREATE_SESSION
			b.Server = r.Conn().(*rdmaio.Conn)
			r.Conn().AllowReverse()
			Quick(nil).ServeRPC(r)
			return
		}
		forward.ServeRPC(r)
	}), &server)
	b.Client = w.Dial(&client)
	Again(w.T, b.Client, SmallCall(), 0)
	return b
}

// Quiet checks that there were no faults and nothing is in progress.
func (b *Both) Quiet(t *testing.T) {
	t.Helper()
	for _, c := range []*rdmaio.Conn{b.Client, b.Server} {
		rdmaiotest.AwaitStats(t, c, func(st *rdmaio.Stats) bool {
			return st.InFlight+st.Reverse.InFlight+st.Waiting == 0 && st.FaultyMessages+st.DroppedMessages+st.ErrorMessages == 0
		})
		if c.Err() != nil {
			t.Error(c.Err())
		}
	}
}
