package tcp_test

import (
	"context"
	"encoding/binary"
	"io"
	"net"
	"syscall"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/residenttest"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/tcp"
)

// dialUnread connects with a short receive buffer.
func dialUnread(t *testing.T, addr string) net.Conn {
	t.Helper()
	d := net.Dialer{Control: func(_, _ string, c syscall.RawConn) (err error) {
		_ = c.Control(func(fd uintptr) { err = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_RCVBUF, 4096) })
		return err
	}}
	c, err := d.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// asks returns n Calls of a procedure for a reply of size bytes.
func asks(proc uint32, n, size int) (all []byte) {
	for xid := range uint32(n) {
		call := residenttest.Call(xid, proc, uint32(size))
		all = append(binary.BigEndian.AppendUint32(all, 1<<31|uint32(len(call))), call...)
	}
	return all
}

// names returns a Call with a list of n empty names.
func names(n int) []byte {
	b := record(1, 0, 2, residenttest.Program.Number, residenttest.Program.Version, residenttest.Names, 0, 0, 0, 0)
	for range n {
		b = append(b, 0, 0, 0, 1, 0, 0, 0, 0)
	}
	b = append(b, 0, 0, 0, 0)
	binary.BigEndian.PutUint32(b, 1<<31|uint32(len(b)-4))
	return b
}

// on returns a Row's Dial for an attack on one connection.
func on(attack func(c net.Conn)) func(t *testing.T, addr string) (run, stop func()) {
	return func(t *testing.T, addr string) (run, stop func()) {
		c := dialUnread(t, addr)
		return func() { attack(c) }, func() { _ = c.Close() }
	}
}

// ask makes n Calls for replies of size bytes, and reads none.
func ask(proc uint32, n, size int) func(t *testing.T, addr string) (run, stop func()) {
	return on(func(c net.Conn) { _, _ = c.Write(asks(proc, n, size)) })
}

// comesAndGoes makes 64 Calls for replies of size bytes on one connection after the other, and
// closes each at once.
func comesAndGoes(size int) func(t *testing.T, addr string) (run, stop func()) {
	return func(t *testing.T, addr string) (run, stop func()) {
		ctx, cancel := context.WithCancel(t.Context())
		return func() {
			for ctx.Err() == nil {
				if c, err := net.Dial("tcp", addr); err == nil {
					_, _ = c.Write(asks(residenttest.Blob, 64, size))
					_ = c.Close()
				}
			}
		}, cancel
	}
}

// The memory of a server's process, seen from outside, is bounded by Config.MaxMemory, whatever
// peers ask for and do not read.
func TestResidentMemoryIsBounded(t *testing.T) {
	const mib = 1 << 20
	residenttest.Run(t, func(h oncrpc.Handler, most int) (string, error) {
		s, err := tcp.Listen(context.Background(), "127.0.0.1:0", h, &tcp.Config{MaxMemory: most})
		if err != nil {
			return "", err
		}
		return s.Addr(), nil
	}, func(t *testing.T, addr string) oncrpc.Carrier { return dial(t, addr, nil) }, []residenttest.Row{
		{Name: "4 connections, 64 Calls, 1 MiB", Conns: 4, Dial: ask(residenttest.Blob, 64, mib), Seconds: 2, Most: 64 * mib},
		{Name: "16 connections, 64 Calls, 1 MiB", Conns: 16, Dial: ask(residenttest.Blob, 64, mib), Seconds: 2, Most: 64 * mib},
		{Name: "64 connections, 64 Calls, 1 MiB", Conns: 64, Dial: ask(residenttest.Blob, 64, mib), Seconds: 2, Most: 64 * mib},
		{Name: "16 connections, 64 Calls, 4 MiB", Conns: 16, Dial: ask(residenttest.Blob, 64, 4*mib), Seconds: 2, Most: 64 * mib},
		{Name: "64 connections, 64 Calls, 16 KiB", Conns: 64, Dial: ask(residenttest.Blob, 64, 16<<10), Seconds: 2, Most: 64 * mib},
		{Name: "16 connections, 64 Calls, 1 MiB, without package rpc", Conns: 16, Dial: ask(residenttest.Fresh, 64, mib), Seconds: 2, Most: 64 * mib},
		{Name: "6 connections, 64 Calls, 1 MiB, slow readers", Conns: 6, Dial: on(func(c net.Conn) {
			_, _ = c.Write(asks(residenttest.Blob, 64, mib))
			for b := make([]byte, 64<<10); ; time.Sleep(500 * time.Millisecond) {
				if _, err := io.ReadFull(c, b); err != nil {
					return
				}
			}
		}), Seconds: 3, Most: 64 * mib},
		{Name: "16 connections, 1000 small replies and then 64 of 4 MiB", Conns: 16, Dial: on(func(c net.Conn) {
			go func() { _, _ = c.Write(asks(residenttest.Blob, 1000, 4)) }()
			if _, err := io.CopyN(io.Discard, c, 1000*36); err == nil {
				_, _ = c.Write(asks(residenttest.Blob, 64, 4*mib))
			}
		}), Seconds: 3, Most: 64 * mib},
		{Name: "16 connections, 4 MiB of empty names", Conns: 16, Dial: on(func(c net.Conn) { _, _ = c.Write(names(4 * mib / 8)) }), Seconds: 3, Most: 64 * mib},
		{Name: "64 connections, 10 MiB of empty names twice", Conns: 64, Dial: on(func(c net.Conn) {
			for range 2 {
				if _, err := c.Write(names(10 * mib / 8)); err != nil {
					return
				}
			}
		}), Seconds: 3, Most: 64 * mib},
		{Name: "16 connections, 4 MiB in records that do not end", Conns: 16, Dial: on(func(c net.Conn) {
			b := names(4 * mib / 8)
			_, _ = c.Write(b[:len(b)-4])
		}), Seconds: 2, Most: 64 * mib},
		{Name: "4 clients that come and go, 64 Calls, 1 MiB", Conns: 4, Dial: comesAndGoes(mib), Seconds: 2, Most: 64 * mib},
		{Name: "16 clients that come and go, 64 Calls, 15 MiB", Conns: 16, Dial: comesAndGoes(15 * mib), Seconds: 2, Most: 64 * mib},
		{Name: "16 connections, 64 Calls, 15 MiB, with the default of 256 MiB", Conns: 16, Dial: ask(residenttest.Blob, 64, 15*mib), Seconds: 3, Most: 256 * mib},
	})
}
