package cases

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/rpcrdma/rpcrdma/test/linuxpeer/internal/guest"
)

// T is a case that runs. Fatalf, Skipf and the methods that say so stop the case: call them from
// its own goroutine only. All other methods may be called from any.
type T struct {
	env   *Env
	run   context.Context // of the run; ctx has the case's time limit too
	ctx   context.Context
	guest *guest.Guest
	mark  int // lines of its console before the case
	dir   string

	mu       sync.Mutex
	log      []string
	failed   []string
	cut      bool // a failure was reported after the end of the run
	skipped  string
	text     string
	findings []Finding
	cleanups []func()
}

// Context is done at the case's time limit, or when the run is interrupted.
func (t *T) Context() context.Context { return t.ctx }

// Guest returns the guest.
func (t *T) Guest() *guest.Guest { return t.guest }

// KernelLog returns the lines that the guest's kernel has logged since the case began.
func (t *T) KernelLog() []string { return t.guest.Console.Since(t.mark) }

// Kernel returns the release of the guest's kernel, such as "6.1.0-56-amd64".
func (t *T) Kernel() string { return t.env.Kernel }

// Dir returns a folder of the host for the case's files. It is kept if the case fails.
func (t *T) Dir() string { return t.dir }

// Run runs a program in the guest and returns its standard output without the space around it. If
// the program cannot be run or has another exit code than 0, the case fails and ends.
func (t *T) Run(argv ...string) string {
	res, err := t.guest.Run(t.ctx, argv...)
	t.Logf("guest$ %s\n%s%s", strings.Join(argv, " "), res.Stdout, res.Stderr)
	t.Must(err)
	return strings.TrimSpace(res.Stdout)
}

// Shell runs a script of busybox's shell in the guest, as Run does.
func (t *T) Shell(script string) string { return t.Run("sh", "-c", script) }

// Process is a program in the guest that runs in parallel to the case.
type Process struct {
	t      *T
	cancel context.CancelFunc
	done   chan struct{}
	out    *lines
	res    guest.Result
	err    error
}

// Background starts a program in the guest. It is killed at the end of the case.
func (t *T) Background(argv ...string) *Process {
	ctx, cancel := context.WithCancel(t.ctx)
	p := &Process{t: t, cancel: cancel, done: make(chan struct{}), out: newLines()}
	go func() {
		defer close(p.done)
		p.res, p.err = t.guest.Do(ctx, guest.Command{Argv: argv, Stdout: p.out, Stderr: p.out})
		p.out.close()
	}()
	t.Cleanup(func() {
		cancel()
		<-p.done
		t.Logf("guest$ %s &\n%s", strings.Join(argv, " "), p.out.String())
	})
	return p
}

// Wait blocks until the program ends, and returns all its output and its error: a
// [*guest.ExitError] for another exit code than 0.
func (p *Process) Wait() (string, error) {
	<-p.done
	return p.out.String(), p.err
}

// Await blocks until the output contains text. If the program or the case ends first, the case
// fails and ends. Programs that buffer their output show it late.
func (p *Process) Await(text string) { p.out.await(p.t, text) }

// Stop kills the program.
func (p *Process) Stop() {
	p.cancel()
	<-p.done
}

// Await blocks until a condition holds. If the case ends first, it fails.
func (t *T) Await(what string, holds func() bool) {
	for !holds() {
		select {
		case <-time.After(20 * time.Millisecond):
		case <-t.ctx.Done():
			t.Fatalf("no %s (%v)", what, context.Cause(t.ctx))
		}
	}
}

// AwaitListener blocks until the guest listens on a TCP port. The forward of a port cannot say so.
func (t *T) AwaitListener(port int) {
	script := fmt.Sprintf(`until netstat -ltn | grep -q ':%d '; do sleep 0.1; done`, port)
	t.Shell(script)
}

// Forward returns an address of the host that leads to a TCP port of the guest. A connection to it
// succeeds even if nothing listens in the guest: it then ends without a byte.
func (t *T) Forward(port int) string {
	addr, err := t.guest.Forward(port)
	t.Must(err)
	return addr
}

// Dial connects to a TCP port of the guest. The connection ends with the case, and its deadline is
// the case's.
func (t *T) Dial(port int) net.Conn {
	conn, err := (&net.Dialer{}).DialContext(t.ctx, "tcp4", t.Forward(port))
	t.Must(err)
	t.Cleanup(func() { conn.Close() })
	deadline, _ := t.ctx.Deadline()
	t.Must(conn.SetDeadline(deadline))
	return conn
}

// Listen listens on a port of the host, which the guest reaches at the address that Listen returns.
// The listener is closed at the end of the case.
func (t *T) Listen() (ln net.Listener, fromGuest string) {
	ln, err := net.Listen("tcp4", "127.0.0.1:0")
	t.Must(err)
	stop := context.AfterFunc(t.ctx, func() { ln.Close() }) // Accept must not outlive the case
	t.Cleanup(func() {
		stop()
		ln.Close()
	})
	return ln, net.JoinHostPort(guest.HostAddr, strconv.Itoa(ln.Addr().(*net.TCPAddr).Port))
}

// Report adds a row to docs/interop.md. A row with an empty Expected is a fact that no document
// decides.
func (t *T) Report(f Finding) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.findings = append(t.findings, f)
	mark := ""
	if f.Deviation {
		mark = " (deviation)"
	}
	t.log = append(t.log, fmt.Sprintf("finding: %s: %s%s", f.What, f.Saw, mark))
}

// Say sets the text on the case's line of the output.
func (t *T) Say(format string, args ...any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = fmt.Sprintf(format, args...)
}

// Logf adds to the case's log, which is shown if it fails.
func (t *T) Logf(format string, args ...any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.log = append(t.log, strings.TrimRight(fmt.Sprintf(format, args...), "\n"))
}

// Errorf makes the case fail.
func (t *T) Errorf(format string, args ...any) { t.fail(fmt.Sprintf(format, args...)) }

// Fatalf makes the case fail and stops it.
func (t *T) Fatalf(format string, args ...any) {
	t.fail(fmt.Sprintf(format, args...))
	panic(errStopped)
}

// Must makes the case fail and stops it if err is not nil.
func (t *T) Must(err error) {
	if err != nil {
		if cause := context.Cause(t.ctx); cause != nil && !errors.Is(err, cause) {
			t.Fatalf("%v (%v)", err, cause)
		}
		t.Fatalf("%v", err)
	}
}

// Skipf marks the case as skipped and stops it.
func (t *T) Skipf(format string, args ...any) {
	t.mu.Lock()
	t.skipped = fmt.Sprintf(format, args...)
	t.mu.Unlock()
	panic(errStopped)
}

// Cleanup calls f at the end of the case, after the functions that were added later.
func (t *T) Cleanup(f func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.cleanups = append(t.cleanups, f)
}

// WriteFile writes a file in the case's folder.
func (t *T) WriteFile(name string, data []byte) {
	t.Must(os.WriteFile(filepath.Join(t.dir, name), data, 0o644))
}

// fail makes the case fail. After the end of the run, which interrupts all that a case does, it
// cuts the case instead: the failure says nothing about the peer.
func (t *T) fail(text string) {
	if t.run.Err() != nil {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.cut = true
		return
	}
	t.blame(text)
}

// blame makes the case fail for something that the end of the run does not explain.
func (t *T) blame(text string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.failed = append(t.failed, text)
	t.log = append(t.log, "FAIL: "+text)
}

func (t *T) cleanup() {
	t.mu.Lock()
	list := slices.Clone(t.cleanups)
	t.mu.Unlock()
	for _, f := range slices.Backward(list) {
		t.protect(f)
	}
}

// lines is the output of a program while it runs, or a log.
type lines struct {
	mu   sync.Mutex
	b    []byte
	more chan struct{}
	end  bool
}

func newLines() *lines { return &lines{more: make(chan struct{})} }

// await blocks until the output contains text. If the output or the case ends first, the case fails
// and ends.
func (l *lines) await(t *T, text string) {
	for {
		have, more, end := l.state()
		if strings.Contains(have, text) {
			return
		}
		if end {
			t.Fatalf("the program ended without the output %q: %q", text, have)
		}
		select {
		case <-more:
		case <-t.ctx.Done():
			t.Fatalf("no output %q: %q", text, have)
		}
	}
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.b = append(l.b, p...)
	close(l.more)
	l.more = make(chan struct{})
	return len(p), nil
}

func (l *lines) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.end = true
	close(l.more)
	l.more = make(chan struct{})
}

func (l *lines) state() (string, <-chan struct{}, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return string(l.b), l.more, l.end
}

func (l *lines) String() string {
	s, _, _ := l.state()
	return s
}
