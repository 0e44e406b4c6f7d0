package memory

import (
	"context"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/peertest"
	"github.com/rpcrdma/rpcrdma/internal/rdmaiotest"
	"github.com/rpcrdma/rpcrdma/internal/residenttest"
	"github.com/rpcrdma/rpcrdma/rdmaio"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/rdmatcp"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
)

// offers is a Call of a procedure that offers size bytes for its reply, none if zero.
func offers(xid, proc, size uint32) []byte {
	head := peertest.Words(xid, 1, 32, 0, 0, 0, 0)
	if size > 0 {
		head = peertest.Words(xid, 1, 32, 0, 0, 0, 1, 1, 0x1234, size+64, 0, 0)
	}
	return append(head, residenttest.Call(xid, proc, size)...)
}

// unreceivable is offers without memory for the reply, which is then refused.
func unreceivable(xid, proc, size uint32) []byte {
	return append(peertest.Words(xid, 1, 32, 0, 0, 0, 0), residenttest.Call(xid, proc, size)...)
}

// asks makes 32 Calls at a time for replies of size bytes, with memory for them, and reads nothing.
func asks(proc, size uint32) func(t *testing.T, addr string) (attack, stop func()) {
	return func(t *testing.T, addr string) (attack, stop func()) {
		p := rdmaiotest.DialSocket(t, addr)
		p.Connect(nil)
		return func() {
			p.Write(p.Sends(32, func(i int) []byte { return offers(uint32(i), proc, size) }))
		}, func() { _ = p.Conn.Close() }
	}
}

// The memory of a server's process over rdmatcp, seen from outside, is bounded by Config.MaxMemory,
// whatever peers ask for, offer and do not read.
func TestResidentMemoryIsBounded(t *testing.T) {
	const mib = 1 << 20
	residenttest.Run(t, func(h oncrpc.Handler, most int) (string, error) {
		dev, err := rdmatcp.Open(nil)
		if err != nil {
			return "", err
		}
		s, err := rdmaio.Listen(context.Background(), dev, "127.0.0.1:0", h, &rdmaio.Config{MaxMemory: most})
		if err != nil {
			return "", err
		}
		return s.Addr(), nil
	}, func(t *testing.T, addr string) oncrpc.Carrier {
		dev := rdmaiotest.Opened(t, func() (*rdmatcp.Device, error) { return rdmatcp.Open(nil) })
		c, err := rdmaio.Dial(context.Background(), dev, addr, nil)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		return c
	}, []residenttest.Row{
		{Name: "4 connections, 32 Calls, 1 MiB", Conns: 4, Dial: asks(residenttest.Blob, mib), Seconds: 2, Most: 64 * mib},
		{Name: "16 connections, 32 Calls, 1 MiB", Conns: 16, Dial: asks(residenttest.Blob, mib), Seconds: 2, Most: 64 * mib},
		{Name: "16 connections, 32 Calls, 15 MiB", Conns: 16, Dial: asks(residenttest.Blob, 15*mib), Seconds: 2, Most: 64 * mib},
		{Name: "64 connections, 32 Calls, 1 MiB", Conns: 64, Dial: asks(residenttest.Blob, mib), Seconds: 2, Most: 64 * mib},
		{Name: "64 connections, 32 Calls, 16 KiB", Conns: 64, Dial: asks(residenttest.Blob, 16<<10), Seconds: 2, Most: 64 * mib},
		{Name: "16 connections, 32 Calls, 1 MiB, without package rpc", Conns: 16, Dial: asks(residenttest.Fresh, mib), Seconds: 2, Most: 64 * mib},
		{Name: "16 connections, 100 small replies and then 32 of 4 MiB", Conns: 16, Dial: func(t *testing.T, addr string) (attack, stop func()) {
			p := rdmaiotest.DialSocket(t, addr)
			p.Connect(nil)
			return func() {
				for i := range uint32(100) {
					p.Write(p.Sends(1, func(int) []byte {
						return append(offers(i, residenttest.Blob, 0)[:28], residenttest.Call(i, residenttest.Blob, 4)...)
					}))
					if _, _, ok := p.Read(); !ok {
						return
					}
				}
				p.Write(p.Sends(32, func(i int) []byte { return offers(uint32(i), residenttest.Blob, 4*mib) }))
			}, func() { _ = p.Conn.Close() }
		}, Seconds: 3, Most: 64 * mib},
		{Name: "16 connections, 32 Calls, 15 MiB that cannot be received", Conns: 16, Dial: func(t *testing.T, addr string) (attack, stop func()) {
			p := rdmaiotest.DialSocket(t, addr)
			p.Connect(nil)
			return func() {
				for i := uint32(0); ; i += 32 {
					p.Write(p.Sends(32, func(k int) []byte { return unreceivable(i+uint32(k), residenttest.Blob, 15*mib) }))
					for range 32 {
						if _, _, ok := p.Read(); !ok {
							return
						}
					}
				}
			}, func() { _ = p.Conn.Close() }
		}, Seconds: 3, Most: 64 * mib},
		{Name: "16 connections, read chunks that are not served", Conns: 16, Dial: func(t *testing.T, addr string) (attack, stop func()) {
			p := rdmaiotest.DialSocket(t, addr)
			p.Connect(nil)
			return func() {
				p.Write(p.Sends(32, func(i int) []byte { return bigRead(uint32(i), 8*mib) }))
				time.Sleep(time.Second)
			}, func() { _ = p.Conn.Close() }
		}, Seconds: 2, Most: 64 * mib},
	})
}
