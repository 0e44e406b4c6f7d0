package tcp

import (
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/deadpeer"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
)

// A client that has left before it is accepted takes nothing of AcceptRate: the server does not
// pause for it.
func TestClientsThatHaveLeftTakeNothingOfTheRate(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	var late []net.Conn
	for range 20 {
		ours, err := net.Dial("tcp", ln.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		theirs, err := ln.Accept()
		if err != nil {
			t.Fatal(err)
		}
		_ = ours.Close()
		for !deadpeer.HasLeft(theirs) {
			time.Sleep(time.Millisecond)
		}
		late = append(late, theirs)
	}
	synctest.Test(t, func(t *testing.T) {
		ln := newResults()
		s, err := Serve(ln, oncrpc.HandlerFunc(func(r *oncrpc.Request) { r.Drop(nil) }), &Config{AcceptRate: 1})
		if err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		for _, c := range late {
			ln.ch <- c
		}
		if took := time.Since(start); took != 0 {
			t.Errorf("%d clients that have left took %v at a rate of one a second, want no time", len(late), took)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
}
