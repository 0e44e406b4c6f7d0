package rpcbind

import (
	"context"
	"errors"
	"net/netip"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/witness"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/tcp"
)

// insideEnv is set in the process that runs the test in namespaces of its own.
const insideEnv = "RPCBIND_INSIDE"

// The client registers, looks up and removes services at a real rpcbind. R317
//
// The server has a network namespace and a /run of its own. Port 111 is free there, and the rpcbind
// of the machine is not affected.
func TestRealServer(t *testing.T) {
	rpcbind, ip := witness.Program(t, "rpcbind"), witness.Program(t, "ip")
	if os.Getenv(insideEnv) != "" {
		useRealServer(t, rpcbind, ip)
		return
	}
	if os.Getuid() != 0 {
		t.Skip("only root may make a network namespace")
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestRealServer$", "-test.v")
	cmd.Env = append(os.Environ(), insideEnv+"=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET, Unshareflags: syscall.CLONE_NEWNS}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

func useRealServer(t *testing.T, rpcbind, ip string) {
	if err := syscall.Mount("none", "/run", "tmpfs", 0, ""); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(ip, "link", "set", "lo", "up").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	server := exec.Command(rpcbind, "-f")
	server.Stdout, server.Stderr = os.Stdout, os.Stderr
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = server.Process.Kill()
		_ = server.Wait()
	}()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	conn := dial(t, ctx, "127.0.0.1:111")
	defer conn.Close()
	c := NewClient(conn, nil)

	const prog, vers, owner = 100003, 4, "superuser"
	here, everywhere, six := netip.MustParseAddrPort("127.0.0.1:20049"), netip.MustParseAddrPort("0.0.0.0:20050"), netip.MustParseAddrPort("[2001:db8::1]:20049")
	lookup := func(vers uint32, netID string, want netip.AddrPort) {
		t.Helper()
		if got, err := c.Lookup(ctx, prog, vers, netID); got != want || errors.Is(err, ErrNotRegistered) != !want.IsValid() {
			t.Errorf("version %d on %s: %v, %v; want %v", vers, netID, got, err, want)
		}
	}
	lookup(vers, oncrpc.NetIDRDMA, netip.AddrPort{})
	for vers, at := range map[uint32]netip.AddrPort{vers: here, 5: everywhere, 6: six} {
		if err := c.Set(ctx, prog, vers, at, owner); err != nil {
			t.Errorf("set version %d: %v", vers, err)
		}
	}
	lookup(vers, oncrpc.NetIDRDMA, here)
	lookup(5, oncrpc.NetIDRDMA, netip.AddrPortFrom(here.Addr(), everywhere.Port()))
	lookup(6, oncrpc.NetIDRDMA6, six)
	lookup(vers, oncrpc.NetIDRDMA6, netip.AddrPort{})

	// A registration stays until it is removed.
	if err := c.Set(ctx, prog, vers, everywhere, owner); !errors.Is(err, ErrRefused) {
		t.Errorf("a second registration: %v", err)
	}
	if err := c.Unset(ctx, prog, vers, oncrpc.NetIDRDMA, owner); err != nil {
		t.Errorf("unset: %v", err)
	}
	lookup(vers, oncrpc.NetIDRDMA, netip.AddrPort{})
	lookup(6, oncrpc.NetIDRDMA6, six)
}

// dial connects to a server that may not be listening yet.
func dial(t *testing.T, ctx context.Context, addr string) *tcp.Conn {
	t.Helper()
	for {
		conn, err := tcp.Dial(ctx, addr, nil)
		if err == nil {
			return conn
		}
		if ctx.Err() != nil {
			t.Fatalf("rpcbind does not answer: %v", err)
		}
		time.Sleep(10 * time.Millisecond)
	}
}
