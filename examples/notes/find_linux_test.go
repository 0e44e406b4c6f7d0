package main

import (
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/witness"
)

// The commands of the page with rpcbind print what it says. They run with a network and a /run of
// their own, as port 111 belongs to the rpcbind of the machine.
func TestFind(t *testing.T) {
	rpcbind, rpcinfo, ip := witness.Program(t, "rpcbind"), witness.Program(t, "rpcinfo"), witness.Program(t, "ip")
	const programEnv = "NOTES_PROGRAM"
	program := os.Getenv(programEnv)
	if program == "" {
		if testing.Short() {
			t.Skip("builds the command")
		}
		if os.Getuid() != 0 {
			t.Skip("only root may make a network namespace")
		}
		cmd := exec.Command(os.Args[0], "-test.run=^TestFind$", "-test.v")
		cmd.Env = append(os.Environ(), programEnv+"="+build(t))
		cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET, Unshareflags: syscall.CLONE_NEWNS}
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
		return
	}
	if err := syscall.Mount("none", "/run", "tmpfs", 0, ""); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(ip, "link", "set", "lo", "up").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	s := &shell{t: t, program: program, tcpAddr: "127.0.0.1:20200", rdmaAddr: "127.0.0.1:20201"}
	for _, c := range commands(t, "8. Find a service: rpcbind") {
		switch {
		case c[0] == "sudo rpcbind":
			server := exec.Command(rpcbind, "-f")
			if err := server.Start(); err != nil {
				t.Fatal(err)
			}
			defer func() {
				_ = server.Process.Kill()
				_ = server.Wait()
			}()
			for deadline := time.Now().Add(20 * time.Second); exec.Command(rpcinfo, "-p", "127.0.0.1").Run() != nil; {
				if time.Now().After(deadline) {
					t.Fatal("rpcbind does not answer")
				}
				time.Sleep(10 * time.Millisecond)
			}
		case strings.HasPrefix(c[0], "rpcinfo "):
			out, err := exec.Command(rpcinfo, strings.Fields(c[0])[1:]...).CombinedOutput()
			if err != nil || string(out) != c[1] {
				t.Errorf("%s: %v, printed %q, the page says %q", c[0], err, out, c[1])
			}
		default:
			s.run(c[0], c[1])
		}
	}
}
