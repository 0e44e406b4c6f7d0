package tcp

import (
	"net"
	"testing"
)

// The state of a socket distinguishes a connection that the peer has closed from one that the
// system has given up.
func TestEndOfSystem(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	for _, abort := range []bool{false, true} {
		ours, err := net.Dial("tcp", ln.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		theirs, err := ln.Accept()
		if err != nil {
			t.Fatal(err)
		}
		if ofSystem(ours) {
			t.Error("the connection is up")
		}
		if abort {
			_ = theirs.(*net.TCPConn).SetLinger(0)
		}
		_ = theirs.Close()
		if _, err := ours.Read(make([]byte, 1)); err == nil {
			t.Error("the connection has not ended")
		}
		if got := ofSystem(ours); got != abort {
			t.Errorf("aborted %v: ended by the system %v", abort, got)
		}
		_ = ours.Close()
		if ofSystem(ours) {
			t.Error("a closed socket has a state")
		}
	}
	if a, _ := net.Pipe(); ofSystem(a) {
		t.Error("a pipe has a state")
	}
}
