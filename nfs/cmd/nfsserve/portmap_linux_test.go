package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/isolated"
	"github.com/rpcrdma/rpcrdma/internal/witness"
	"github.com/rpcrdma/rpcrdma/nfs/gen/nlm4"
	"github.com/rpcrdma/rpcrdma/nfs/gen/nlm4/nlm4rpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/rpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/tcp"
)

// command builds the command and returns its path. All users may run it.
func command(t *testing.T) string {
	t.Helper()
	base := t.TempDir()
	for _, dir := range []string{filepath.Dir(base), base} {
		check(t, os.Chmod(dir, 0o755))
	}
	program := filepath.Join(base, "nfsserve")
	if out, err := exec.Command("go", "build", "-o", program, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return program
}

// alone reports whether a test runs with a network of its own, where port 111 is free.
func alone(t *testing.T) bool {
	t.Helper()
	if testing.Short() {
		t.Skip("builds the command")
	}
	return isolated.Run(t)
}

// served returns a directory with a file.
func served(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "dir")
	check(t, os.Mkdir(dir, 0o777))
	check(t, os.Chmod(dir, 0o777))
	check(t, os.WriteFile(filepath.Join(dir, "greeting"), []byte("hello\n"), 0o644))
	return dir
}

// output runs a program, and returns its output.
func output(t *testing.T, name string, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
	defer cancel()
	out, err := exec.CommandContext(ctx, witness.Program(t, name), args...).CombinedOutput()
	if err != nil {
		t.Errorf("%s %v: %v\n%s", name, args, err, out)
	}
	return string(out)
}

// wants checks that a text has others.
func wants(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("%q is not in\n%s", part, text)
		}
	}
}

// reachable checks that clients of other projects find the services without any port.
func reachable(t *testing.T) {
	t.Helper()
	wants(t, output(t, "showmount", "-e", "127.0.0.1"), "/export")
	if got := output(t, "nfs-cat", "nfs://127.0.0.1/export/greeting"); got != "hello\n" {
		t.Errorf("nfs-cat: %q", got)
	}
	wants(t, output(t, "rpcinfo", "-T", "udp", "127.0.0.1", "100005", "3"), "ready and waiting")
	wants(t, output(t, "rpcinfo", "-T", "tcp", "127.0.0.1", "100003", "3"), "ready and waiting")
	for _, transport := range []string{"tcp", "udp"} {
		wants(t, output(t, "rpcinfo", "-T", transport, "127.0.0.1", "100021", "4"), "ready and waiting")
	}
	wants(t, output(t, "rpcinfo", "127.0.0.1"), "rdma")
}

// With a port mapper of its own, rpcinfo, showmount and libnfs find the server. A version of NFS
// that it does not have is PROG_MISMATCH, NFSACL is PROG_UNAVAIL, and neither is logged.
func TestOwnPortmapper(t *testing.T) {
	if !alone(t) {
		return
	}
	program := command(t)
	cmd := exec.Command(program, served(t))
	var stderr bytes.Buffer
	wants(t, launch(t, cmd, &stderr), ", port mapper 127.0.0.1:111")
	reachable(t)
	wants(t, output(t, "rpcinfo", "-T", "udp", "127.0.0.1", "100000"), "version 2 ready", "version 3 ready", "version 4 ready")
	conn, err := tcp.Dial(t.Context(), "127.0.0.1:2049", nil)
	check(t, err)
	defer conn.Close()
	if err := rpc.NewClient(conn, oncrpc.Program{Number: 100003, Version: 4}, nil).Call(t.Context(), 0, nil, nil, nil); !errors.Is(err, oncrpc.ErrProgMismatch) {
		t.Errorf("NFS version 4: %v", err)
	}
	if err := rpc.NewClient(conn, oncrpc.Program{Number: 100227, Version: 3}, nil).Call(t.Context(), 0, nil, nil, nil); !errors.Is(err, oncrpc.ErrProgUnavail) {
		t.Errorf("NFSACL: %v", err)
	}
	end(t, cmd)
	if stderr.Len() > 0 {
		t.Errorf("on stderr: %s", stderr.String())
	}
}

// Where rpcbind runs, the server registers there, replaces what a killed server has left behind,
// and removes its registrations at the end.
func TestSystemRPCBind(t *testing.T) {
	if !alone(t) {
		return
	}
	program := command(t)
	isolated.Rpcbind(t)
	dir := served(t)
	for _, addr := range []string{"127.0.0.1:2049", "127.0.0.1:2049", "127.0.0.1:2050"} {
		cmd := exec.Command(program, "-tcp", addr, dir)
		wants(t, launch(t, cmd, os.Stderr), ", port mapper unix:/run/rpcbind.sock")
		wants(t, output(t, "rpcinfo", "-p", "127.0.0.1"), addr[len("127.0.0.1:"):]+"  nfs")
		reachable(t)
		check(t, cmd.Process.Kill())
		_ = cmd.Wait() // killed
	}
	cmd := exec.Command(program, "-portmap", "system", dir)
	launch(t, cmd, os.Stderr)
	reachable(t)
	other := exec.Command(program, "-tcp", "127.0.0.1:2051", "-rdma", "", "-portmap", "system", served(t))
	if out, err := other.CombinedOutput(); err == nil || !strings.Contains(string(out), "another server of program 100003 is registered at tcp 127.0.0.1:2049: it runs") {
		t.Errorf("a second server: %v\n%s", err, out)
	}
	reachable(t)
	end(t, cmd)
	if out := output(t, "rpcinfo", "127.0.0.1"); strings.Contains(out, "nfs") || strings.Contains(out, "mountd") || strings.Contains(out, "nlockmgr") {
		t.Errorf("after the end:\n%s", out)
	}
}

// A host that uses NFS itself has the lock manager of the kernel at rpcbind. Its registration
// stays, and the other services are registered.
func TestOtherLockManager(t *testing.T) {
	if !alone(t) {
		return
	}
	program := command(t)
	isolated.Rpcbind(t)
	kernel, err := tcp.Listen(t.Context(), "127.0.0.1:0", rpc.NewHandler(nil, rpc.NewService(nlm4rpc.Program())), nil)
	check(t, err)
	defer kernel.Close()
	locks := at(nlm4.Program, nlm4.Version, oncrpc.NetIDTCP, kernel.Addr())
	_, remove, err := register(t.Context(), locks, io.Discard)
	check(t, err)
	registered := func() bool {
		return strings.Contains(output(t, "rpcinfo", "-p", "127.0.0.1"), "tcp  "+port(kernel.Addr())+"  nlockmgr")
	}
	var stderr bytes.Buffer
	cmd := exec.Command(program, "-portmap", "system", served(t))
	launch(t, cmd, &stderr)
	reachable(t)
	end(t, cmd)
	wants(t, stderr.String(), "another server of program 100021 is registered at tcp "+kernel.Addr()+": it runs", "clients must mount with -o nolock")
	if !registered() {
		t.Error("the other lock manager is not registered after the end of the server")
	}

	check(t, remove())
}

// To a user that may not listen at port 111, the server says how to mount, and runs.
func TestPortmapDenied(t *testing.T) {
	if !alone(t) {
		return
	}
	program := command(t)
	base, err := os.MkdirTemp("", "nfs3")
	check(t, err)
	defer os.RemoveAll(base)
	dir := filepath.Join(base, "dir")
	check(t, os.Mkdir(dir, 0o755))
	check(t, os.Chown(base, 65534, 65534))
	cmd := exec.Command(program, dir)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	var stderr bytes.Buffer
	if line := launch(t, cmd, &stderr); strings.Contains(line, "port mapper") {
		t.Error(line)
	}
	wants(t, output(t, "nfs-ls", "nfs://127.0.0.1/export?nfsport=2049&mountport=2049"))
	end(t, cmd)
	wants(t, stderr.String(), "port 111 needs root or CAP_NET_BIND_SERVICE", "-o vers=3,nolock,tcp,port=2049,mountport=2049,mountproto=tcp")
	if n := strings.Count(stderr.String(), "\n"); n != 1 {
		t.Errorf("%d lines: %s", n, stderr.String())
	}
}

// The log has a line for each call.
func TestCallLog(t *testing.T) {
	if !alone(t) {
		return
	}
	program := command(t)
	for flag, want := range map[string][]string{
		"-json=false": {"program 100003 v3 NFSPROC3_READ: NFS3_OK, ", "program 100005 v3 MOUNTPROC3_MNT: MNT3_OK, ", "program 100000 v2 3: SUCCESS, ", "program 100021 v4 NLMPROC4_LOCK: NLM4_STALE_FH, ", "program 100021 v4 NLMPROC4_NULL: SUCCESS, "},
		"-json":       {`"procedure":"NFSPROC3_READ","status":"NFS3_OK","call_bytes":`, `"v":1,"type":"call"`, `"program":100000`},
	} {
		cmd := exec.Command(program, "-log", flag, served(t))
		var stderr bytes.Buffer
		launch(t, cmd, &stderr)
		output(t, "nfs-cat", "nfs://127.0.0.1/export/greeting")
		conn, err := tcp.Dial(t.Context(), "127.0.0.1:2049", nil)
		check(t, err)
		locks := nlm4rpc.NewClient(conn, nil)
		_, err = locks.Lock(t.Context(), &nlm4.LockArgs{Cookie: nlm4.Object("a cookie")})
		check(t, errors.Join(err, locks.Null(t.Context()), conn.Close()))
		end(t, cmd)
		wants(t, stderr.String(), want...)
	}
}

// launch starts the command, and returns the line that it prints. stderr is read after end.
func launch(t *testing.T, cmd *exec.Cmd, stderr io.Writer) string {
	t.Helper()
	t.Cleanup(func() { _ = cmd.Process.Kill() }) // if the test fails
	return begin(t, cmd, stderr)
}

// end ends the command.
func end(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	check(t, cmd.Process.Signal(syscall.SIGTERM))
	if err := cmd.Wait(); err != nil {
		t.Errorf("the server ended with %v", err)
	}
}
