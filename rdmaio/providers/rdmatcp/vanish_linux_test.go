package rdmatcp_test

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/isolated"
	"github.com/rpcrdma/rpcrdma/internal/rdmatcp/segment"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/rdmatcp"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// userTimeout is TCP_USER_TIMEOUT, which package syscall lacks.
const userTimeout = 0x12

// vanishes waits for the end of a connection whose peer no longer answers, and checks its reason.
func (v *victim) vanishes() {
	v.t.Helper()
	select {
	case <-v.lost:
	case <-time.After(4 * hung):
		v.t.Fatal("the connection to a peer that vanished is still open")
	}
	err := v.qp.Err()
	if !errors.Is(err, verbs.ErrConnectionBroken) || !errors.Is(err, verbs.StatusError{Status: verbs.StatusRetryExceeded}) {
		v.t.Errorf("error %v, want %v with %v", err, verbs.ErrConnectionBroken, verbs.StatusRetryExceeded)
	}
	if !strings.Contains(err.Error(), "Config.PeerTimeout") {
		v.t.Errorf("error %q does not name Config.PeerTimeout", err)
	}
}

// Both ends detect that the network between them is lost: a client with unacknowledged data, and a
// server that waits for a message (RFC 8166 §4.1: a lost connection must be detected to be
// established again; R272).
func TestPeerVanishes(t *testing.T) {
	c, s, link := apart(t, 2*time.Second)
	link.Cut()
	c.send(t, []verbs.SendWR{{Opcode: verbs.Send, Flags: verbs.SendSignaled, SGL: c.sge(16)}})
	c.vanishes()
	s.vanishes()
}

// A probe closes a connection whose peer has vanished within its limit, whatever PeerTimeout is,
// and leaves one whose peer is there (R288).
func TestProbeFindsAVanishedPeer(t *testing.T) {
	for _, limit := range []time.Duration{time.Hour, -1} {
		if testing.Short() && limit < 0 {
			break // each takes some seconds
		}
		_, s, link := apart(t, limit)
		if err := verbs.Probe(s.qp, 2*time.Second); err != nil {
			t.Fatal(err)
		}
		select {
		case <-s.lost:
			t.Fatalf("the probe closed the connection whose peer is there: %v", s.qp.Err())
		case <-time.After(3 * time.Second):
		}
		link.Cut()
		if err := verbs.Probe(s.qp, 2*time.Second); err != nil {
			t.Fatal(err)
		}
		s.vanishes()
	}
}

// apart returns both ends of a connection that has carried a message, and the network between them.
func apart(t *testing.T, timeout time.Duration) (c, s *victim, link *isolated.Link) {
	t.Helper()
	link = isolated.NewLink(t)
	cfg := &rdmatcp.Config{PeerTimeout: timeout}
	client, server := device(t, cfg), device(t, cfg)
	c, s = &victim{newSide(t, client), t}, &victim{newSide(t, server), t}
	ctx, cancel := context.WithTimeout(context.Background(), hung)
	defer cancel()
	var ln verbs.Listener
	var err error
	link.Far.Do(func() { ln, err = server.Listen(ctx, isolated.FarAddr+":20049") })
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	done := make(chan error, 1)
	go link.Near.Do(func() {
		_, err := client.Dial(ctx, isolated.FarAddr+":20049", c.qp, nil)
		done <- err
	})
	req, err := ln.Accept(ctx)
	if err == nil {
		_, err = req.Accept(ctx, s.qp, nil)
	}
	if err = errors.Join(err, <-done); err != nil {
		t.Fatal(err)
	}
	s.recv(t, 16, 2)
	c.send(t, []verbs.SendWR{{Opcode: verbs.Send, Flags: verbs.SendSignaled, SGL: c.sge(16)}})
	if wc := s.next(); wc.Err() != nil {
		t.Fatal(wc.Err())
	}
	return c, s, link
}

// A peer that takes no data is given up after PeerTimeout, which the system measures. If
// PeerTimeout is negative, the connection continues.
func TestPeerTimeout(t *testing.T) {
	silent := func(timeout time.Duration) *victim {
		cfg := rawConfig()
		cfg.SendTimeout, cfg.PeerTimeout = -1, timeout
		p, v := attack(t, device(t, cfg), true)
		p.put(segment.Header{Type: segment.Write}, nil, nil)
		for range 16 {
			v.send(t, []verbs.SendWR{{Opcode: verbs.Send, Flags: verbs.SendSignaled, SGL: v.sge(sideBytes)}})
		}
		return v
	}
	without := silent(-1)
	silent(time.Second).vanishes()
	if err := without.qp.Err(); err != nil {
		t.Errorf("the connection without a limit ended too: %v", err)
	}
}

// Both ends of every stream over TCP have the limits.
func TestPeerTimeoutOptions(t *testing.T) {
	for _, tt := range []struct {
		timeout time.Duration
		want    string
	}{
		{0, "keepalive 1 idle 15 interval 5 count 3 user timeout 30000"},
		{time.Minute, "keepalive 1 idle 30 interval 10 count 3 user timeout 60000"},
		{time.Millisecond, "keepalive 1 idle 1 interval 1 count 3 user timeout 1"},
		{1 << 62, "keepalive 1 idle 32400 interval 32400 count 3 user timeout 2147483647"},
		{-1, "keepalive 0"},
	} {
		for _, secure := range []bool{false, true} {
			a, b := tcpPair(t)
			ends := []net.Conn{a, b}
			if secure {
				a = tls.Client(a, &tls.Config{InsecureSkipVerify: true})
				b = tls.Server(b, &tls.Config{Certificates: []tls.Certificate{certificate(t)}})
			}
			over(t, &rdmatcp.Config{PeerTimeout: tt.timeout}, a, b)
			for i, end := range ends {
				if got := tcpOptions(t, end.(*net.TCPConn)); got != tt.want {
					t.Errorf("PeerTimeout %v, TLS %v, end %d: %s, want %s", tt.timeout, secure, i, got, tt.want)
				}
			}
		}
	}
}

// tcpOptions describes the socket options that make the system give up a peer.
func tcpOptions(t *testing.T, c *net.TCPConn) string {
	t.Helper()
	raw, err := c.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	get := func(fd uintptr, what string, level, option int) int {
		n, err := syscall.GetsockoptInt(int(fd), level, option)
		if err != nil {
			t.Error(err)
		}
		fmt.Fprintf(&b, " %s %d", what, n)
		return n
	}
	err = raw.Control(func(fd uintptr) {
		if get(fd, "keepalive", syscall.SOL_SOCKET, syscall.SO_KEEPALIVE) == 0 {
			return
		}
		get(fd, "idle", syscall.IPPROTO_TCP, syscall.TCP_KEEPIDLE)
		get(fd, "interval", syscall.IPPROTO_TCP, syscall.TCP_KEEPINTVL)
		get(fd, "count", syscall.IPPROTO_TCP, syscall.TCP_KEEPCNT)
		get(fd, "user timeout", syscall.IPPROTO_TCP, userTimeout)
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()[1:]
}
