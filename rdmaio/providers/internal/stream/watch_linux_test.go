package stream

import (
	"net"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// The system gives up a peer that acknowledges no data for PeerTimeout, and probes an idle one.
func TestPeerIsWatched(t *testing.T) {
	cfg := toyConfig(100)
	cfg.PeerTimeout = 42 * time.Second
	d := openToy(t, cfg)
	config := net.ListenConfig{KeepAlive: -1}
	ln, err := config.Listen(t.Context(), "tcp", local)
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	dialer := net.Dialer{KeepAlive: -1}
	conn, err := dialer.DialContext(t.Context(), "tcp", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	newConn(d, conn)
	raw, err := conn.(*net.TCPConn).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	const userTimeout = 18 // TCP_USER_TIMEOUT
	if err := raw.Control(func(fd uintptr) {
		probes, err := syscall.GetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_KEEPALIVE)
		unacked, err2 := syscall.GetsockoptInt(int(fd), syscall.IPPROTO_TCP, userTimeout)
		if probes != 1 || unacked != 42_000 || err != nil || err2 != nil {
			t.Errorf("probes %d, %v; unacknowledged data for %d ms, %v; want 1 and 42000", probes, err, unacked, err2)
		}
	}); err != nil {
		t.Fatal(err)
	}
}

// A peer that has closed its connection before it is accepted is refused at once: the next ones in
// the system's queue do not wait for its handshake.
func TestPeersThatHaveLeftAreRefused(t *testing.T) {
	d := openToy(t, toyConfig(100))
	ln, err := net.Listen("tcp", local)
	if err != nil {
		t.Fatal(err)
	}
	const many = 20
	for range many {
		haveLeft(t, ln)
	}
	last, err := net.Dial("tcp", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer last.Close()
	_, _ = last.Write(hello())
	l, err := d.listenOn(ln)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	r, err := l.Accept(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if got, want := r.RemoteAddr(), last.LocalAddr().String(); got != want {
		t.Errorf("the first request is from %v, want %v", got, want)
	}
	if st := d.Stats(); st.RefusedHandshake != many {
		t.Errorf("%d are refused, want %d", st.RefusedHandshake, many)
	}
	if err := r.Reject(nil); err != nil {
		t.Error(err)
	}
}

// A peer that has left takes nothing of AcceptRate: the listener does not pause for it.
func TestPeersThatHaveLeftTakeNothingOfTheRate(t *testing.T) {
	ln, err := net.Listen("tcp", local)
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	var late []net.Conn
	for range 20 {
		haveLeft(t, ln)
		c, err := ln.Accept()
		if err != nil {
			t.Fatal(err)
		}
		late = append(late, c)
	}
	synctest.Test(t, func(t *testing.T) {
		l := listen(t, func(c *Config) { c.AcceptRate = 1 })
		start := time.Now()
		for _, c := range late {
			l.results <- c
		}
		if took := time.Since(start); took != 0 {
			t.Errorf("%d peers that have left took %v at a rate of one a second, want no time", len(late), took)
		}
	})
}

// haveLeft makes a connection to a listener whose peer has closed its direction.
func haveLeft(t *testing.T, ln net.Listener) {
	t.Helper()
	c, err := net.Dial("tcp", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	_, _ = c.Write(hello())
	_ = c.(*net.TCPConn).CloseWrite()
	awaitEnd(t, c)
}

// awaitEnd waits until the peer's system knows that our direction of a connection is closed.
func awaitEnd(t *testing.T, c net.Conn) {
	const finWait2 = 5 // TCP_FIN_WAIT2 of linux/net/tcp_states.h
	raw, err := c.(*net.TCPConn).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	for state := 0; state != finWait2; time.Sleep(time.Millisecond) {
		if t.Context().Err() != nil {
			t.Fatal("the connection has not ended")
		}
		_ = raw.Control(func(fd uintptr) {
			info, _ := syscall.GetsockoptInt(int(fd), syscall.IPPROTO_TCP, syscall.TCP_INFO)
			state = info & 0xff
		})
	}
}
