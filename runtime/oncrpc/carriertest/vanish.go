package carriertest

import (
	"context"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
)

// Cuttable is a connection between two hosts, whose limit for a peer that does not answer is a few
// seconds at both ends.
type Cuttable struct {
	Client Conn

	// Cut drops all further packets in both directions. Neither end is notified.
	Cut func()
}

// RunVanishes checks that both ends of a connection notice a peer that vanishes, whatever they
// wait for. open makes a connection as Open does, whose client serves no Calls.
func RunVanishes(t *testing.T, open func(t *testing.T, server oncrpc.Handler) Cuttable) {
	for _, tt := range []struct {
		name string
		// The client makes a Call after the cut, and the server answers one that it has.
		calls, answers bool
	}{
		{"Idle", false, false},
		{"CallInFlight", true, false},
		{"UnacknowledgedReply", false, true},
	} {
		t.Run(tt.name, func(t *testing.T) { t.Parallel(); vanishes(t, open, tt.calls, tt.answers) })
	}
}

func vanishes(t *testing.T, open func(*testing.T, oncrpc.Handler) Cuttable, calls, answers bool) {
	served := make(chan oncrpc.Conn, 1)
	held := make(chan *oncrpc.Request, 1)
	c := open(t, oncrpc.HandlerFunc(func(r *oncrpc.Request) {
		if procOf(r) == 2 {
			held <- r
			return
		}
		served <- r.Conn()
		echo(r)
	}))
	do(t, c.Client, 1, nil, 0)
	server := <-served
	failed := make(chan error, 2)
	call := func(proc uint32) {
		_, err := c.Client.Call(context.Background(), newCall(c.Client.XID(), proc, nil, 0))
		failed <- err
	}
	waiting := 0
	var late *oncrpc.Request
	if answers {
		go call(2)
		waiting++
		select {
		case late = <-held:
		case <-time.After(patience):
			t.Fatal("the Call does not reach the handler")
		}
	}
	c.Cut()
	if answers {
		echo(late)
	}
	if calls {
		go call(1)
		waiting++
	}
	end := soon(t)
	for ; waiting > 0; waiting-- {
		select {
		case err := <-failed:
			if err == nil {
				t.Error("a Call to a peer that has vanished succeeds")
			}
		case <-end.Done():
			t.Fatalf("a Call to a peer that has vanished is in progress after %v", patience)
		}
	}
	for name, done := range map[string]<-chan struct{}{"client": c.Client.Done(), "server": server.Done()} {
		select {
		case <-done:
		case <-end.Done():
			t.Errorf("the %s's end of a connection whose peer has vanished is up after %v", name, patience)
		}
	}
}
