package tcp_test

import (
	"bufio"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/gen/mount3"
	"github.com/rpcrdma/rpcrdma/internal/xdrtest"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/gss"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/rpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/tcp"
)

// residentEnv has the MaxMemory of the process that serves TestResidentMemoryIsBounded.
const residentEnv = "TEST_RESIDENT"

// The procedures of that server, in addition to procedure 1 of newService.
const (
	procBlob  = 10 // returns as many bytes as the argument says
	procNames = 11 // takes a list of names
	procFresh = 12 // the same, without package rpc
)

// serveResident serves until standard input ends, and prints its address.
func serveResident(most int) error {
	svc := rpc.NewService(program)
	rpc.Handle(svc, 1, func(_ *rpc.Request, args, res *oncrpc.Uint32) error {
		*res = 2 * *args
		return nil
	})
	rpc.Handle(svc, procBlob, func(_ *rpc.Request, args *oncrpc.Uint32, res *gss.PrivData) error {
		res.Body = touched(int(*args))
		return nil
	})
	rpc.Handle(svc, procNames, func(_ *rpc.Request, args *mount3.Groups, res *oncrpc.Uint32) error {
		*res = oncrpc.Uint32(len(*args))
		return nil
	})
	h := rpc.NewHandler(nil, svc)
	s, err := tcp.Listen(context.Background(), "127.0.0.1:0", fresh{h}, &tcp.Config{MaxMemory: most})
	if err != nil {
		return err
	}
	fmt.Println(s.Addr())
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}

// touched returns n bytes whose pages are all in memory.
func touched(n int) []byte {
	b := make([]byte, n)
	for i := 0; i < n; i += 4096 {
		b[i] = 1
	}
	return b
}

// fresh serves procFresh, and all others by a rpc.Handler.
type fresh struct{ *rpc.Handler }

func (f fresh) ServeRPC(r *oncrpc.Request) {
	if _, _, proc, ok := oncrpc.Procedure(r.Message); !ok || proc != procFresh || len(r.Message) < 44 {
		f.Handler.ServeRPC(r)
		return
	}
	head, _ := oncrpc.NewReply(xidOf(r), oncrpc.Success).AppendBinary(nil) // cannot fail
	r.Reply(oncrpc.Message{Inline: append(head, touched(int(wordAt(r.Message, 40)))...)}, nil)
}

// resident is a server in another process.
type resident struct {
	addr string
	pid  int
	base int64 // its memory before the attack
}

// startResident starts a server with a MaxMemory.
func startResident(t *testing.T, most int) *resident {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^TestResidentMemoryIsBounded$")
	cmd.Env = append(os.Environ(), residentEnv+"="+strconv.Itoa(most), "GOGC=", "GOMEMLIMIT=")
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = in.Close(), cmd.Wait() })
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	r := &resident{addr: strings.TrimSpace(line), pid: cmd.Process.Pid}
	r.base = r.status(t, "VmRSS:")
	return r
}

// status returns a size from /proc/PID/status, in bytes.
func (r *resident) status(t *testing.T, name string) int64 {
	t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", r.pid))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(b)) {
		if f := strings.Fields(line); len(f) == 3 && f[0] == name {
			n, _ := strconv.ParseInt(f[1], 10, 64)
			return n << 10
		}
	}
	t.Fatalf("no %s in %s", name, b)
	return 0
}

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
		all = append(all, record(xid, 0, 2, 400001, 3, proc, 0, 0, 0, 0, uint32(size))...)
	}
	return all
}

// names returns a Call with a list of n empty names.
func names(n int) []byte {
	b := record(1, 0, 2, 400001, 3, procNames, 0, 0, 0, 0)
	for range n {
		b = append(b, 0, 0, 0, 1, 0, 0, 0, 0)
	}
	b = append(b, 0, 0, 0, 0)
	binary.BigEndian.PutUint32(b, 1<<31|uint32(len(b)-4))
	return b
}

// The memory of a server's process, seen from outside, stays at or below 1.5 x MaxMemory + 32 MiB,
// whatever peers ask for and do not read, with the garbage collector as it is by default. An honest
// client is served at the same time.
func TestResidentMemoryIsBounded(t *testing.T) {
	if most, err := strconv.Atoi(os.Getenv(residentEnv)); err == nil {
		if err := serveResident(most); err != nil {
			t.Fatal(err)
		}
		return
	}
	if xdrtest.Race {
		t.Skip("the race detector takes memory, too")
	}
	rows := []struct {
		name    string
		conns   int
		attack  func(c net.Conn)
		seconds int
		most    int
	}{
		{"4 connections, 64 Calls, 1 MiB", 4, ask(procBlob, 64, 1<<20), 2, 64 << 20},
		{"16 connections, 64 Calls, 1 MiB", 16, ask(procBlob, 64, 1<<20), 2, 64 << 20},
		{"64 connections, 64 Calls, 1 MiB", 64, ask(procBlob, 64, 1<<20), 2, 64 << 20},
		{"16 connections, 64 Calls, 4 MiB", 16, ask(procBlob, 64, 4<<20), 2, 64 << 20},
		{"64 connections, 64 Calls, 16 KiB", 64, ask(procBlob, 64, 16<<10), 2, 64 << 20},
		{"16 connections, 64 Calls, 1 MiB, without package rpc", 16, ask(procFresh, 64, 1<<20), 2, 64 << 20},
		{"6 connections, 64 Calls, 1 MiB, slow readers", 6, func(c net.Conn) {
			_, _ = c.Write(asks(procBlob, 64, 1<<20))
			for b := make([]byte, 64<<10); ; time.Sleep(500 * time.Millisecond) {
				if _, err := io.ReadFull(c, b); err != nil {
					return
				}
			}
		}, 3, 64 << 20},
		{"16 connections, 1000 small replies and then 64 of 4 MiB", 16, func(c net.Conn) {
			go func() { _, _ = c.Write(asks(procBlob, 1000, 4)) }()
			if _, err := io.CopyN(io.Discard, c, 1000*36); err == nil {
				_, _ = c.Write(asks(procBlob, 64, 4<<20))
			}
		}, 3, 64 << 20},
		{"16 connections, 4 MiB of empty names", 16, func(c net.Conn) { _, _ = c.Write(names(4 << 20 / 8)) }, 3, 64 << 20},
		{"64 connections, 10 MiB of empty names twice", 64, func(c net.Conn) {
			for range 2 {
				if _, err := c.Write(names(10 << 20 / 8)); err != nil {
					return
				}
			}
		}, 3, 64 << 20},
		{"16 connections, 4 MiB in records that do not end", 16, func(c net.Conn) {
			b := names(4 << 20 / 8)
			_, _ = c.Write(b[:len(b)-4])
		}, 2, 64 << 20},
		{"16 connections, 64 Calls, 15 MiB, with the default of 256 MiB", 16, ask(procBlob, 64, 15<<20), 3, 256 << 20},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			if testing.Short() && row.most > 64<<20 {
				t.Skip("takes hundreds of MiB")
			}
			s := startResident(t, row.most)
			honest := dial(t, s.addr, nil)
			double(t, honest)
			var attackers sync.WaitGroup
			defer attackers.Wait()
			for range row.conns {
				c := dialUnread(t, s.addr)
				defer c.Close()
				attackers.Go(func() { row.attack(c) })
			}
			calls, slowest := 0, time.Duration(0)
			for end := time.Now().Add(time.Duration(row.seconds) * time.Second); time.Now().Before(end) && !t.Failed(); calls++ {
				began := time.Now()
				double(t, honest)
				slowest = max(slowest, time.Since(began))
			}
			peak := s.status(t, "VmHWM:")
			t.Logf("%4d MiB resident at most, %6d honest calls in %d s, the slowest %v", peak>>20, calls, row.seconds, slowest.Round(time.Millisecond))
			if allowed := int64(row.most + row.most/2 + 32<<20); peak > allowed {
				t.Errorf("%d MiB resident, at most %d are allowed", peak>>20, allowed>>20)
			}
		})
	}
}

// ask makes n Calls for replies of size bytes, and reads none.
func ask(proc uint32, n, size int) func(net.Conn) {
	return func(c net.Conn) { _, _ = c.Write(asks(proc, n, size)) }
}
