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
	Vanish{}.Run(t, open)
}

// Vanish is RunVanishes with settings.
type Vanish struct {
	// Within is the time after the cut in which each end must notice. The time for which the
	// process is stopped or has no processor does not count. If zero, it is 20 s.
	Within time.Duration

	// Around runs each case, for example in a bubble of package synctest. If nil, the cases run at
	// the same time.
	Around func(t *testing.T, one func(t *testing.T))
}

// Run checks what RunVanishes does.
func (v Vanish) Run(t *testing.T, open func(t *testing.T, server oncrpc.Handler) Cuttable) {
	if v.Within == 0 {
		v.Within = patience
	}
	if v.Around == nil {
		v.Around = func(t *testing.T, one func(*testing.T)) { t.Parallel(); one(t) }
	}
	for _, tt := range []struct {
		name string
		// The client makes a Call after the cut, and the server answers one that it has.
		calls, answers bool
	}{
		{"Idle", false, false},
		{"CallInFlight", true, false},
		{"UnacknowledgedReply", false, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			v.Around(t, func(t *testing.T) { v.one(t, open, tt.calls, tt.answers) })
		})
	}
}

func (v Vanish) one(t *testing.T, open func(*testing.T, oncrpc.Handler) Cuttable, calls, answers bool) {
	served := make(chan oncrpc.Conn, 1)
	held := make(chan *oncrpc.Request, 1)
	c := open(t, oncrpc.HandlerFunc(func(r *oncrpc.Request) {
		if procOf(r) == 2 {
			held <- r
			return
		}
		select {
		case served <- r.Conn():
		default:
		}
		echo(r)
	}))
	// TCP waits for three times the first round trip, which may be long, before it looks at the
	// limit. Further ones make the wait short.
	for range 40 {
		do(t, c.Client, 1, nil, 0)
	}
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
	pauses := watchClock()
	start := time.Now()
	if answers {
		echo(late)
	}
	if calls {
		go call(1)
		waiting++
	}
	end := soon(t)
	var took [2]time.Duration
	both := make(chan bool, 2)
	for i, done := range []<-chan struct{}{c.Client.Done(), server.Done()} {
		go func() {
			select {
			case <-done:
				took[i] = time.Since(start)
			case <-end.Done():
			}
			both <- true
		}()
	}
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
	<-both
	<-both
	paused := pauses()
	t.Logf("noticed after %v by the client and %v by the server; the process was stopped for %v", took[0], took[1], paused)
	for i, name := range []string{"client", "server"} {
		switch {
		case took[i] == 0:
			t.Errorf("the %s's end of a connection whose peer has vanished is up after %v", name, patience)
		case took[i] > v.Within+paused:
			t.Errorf("the %s's end of a connection whose peer has vanished is closed after %v, want at most %v and %v for which the process was stopped",
				name, took[i], v.Within, paused)
		}
	}
}

// watchClock looks at the clock all the time, until stop is called. stop returns for how long the
// process was stopped.
func watchClock() (stop func() time.Duration) {
	const tick = 5 * time.Millisecond
	over, sums := make(chan struct{}), make(chan time.Duration)
	go func() {
		var sum time.Duration
		for last := time.Now(); ; {
			select {
			case <-time.After(tick):
			case <-over:
				sums <- sum
				return
			}
			now := time.Now()
			if late := now.Sub(last) - tick; late > tick {
				sum += late
			}
			last = now
		}
	}()
	return func() time.Duration { close(over); return <-sums }
}
