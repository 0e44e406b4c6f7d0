//go:build linux

package main

import (
	"context"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rpcrdma/rpcrdma/internal/witness"
	"github.com/rpcrdma/rpcrdma/test/linuxpeer/internal/guest"
)

// connect returns a connection whose other end is an agent on this machine.
func connect(t *testing.T) net.Conn {
	t.Helper()
	witness.Program(t, "sh")
	ln, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	conn, err := net.Dial("tcp4", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	far, err := ln.Accept()
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer far.Close()
		_ = handle(far) // an error of a connection that the test closes
	}()
	t.Cleanup(func() {
		conn.Close()
		<-done
	})
	return conn
}

func TestCommands(t *testing.T) {
	long := strings.Repeat("0123456789abcdef", 20000)
	for _, tt := range []struct {
		name  string
		cmd   guest.Command
		want  guest.Result
		start string // part of the reason why it did not start
	}{
		{name: "output", cmd: guest.Command{Argv: []string{"sh", "-c", "echo out; echo err >&2; exit 3"}}, want: guest.Result{Code: 3, Stdout: "out\n", Stderr: "err\n"}},
		{name: "no input", cmd: guest.Command{Argv: []string{"cat"}}},
		{name: "input", cmd: guest.Command{Argv: []string{"cat"}, Stdin: strings.NewReader(long)}, want: guest.Result{Stdout: long}},
		{name: "input that is not read", cmd: guest.Command{Argv: []string{"true"}, Stdin: strings.NewReader(long)}},
		{name: "a signal", cmd: guest.Command{Argv: []string{"sh", "-c", "kill -TERM $$"}}, want: guest.Result{Code: 143}},
		{name: "environment", cmd: guest.Command{Argv: []string{"sh", "-c", "echo $A; pwd"}, Env: []string{"A=b"}}, want: guest.Result{Stdout: "b\n/\n"}},
		{name: "no such program", cmd: guest.Command{Argv: []string{"/nowhere"}}, want: guest.Result{Code: 127}, start: "no such file"},
		{name: "no program", want: guest.Result{Code: 126}, start: "no program"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, start, err := guest.Exchange(connect(t), tt.cmd)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if !strings.Contains(start, tt.start) || (start == "") != (tt.start == "") {
				t.Errorf("start: %q, want %q", start, tt.start)
			}
		})
	}
}

// A terminal echoes, and its program is interrupted by ^C.
func TestTerminal(t *testing.T) {
	in, typed := io.Pipe()
	defer typed.Close()
	out, shown := io.Pipe()
	cmd := guest.Command{Argv: []string{"sh", "-c", "trap 'echo stopped; exit 5' INT; echo go; while :; do sleep 0.01; done"}, Stdin: in, Stdout: shown, TTY: true}
	go func() {
		buf := make([]byte, 100)
		if n, err := out.Read(buf); err == nil && strings.Contains(string(buf[:n]), "go") {
			_, _ = typed.Write([]byte{3})
		}
		_, _ = io.Copy(io.Discard, out)
	}()
	got, start, err := guest.Exchange(connect(t), cmd)
	if err != nil || start != "" || got.Code != 5 {
		t.Errorf("%+v %q %v, want exit code 5", got, start, err)
	}
}

// When the connection ends, so does the command, with the processes that it started.
func TestConnectionEnds(t *testing.T) {
	conn := connect(t)
	file := filepath.Join(t.TempDir(), "running")
	go func() {
		_, _, _ = guest.Exchange(conn, guest.Command{Argv: []string{"sh", "-c", `sleep 1000 & echo $! >"$1".part; mv "$1".part "$1"; wait`, "sh", file}})
	}()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	await := func(what string, ready func() bool) {
		for !ready() {
			select {
			case <-ctx.Done():
				t.Fatal("no ", what)
			case <-time.After(5 * time.Millisecond):
			}
		}
	}
	await("process", func() bool { _, err := os.Stat(file); return err == nil })
	pid, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	conn.Close()
	await("end of the process", func() bool {
		state, err := os.ReadFile("/proc/" + strings.TrimSpace(string(pid)) + "/stat")
		return err != nil || strings.Contains(string(state), ") Z ") // gone, or not yet collected
	})
}
