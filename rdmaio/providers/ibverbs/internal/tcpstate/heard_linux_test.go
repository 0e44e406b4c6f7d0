package tcpstate

import (
	"errors"
	"io"
	"net"
	"net/netip"
	"syscall"
	"testing"
	"time"
)

// pair returns both ends of a TCP connection.
func pair(t *testing.T, network, addr string) (near, far net.Conn) {
	t.Helper()
	ln, err := net.Listen(network, addr)
	if err != nil {
		t.Skip("no loopback interface for ", network, ": ", err)
	}
	defer ln.Close()
	if near, err = net.Dial(network, ln.Addr().String()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { near.Close() })
	if far, err = ln.Accept(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { far.Close() })
	return near, far
}

func addr(a net.Addr) netip.AddrPort {
	at := a.(*net.TCPAddr).AddrPort()
	return netip.AddrPortFrom(at.Addr().Unmap(), at.Port())
}

func state(t *testing.T, c net.Conn) State {
	t.Helper()
	s, err := Get(addr(c.LocalAddr()), addr(c.RemoteAddr()))
	if errors.Is(err, syscall.EPROTONOSUPPORT) || errors.Is(err, syscall.ENOENT) || errors.Is(err, syscall.EPERM) {
		t.Skip("this kernel has no module tcp_diag: ", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func heard(t *testing.T, c net.Conn) time.Duration {
	t.Helper()
	return state(t, c).Heard
}

// Bytes count when the kernel has them, whether or not the program reads them.
func TestUnreadBytesCount(t *testing.T) {
	near, far := pair(t, "tcp4", "127.0.0.1:0")
	before := state(t, far).Received
	if _, err := near.Write(make([]byte, 77)); err != nil {
		t.Fatal(err)
	}
	for state(t, far).Received != before+77 {
		time.Sleep(time.Millisecond)
	}
	if n := state(t, near).Received; n != before {
		t.Errorf("the sender has received %d bytes", n)
	}
}

// The time begins with the last byte or acknowledgment of the peer.
func TestLastHeardBeginsWithTheLastSignOfThePeer(t *testing.T) {
	for network, at := range map[string]string{"tcp4": "127.0.0.1:0", "tcp6": "[::1]:0"} {
		t.Run(network, func(t *testing.T) {
			near, far := pair(t, network, at)
			const quiet = 300 * time.Millisecond
			time.Sleep(quiet)
			for _, c := range []net.Conn{near, far} {
				if d := heard(t, c); d < quiet/2 || d > time.Hour {
					t.Errorf("heard %v ago, after %v without a byte", d, quiet)
				}
			}
			start := time.Now()
			since := func(c net.Conn) bool { // the kernel counts in ticks
				return heard(t, c) <= time.Since(start)+quiet/2
			}
			if since(far) {
				t.Error("the byte that was not sent yet was heard")
			}
			if _, err := near.Write([]byte("x")); err != nil {
				t.Fatal(err)
			}
			if _, err := io.ReadFull(far, make([]byte, 1)); err != nil {
				t.Fatal(err)
			}
			if !since(far) {
				t.Error("the byte was not heard")
			}
			// The byte is acknowledged, and nothing else comes to this end.
			for !since(near) {
				time.Sleep(time.Millisecond)
			}
		})
	}
}

func TestNoSuchConnectionIsAnError(t *testing.T) {
	near, _ := pair(t, "tcp4", "127.0.0.1:0")
	heard(t, near)
	_, err := Get(addr(near.LocalAddr()), netip.MustParseAddrPort("127.0.0.1:1"))
	if !errors.Is(err, syscall.ENOENT) {
		t.Errorf("Get of no connection: %v, want ENOENT", err)
	}
}

// An answer that is cut, or lacks tcp_info, is an error.
func TestBrokenAnswersAreErrors(t *testing.T) {
	near, _ := pair(t, "tcp4", "127.0.0.1:0")
	whole := request(addr(near.LocalAddr()), addr(near.RemoteAddr()))
	for n := range whole {
		if _, err := parse(whole[:n]); err == nil {
			t.Fatalf("%d bytes are an answer", n)
		}
	}
	if got := attribute([]byte{200, 0, 2, 0, 1}, inetDiagInfo); got != nil {
		t.Errorf("an attribute beyond the end has %d bytes", len(got))
	}
	if got := attribute([]byte{5, 0, 1, 0, 9, 0, 0, 0, 5, 0, 2, 0, 7}, inetDiagInfo); len(got) != 1 || got[0] != 7 {
		t.Errorf("the second attribute is %v", got)
	}
}
