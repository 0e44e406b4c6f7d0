package rdmatcp_test

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/witness"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/rdmatcp"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/rdmatcp/segment"
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
		v.t.Fatal("the connection to a peer that vanished still stands")
	}
	err := v.qp.Err()
	if !errors.Is(err, verbs.ErrConnectionBroken) || !errors.Is(err, verbs.StatusError{Status: verbs.StatusRetryExceeded}) {
		v.t.Errorf("error %v, want %v with %v", err, verbs.ErrConnectionBroken, verbs.StatusRetryExceeded)
	}
	if !strings.Contains(err.Error(), "Config.PeerTimeout") {
		v.t.Errorf("error %q does not name Config.PeerTimeout", err)
	}
}

// namespace is a network namespace, in which functions can run.
type namespace struct {
	path string // of its file
	run  chan func()
}

// newNamespace creates a network namespace. It skips the test if the process may not do that.
func newNamespace(t *testing.T) *namespace {
	t.Helper()
	witness.Program(t, "ip")
	n := &namespace{run: make(chan func())}
	made := make(chan error)
	go func() {
		// Never unlocked: the thread and its namespace end with the goroutine.
		runtime.LockOSThread()
		made <- syscall.Unshare(syscall.CLONE_NEWNET)
		for f := range n.run {
			f()
		}
	}()
	t.Cleanup(func() { close(n.run) })
	if err := <-made; err != nil {
		t.Skipf("needs the right to make network namespaces (CAP_SYS_ADMIN): %v", err)
	}
	n.do(func() { n.path = fmt.Sprintf("/proc/%d/task/%d/ns/net", syscall.Getpid(), syscall.Gettid()) })
	return n
}

// do runs f in the namespace. Sockets that it creates stay there.
func (n *namespace) do(f func()) {
	done := make(chan struct{})
	n.run <- func() { defer close(done); f() }
	<-done
}

// ip runs the command of this name in the namespace.
func (n *namespace) ip(t *testing.T, args string) {
	t.Helper()
	var out []byte
	var err error
	n.do(func() { out, err = exec.Command("ip", strings.Fields(args)...).CombinedOutput() })
	switch {
	case err == nil:
	case strings.Contains(string(out), "not permitted"), strings.Contains(string(out), "not supported"):
		t.Skipf("needs virtual Ethernet (CAP_NET_ADMIN): ip %s: %s", args, out)
	default:
		t.Fatalf("ip %s: %v: %s", args, err, out)
	}
}

// Both ends detect that the network between them is lost: a client with unacknowledged data, and a
// server that waits for a message (RFC 8166 §4.1: a lost connection must be detected to be
// established again; R272).
func TestPeerVanishes(t *testing.T) {
	near, far := newNamespace(t), newNamespace(t)
	near.ip(t, "link add near type veth peer name far")
	near.ip(t, "link set far netns "+far.path)
	near.ip(t, "addr add 192.0.2.1/24 dev near")
	near.ip(t, "link set near up")
	far.ip(t, "addr add 192.0.2.2/24 dev far")
	far.ip(t, "link set far up")

	cfg := &rdmatcp.Config{PeerTimeout: 2 * time.Second}
	client, server := device(t, cfg), device(t, cfg)
	c, s := &victim{newSide(t, client), t}, &victim{newSide(t, server), t}
	ctx, cancel := context.WithTimeout(context.Background(), hung)
	defer cancel()
	var ln verbs.Listener
	var err error
	far.do(func() { ln, err = server.Listen(ctx, "192.0.2.2:20049") })
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	done := make(chan error, 1)
	go near.do(func() {
		_, err := client.Dial(ctx, "192.0.2.2:20049", c.qp, nil)
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

	far.ip(t, "link set far down")
	c.send(t, []verbs.SendWR{{Opcode: verbs.Send, Flags: verbs.SendSignaled, SGL: c.sge(16)}})
	c.vanishes()
	s.vanishes()
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
