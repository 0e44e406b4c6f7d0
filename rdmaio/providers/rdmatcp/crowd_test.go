package rdmatcp_test

import (
	"context"
	"errors"
	"net"
	"runtime"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/rdmatcp/segment"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/rdmatcp"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// The attacks of RFC 5042 §6.4.1 and §6.4.2, by the number of connections: A13
// and A14.

// A13: a source gets as many connections as the limit allows, and no more. A flood of others, which
// negotiate the maximum, costs little, and does not affect another source.
func TestA13PerSource(t *testing.T) {
	flood := 10_000
	if testing.Short() || raceDetector {
		flood = 200
	}
	dev := device(t, &rdmatcp.Config{MaxPerSource: 8, HandshakeTimeout: time.Hour})
	ln := listen(t, dev)
	var held []net.Conn
	for range 8 {
		held = append(held, dialFrom(t, "127.0.0.1", ln.Addr()))
	}
	if over := dialFrom(t, "127.0.0.1", ln.Addr()); !closes(over, patience) {
		t.Fatal("the ninth was taken")
	}
	for i, c := range held {
		if closes(c, 20*time.Millisecond) {
			t.Fatalf("connection %d of 8 was closed", i)
		}
	}
	greedy := (&peer{t: t, id: 7}).whole(segment.Header{Type: segment.Write}, hello(255, 255, make([]byte, 1000)), nil)
	before, start := heap(), processorTime()
	for range flood {
		conn, err := net.Dial("tcp", ln.Addr())
		if err != nil {
			t.Fatal(err)
		}
		conn.Write(greedy)
		if !closes(conn, patience) {
			t.Fatal("one of the flood was taken")
		}
		conn.Close()
	}
	each := (processorTime() - start) / time.Duration(flood)
	if grown := heap() - before; grown > 1<<20 {
		t.Errorf("the flood left %d bytes", grown)
	}
	// The client's cost is included, as below.
	if honest := honestTime(t, 200); !raceDetector && each > 2*honest {
		t.Errorf("%v of processor time for each of the flood, %v for an honest connection", each, honest)
	} else {
		t.Logf("%v of processor time for each of the flood, %v for an honest connection", each, honest)
	}
	if s := dev.Stats(); s.RefusedSource != int64(flood)+1 || s.Refused != s.RefusedSource {
		t.Errorf("stats %+v, want %d refused for their source", s, flood+1)
	}
	greet := func(conn net.Conn) {
		t.Helper()
		(&peer{t: t, conn: conn, id: 7}).hello(hello(1, 1, nil))
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		req, err := ln.Accept(ctx)
		if err != nil {
			t.Fatal(err)
		}
		req.Reject(nil)
	}
	if runtime.GOOS == "linux" { // where all of 127.0.0.0/8 is this machine
		greet(dialFrom(t, "127.0.0.2", ln.Addr()))
	}
	held[0].Close() // below the limit again
	for limit := time.Now().Add(patience); ; {
		conn := dialFrom(t, "127.0.0.1", ln.Addr())
		if !closes(conn, 50*time.Millisecond) {
			greet(conn)
			break
		}
		if time.Now().After(limit) {
			t.Fatal("a place that became free is not given away")
		}
	}
}

// honestTime returns the processor time of a connection that is set up, carries a message and ends.
func honestTime(t *testing.T, n int) time.Duration {
	t.Helper()
	a := newArena(t, device(t, &rdmatcp.Config{ReceiveTimeout: -1}), everything)
	start := processorTime()
	for range n {
		there, here := tcpPair(t)
		if _, err := a.over(here, there, func(p *peer) []byte {
			return p.whole(segment.Header{}, nil, []byte("honest"))
		}); err != verbs.ErrPeerDisconnected {
			t.Fatal(err)
		}
	}
	return (processorTime() - start) / time.Duration(n)
}

// A13: a listener accepts no more connections in a second than AcceptRate. The others wait.
func TestA13AcceptRate(t *testing.T) {
	const rate, n = 100, 150
	cfg := rawConfig()
	cfg.AcceptRate = rate
	ln := listen(t, device(t, cfg))
	start := time.Now()
	for range n {
		dialFrom(t, "127.0.0.1", ln.Addr())
	}
	for i := range n {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		req, err := ln.Accept(ctx)
		cancel()
		if err != nil {
			t.Fatalf("connection %d: %v", i, err)
		}
		req.Reject(nil)
	}
	if took, least := time.Since(start), time.Second*(n-rate)/rate*9/10; took < least {
		t.Errorf("%d connections in %v, want at least %v at %d a second", n, took, least, rate)
	}
}

// A13: connections from this machine are limited only if MaxPerSource is set.
func TestPerSourceDefault(t *testing.T) {
	dev := device(t, rawConfig())
	ln := listen(t, dev)
	for i := range 100 {
		if conn := dialFrom(t, "127.0.0.1", ln.Addr()); i == 99 && closes(conn, 50*time.Millisecond) {
			t.Error("the 100th connection of this machine was refused")
		}
	}
}

// A14: if too many connections are in the handshake, the oldest is closed, so that idle ones cannot
// keep others out.
func TestA14OldestHandshake(t *testing.T) {
	dev := device(t, &rdmatcp.Config{MaxHandshakes: 20, HandshakeTimeout: time.Hour})
	ln := listen(t, dev)
	var silent []net.Conn
	for range 21 {
		silent = append(silent, dialFrom(t, "127.0.0.1", ln.Addr()))
	}
	if !closes(silent[0], patience) {
		t.Error("the oldest of 21 was not closed")
	}
	for i, c := range silent[1:] {
		if closes(c, 5*time.Millisecond) {
			t.Errorf("handshake %d of 20 was closed", i)
		}
	}
	for range 5 {
		honest := newSide(t, device(t, nil))
		go func() {
			ctx, cancel := context.WithTimeout(context.Background(), patience)
			defer cancel()
			if req, err := ln.Accept(ctx); err == nil {
				req.Reject(nil)
			}
		}()
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		_, err := honest.dev.Dial(ctx, ln.Addr(), honest.qp, nil)
		cancel()
		if rejected := new(verbs.RejectedError); !errors.As(err, &rejected) {
			t.Errorf("an honest client: %v", err)
		}
	}
	if s := dev.Stats(); s.RefusedHandshake < 1 || s.RefusedHandshake > 6 {
		t.Errorf("stats %+v", s)
	}
}

// A14: a handshake that sends a byte now and then ends after HandshakeTimeout.
func TestA14Trickle(t *testing.T) {
	dev := device(t, &rdmatcp.Config{HandshakeTimeout: 200 * time.Millisecond})
	ln := listen(t, dev)
	conn := dialFrom(t, "127.0.0.1", ln.Addr())
	p := &peer{t: t, conn: conn, id: 7}
	for _, b := range p.whole(segment.Header{Type: segment.Write}, hello(16, 16, make([]byte, 900)), nil) {
		if _, err := conn.Write([]byte{b}); err != nil {
			break
		}
		time.Sleep(2 * time.Millisecond)
	}
	if p.ended(); dev.Stats().RefusedHandshake != 1 {
		t.Errorf("stats %+v", dev.Stats())
	}
}

// A14: half-open connections cost little memory, and after HandshakeTimeout no memory.
func TestA14HalfOpen(t *testing.T) {
	if raceDetector {
		t.Skip("the race detector itself needs memory")
	}
	n := 2000
	if testing.Short() {
		n = 300
	}
	dev := device(t, &rdmatcp.Config{HandshakeTimeout: 2 * time.Second})
	ln := listen(t, dev)
	before := heap()
	conns := make([]net.Conn, n)
	for i := range conns {
		conns[i] = dialFrom(t, "127.0.0.1", ln.Addr())
	}
	each := (heap() - before) / int64(n) // both ends
	t.Logf("%d bytes for each of %d half-open connections", each, n)
	if each > 8<<10+2<<10 {
		t.Errorf("%d bytes for each half-open connection, want at most 8 KiB, and 2 for the test's end", each)
	}
	for _, c := range conns {
		(&peer{t: t, conn: c}).ended()
		c.Close()
	}
	if s := dev.Stats(); s.RefusedHandshake != int64(n) {
		t.Errorf("stats %+v, want %d", s, n)
	}
}
