package isolated

import (
	"fmt"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/rpcrdma/rpcrdma/internal/witness"
)

// Link is two network namespaces of this process, joined by one network.
type Link struct {
	Near, Far *Namespace
	t         testing.TB
}

// Addresses of the ends of a Link.
const (
	NearAddr = "192.0.2.1"
	FarAddr  = "192.0.2.2"
)

// NewLink makes a Link, until the end of the test. It skips the test if the process may not make
// namespaces.
func NewLink(t testing.TB) *Link {
	t.Helper()
	ip := witness.Program(t, "ip")
	l := &Link{newNamespace(t, ip), newNamespace(t, ip), t}
	l.Near.ip("link add near type veth peer name far")
	l.Near.ip("link set far netns " + l.Far.path)
	l.Near.ip("addr add " + NearAddr + "/24 dev near")
	l.Near.ip("link set near up")
	l.Far.ip("addr add " + FarAddr + "/24 dev far")
	l.Far.ip("link set far up")
	return l
}

// Cut drops all further packets in both directions. No end learns of it: there is no reset, and no
// report that a host cannot be reached.
func (l *Link) Cut() {
	l.t.Helper()
	const stranger = " lladdr 02:00:00:00:00:01 nud permanent dev "
	l.Near.ip("neigh replace " + FarAddr + stranger + "near")
	l.Far.ip("neigh replace " + NearAddr + stranger + "far")
}

// Namespace is a network namespace, in which functions can run.
type Namespace struct {
	t       testing.TB
	command string // ip
	path    string // of its file
	run     chan func()
}

func newNamespace(t testing.TB, ip string) *Namespace {
	t.Helper()
	n := &Namespace{t: t, command: ip, run: make(chan func())}
	made := make(chan error)
	go func() {
		// Never unlocked: the thread and its namespace end with the goroutine.
		runtime.LockOSThread()
		made <- syscall.Unshare(syscall.CLONE_NEWNET)
		for f := range n.run {
			f()
		}
	}()
	t.Cleanup(func() { close(n.run) })
	if err := <-made; err != nil {
		t.Skipf("needs the right to make network namespaces (CAP_SYS_ADMIN): %v", err)
	}
	n.Do(func() { n.path = fmt.Sprintf("/proc/%d/task/%d/ns/net", syscall.Getpid(), syscall.Gettid()) })
	return n
}

// Do runs f in the namespace. Sockets that it creates stay there. f must not call a function that
// ends its goroutine, as t.Fatal does.
func (n *Namespace) Do(f func()) {
	done := make(chan struct{})
	n.run <- func() { defer close(done); f() }
	<-done
}

// ip runs the command of this name in the namespace.
func (n *Namespace) ip(args string) {
	n.t.Helper()
	var out []byte
	var err error
	n.Do(func() { out, err = exec.Command(n.command, strings.Fields(args)...).CombinedOutput() })
	switch {
	case err == nil:
	case strings.Contains(string(out), "not permitted"), strings.Contains(string(out), "not supported"):
		n.t.Skipf("needs virtual Ethernet (CAP_NET_ADMIN): ip %s: %s", args, out)
	default:
		n.t.Fatalf("ip %s: %v: %s", args, err, out)
	}
}
