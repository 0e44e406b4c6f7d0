package udp_test

import (
	"context"
	"net"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/residenttest"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/udp"
)

// asks sends Calls of a procedure for replies of size bytes until it is stopped, and reads nothing.
func asks(proc, size uint32) func(t *testing.T, addr string) (attack, stop func()) {
	return func(t *testing.T, addr string) (attack, stop func()) {
		c, err := net.Dial("udp", addr)
		if err != nil {
			t.Fatal(err)
		}
		return func() {
			for xid := uint32(0); ; xid++ {
				if _, err := c.Write(residenttest.Call(xid, proc, size)); err != nil {
					return
				}
				if xid%64 == 63 {
					time.Sleep(20 * time.Millisecond)
				}
			}
		}, func() { _ = c.Close() }
	}
}

// The memory of a server's process over UDP, seen from outside, is bounded by Config.MaxMemory,
// also where handlers make replies that do not fit in a datagram.
func TestResidentMemoryIsBounded(t *testing.T) {
	const mib = 1 << 20
	residenttest.Run(t, func(h oncrpc.Handler, most int) (string, error) {
		s, err := udp.Listen(context.Background(), "127.0.0.1:0", h, &udp.Config{MaxMemory: most})
		if err != nil {
			return "", err
		}
		return s.Addr(), nil
	}, func(t *testing.T, addr string) oncrpc.Carrier {
		c, err := udp.Dial(context.Background(), addr, &udp.Config{MinRetransmit: 100 * time.Millisecond})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		return c
	}, []residenttest.Row{
		{Name: "4 clients, 60 KiB", Conns: 4, Dial: asks(residenttest.Blob, 60<<10), Seconds: 2, Most: 64 * mib},
		{Name: "4 clients, 1 MiB", Conns: 4, Dial: asks(residenttest.Blob, mib), Seconds: 2, Most: 64 * mib},
		{Name: "4 clients, 15 MiB", Conns: 4, Dial: asks(residenttest.Blob, 15*mib), Seconds: 2, Most: 64 * mib},
		{Name: "4 clients, 4 MiB, without package rpc", Conns: 4, Dial: asks(residenttest.Fresh, 4*mib), Seconds: 2, Most: 64 * mib},
		{Name: "4 clients, 15 MiB, with the default of 256 MiB", Conns: 4, Dial: asks(residenttest.Blob, 15*mib), Seconds: 3, Most: 256 * mib},
	})
}
