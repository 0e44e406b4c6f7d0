package udp_test

import (
	"encoding/binary"
	"errors"
	"net"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/isolated"
	"github.com/rpcrdma/rpcrdma/internal/witness"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
)

// ICMP codes of "destination unreachable" (RFC 792, RFC 1812 §5.2.7.1).
const (
	fragmentationNeeded = 4
	prohibited          = 13
)

// unreachable sends to the host an ICMP message about a datagram, as a router does.
func unreachable(t *testing.T, code byte, from, to *net.UDPAddr) {
	t.Helper()
	checksum := func(b []byte) uint16 {
		sum := uint32(0)
		for i := 0; i+1 < len(b); i += 2 {
			sum += uint32(binary.BigEndian.Uint16(b[i:]))
		}
		return ^uint16(sum>>16 + sum)
	}
	b := []byte{
		3, code, 0, 0, 0, 0, 0x05, 0xdc, // the MTU of the next hop is 1,500
		0x45, 0, 0, 28, 0, 0, 0, 0, 64, syscall.IPPROTO_UDP, 0, 0,
	}
	b = append(append(b, from.IP.To4()...), to.IP.To4()...)
	binary.BigEndian.PutUint16(b[18:], checksum(b[8:]))
	b = binary.BigEndian.AppendUint16(b, uint16(from.Port))
	b = binary.BigEndian.AppendUint16(b, uint16(to.Port))
	b = append(b, 0, 8, 0, 0)
	binary.BigEndian.PutUint16(b[2:], checksum(b))
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_RAW, syscall.IPPROTO_ICMP)
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(fd)
	if err := syscall.Sendto(fd, b, 0, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		t.Fatal(err)
	}
}

// A router's report about a datagram fails the Calls in progress, or none if the next transmission
// can succeed. The Conn stays usable.
func TestReportOfARouterFailsCalls(t *testing.T) {
	if !isolated.Run(t) {
		return
	}
	for _, tt := range []struct {
		code byte
		want error
	}{
		{prohibited, syscall.EHOSTUNREACH}, {fragmentationNeeded, nil},
	} {
		server := socket(t)
		c := dial(t, server.LocalAddr().String(), often)
		ended := make(chan error, 1)
		go func() {
			_, err := c.Call(soon(t), &oncrpc.Call{Message: oncrpc.Message{Inline: call(t, c.XID(), 1)}})
			ended <- err
		}()
		b := make([]byte, 1000)
		_, from, err := server.ReadFromUDP(b)
		if err != nil {
			t.Fatal(err)
		}
		for n := 0; ; n++ { // a transmission may take the report, and is then sent after all
			unreachable(t, tt.code, from, server.LocalAddr().(*net.UDPAddr))
			time.Sleep(time.Millisecond)
			if tt.want == nil && n == 100 {
				_, _ = server.WriteToUDP(reply(t, xidOf(b)), from)
			}
			select {
			case err = <-ended:
			default:
				continue
			}
			break
		}
		if !errors.Is(err, tt.want) {
			t.Errorf("code %d: %v, expected %v", tt.code, err, tt.want)
		}
		if err := c.Err(); err != nil {
			t.Errorf("code %d ended the Conn: %v", tt.code, err)
		}
	}
}

// A Call that the host cannot send fails alone.
func TestNoRoute(t *testing.T) {
	ip := witness.Program(t, "ip")
	if !isolated.Run(t) {
		return
	}
	route := func(verb string) {
		t.Helper()
		if out, err := exec.Command(ip, "route", verb, "local", "198.51.100.0/24", "dev", "lo").CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	route("add")
	server, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(198, 51, 100, 1)})
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	c := dial(t, server.LocalAddr().String(), once)
	ended := make(chan error, 1)
	go func() {
		_, err := c.Call(soon(t), &oncrpc.Call{Message: oncrpc.Message{Inline: call(t, c.XID(), 1)}})
		ended <- err
	}()
	b := make([]byte, 1000)
	_, from, err := server.ReadFromUDP(b)
	if err != nil {
		t.Fatal(err)
	}
	route("delete")
	if _, err := c.Call(soon(t), &oncrpc.Call{Message: oncrpc.Message{Inline: call(t, c.XID(), 1)}}); !errors.Is(err, syscall.ENETUNREACH) {
		t.Errorf("%v, expected %v", err, syscall.ENETUNREACH)
	}
	route("add")
	_, _ = server.WriteToUDP(reply(t, xidOf(b)), from)
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
