package stream

import (
	"net"
	"syscall"
	"testing"
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
