package main

import (
	"bufio"
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// serve takes a socket that was passed to it, over TCP and UDP, and says to the service manager
// when it is ready and when it ends.
func TestServeAtPassedSocket(t *testing.T) {
	if line := os.Getenv("SERVE_ACTIVATED"); line != "" {
		os.Setenv("LISTEN_PID", strconv.Itoa(os.Getpid()))
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		go func() { // until the test closes the pipe
			_, _ = os.Stdin.Read(make([]byte, 1))
			cancel()
		}()
		if code := run(ctx, strings.Fields(line), environment{stdout: os.Stdout, stderr: os.Stderr}); code != exitDone {
			t.Errorf("exit %d", code)
		}
		return
	}
	notices, err := net.ListenPacket("unixgram", filepath.Join(t.TempDir(), "notify"))
	if err != nil {
		t.Fatal(err)
	}
	defer notices.Close()
	notice := func(want string) {
		t.Helper()
		b := make([]byte, 100)
		if n, _, err := notices.ReadFrom(b); err != nil || string(b[:n]) != want {
			t.Errorf("notice %q, %v, want %q", b[:n], err, want)
		}
	}
	for _, carrier := range []string{"tcp", "udp"} {
		var socket interface {
			File() (*os.File, error)
			Close() error
		}
		var at string
		if carrier == "tcp" {
			ln, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			socket, at = ln.(*net.TCPListener), ln.Addr().String()
		} else {
			pc, err := net.ListenPacket("udp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			socket, at = pc.(*net.UDPConn), pc.LocalAddr().String()
		}
		f, err := socket.File()
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$")
		cmd.ExtraFiles = []*os.File{f}
		cmd.Env = append(os.Environ(), "SERVE_ACTIVATED=serve -carrier "+carrier+" systemd:rpc", "LISTEN_FDS=1", "LISTEN_FDNAMES=rpc", "NOTIFY_SOCKET="+notices.LocalAddr().String())
		stdin, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		stderr, err := cmd.StderrPipe()
		if err == nil {
			err = cmd.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		f.Close()
		socket.Close()
		if ready, err := bufio.NewReader(stderr).ReadString('\n'); ready != "ready "+at+"\n" {
			t.Errorf("%q, %v", ready, err)
		}
		notice("READY=1")
		if code, out, errs := try(context.Background(), "conform", "-carrier", carrier, "-run", "^message/null", at); code != exitDone {
			t.Errorf("conform -carrier %s: exit %d, %s%s", carrier, code, out, errs)
		}
		stdin.Close()
		notice("STOPPING=1")
		if err := cmd.Wait(); err != nil {
			t.Error(err)
		}
	}
}

// Without a socket serve says where it comes from, which RDMA does not have.
func TestServeWithoutPassedSocket(t *testing.T) {
	for args, want := range map[string]string{
		"serve -carrier tcp systemd:rpc": "try: a socket unit of systemd", "serve -carrier udp systemd:": "a datagram socket with the name",
		"serve systemd:rpc": "systemd has no sockets for RDMA",
	} {
		if code, _, errs := try(context.Background(), strings.Fields(args)...); code == exitDone || !strings.Contains(errs, want) {
			t.Errorf("%s: exit %d, %s", args, code, errs)
		}
	}
}
