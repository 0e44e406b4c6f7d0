// Package isolated runs tests with a network and a folder /run of their own, or with two networks
// that a link joins (Link). In a network all ports are free, port 111 among them, and the services
// of the machine are not affected.
package isolated

import (
	"net"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/witness"
)

// env is set in the process that runs a test.
const env = "TEST_ISOLATED"

// Run reports whether the test runs in namespaces of its own. If it does not, Run runs it again in
// such a process, fails or skips it as that process does, and the test returns:
//
//	func TestReal(t *testing.T) {
//		if !isolated.Run(t) {
//			return
//		}
//
// The network has the loopback device and no other. The process has the environment of this one
// and the variables of more, each of the form NAME=VALUE. Only root may make namespaces: Run skips
// the test for others.
func Run(t *testing.T, more ...string) bool {
	t.Helper()
	ip := witness.Program(t, "ip")
	if os.Getenv(env) == t.Name() {
		if err := syscall.Mount("none", "/run", "tmpfs", 0, ""); err != nil {
			t.Fatal(err)
		}
		if out, err := exec.Command(ip, "link", "set", "lo", "up").CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		return true
	}
	if os.Getuid() != 0 {
		t.Skip("only root may make a network namespace")
	}
	args := []string{"-test.run=^" + t.Name() + "$", "-test.v"}
	if testing.Short() {
		args = append(args, "-test.short")
	}
	cmd := exec.Command(os.Args[0], args...)
	cmd.Env = append(append(os.Environ(), env+"="+t.Name()), more...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET, Unshareflags: syscall.CLONE_NEWNS}
	switch out, err := cmd.CombinedOutput(); {
	case err != nil:
		t.Errorf("%v\n%s", err, out)
	case strings.Contains(string(out), "--- SKIP: "+t.Name()):
		t.Skipf("%s", out)
	case !strings.Contains(string(out), "--- PASS: "+t.Name()):
		t.Errorf("the test did not run:\n%s", out)
	default:
		t.Logf("%s", out)
	}
	return false
}

// Rpcbind starts Debian's rpcbind on port 111, until the end of the test. A test calls it after
// Run.
func Rpcbind(t *testing.T) {
	t.Helper()
	Start(t, exec.Command(witness.Program(t, "rpcbind"), "-f"), "127.0.0.1:111")
}

// Start starts a server, waits until it accepts connections at an address, and kills it at the end
// of the test. Its output is in the log of the test if it does not.
func Start(t *testing.T, cmd *exec.Cmd, addr string) {
	t.Helper()
	var out strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	stop := func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		conn, err := net.Dial("tcp", addr)
		if err == nil {
			_ = conn.Close()
			break
		}
		if time.Now().After(deadline) {
			stop()
			t.Fatalf("%s does not accept connections: %v\n%s", cmd.Path, err, out.String())
		}
	}
	t.Cleanup(stop)
}
