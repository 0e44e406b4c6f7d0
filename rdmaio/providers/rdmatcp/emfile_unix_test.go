//go:build unix

package rdmatcp_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/rdmaio/providers/rdmatcp"
)

// fewFiles makes the test binary a server with few file descriptors.
const fewFiles = "RDMATCP_FEW_FILES"

// A server without free file descriptors counts the errors, and accepts again when it has some.
func TestOutOfFiles(t *testing.T) {
	if os.Getenv(fewFiles) != "" {
		serveWithFewFiles(t)
		return
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*hung)
	defer cancel()
	cmd := exec.CommandContext(ctx, exe, "-test.run=^TestOutOfFiles$")
	cmd.Env = append(os.Environ(), fewFiles+"=1")
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	said := func(key string) string {
		t.Helper()
		for lines.Scan() {
			if value, ok := strings.CutPrefix(lines.Text(), key+"="); ok {
				return value
			}
			t.Log(lines.Text())
		}
		t.Fatalf("the server ended before it said %q", key)
		return ""
	}
	addr := said("address")
	var conns []net.Conn
	for range 100 { // they send nothing, so the server keeps them for its HandshakeTimeout
		c, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		conns = append(conns, c)
	}
	said("out of files")
	for _, c := range conns {
		c.Close()
	}
	s := newSide(t, device(t, nil))
	if _, err := s.dev.Dial(ctx, addr, s.qp, nil); err == nil || !strings.Contains(err.Error(), "rejected") {
		t.Errorf("the server answered with %v, want its rejection", err)
	}
	in.Close()
	for lines.Scan() {
		t.Log(lines.Text())
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("the server: %v", err)
	}
}

// serveWithFewFiles is the server. It rejects the first connection that does its handshake.
func serveWithFewFiles(t *testing.T) {
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Cur: 64, Max: 64}); err != nil {
		t.Fatal(err)
	}
	d := device(t, &rdmatcp.Config{HandshakeTimeout: time.Hour})
	ln, err := d.Listen(context.Background(), local)
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	fmt.Printf("\naddress=%s\n", ln.Addr())
	ctx, cancel := context.WithTimeout(context.Background(), hung)
	defer cancel()
	for d.Stats().AcceptErrors == 0 && ctx.Err() == nil {
		time.Sleep(time.Millisecond)
	}
	fmt.Printf("\nout of files=%d\n", d.Stats().AcceptErrors)
	req, err := ln.Accept(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if err := req.Reject(nil); err != nil {
		t.Error(err)
	}
	_, _ = io.ReadAll(os.Stdin) // closing the device at once would lose the answer
}
