package cases

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"time"

	"github.com/rpcrdma/rpcrdma/test/linuxpeer/internal/guest"
)

// Case is one case: its name, its time limit, its function, and whether it needs its own guest.
type Case struct {
	Name string // Name is the family, a slash, and the rest; unique.
	// Timeout limits the time of Run and its clean-up. If zero, the default is 30 s.
	Timeout time.Duration
	Run     func(t *T) // Run is the case.

	// Own gives the case its own guest, which is shut down after the case. Problems in the log of
	// its kernel do not fail the case: it looks for those that it expects with [T.KernelLog].
	Own bool
}

const defaultTimeout = 30 * time.Second

// Status is the result of a case.
type Status string

// The results.
const (
	Pass Status = "PASS"
	Fail Status = "FAIL"
	Skip Status = "SKIP"
	Cut  Status = "CUT" // the run ended during the case, which had not failed
)

// Finding is a row of docs/interop.md: a property of Linux that a case has seen.
type Finding struct {
	What     string // What names the property, or the bytes that were sent.
	Rule     string // Rule is the document and section, such as "RFC 5044 §7.1.2".
	Expected string // Expected is the behaviour that Rule requires.
	Saw      string // Saw is the behaviour of Linux.
	// Deviation says that the two differ: Linux departs from Rule, or its choice needs care.
	Deviation bool
}

// Result is the outcome of a case.
type Result struct {
	Name     string
	Status   Status
	Time     time.Duration
	Text     string    // Text is one line: the observation, or the reason for a failure or skip.
	Log      []string  // Log has the lines that the case logged, with its failures.
	Findings []Finding // Findings are the rows for docs/interop.md.
}

// Env is the environment of cases.
type Env struct {
	Kernel string // Kernel is the release of the guest's kernel, such as "6.1.0-56-amd64".
	Dir    string // Dir is the folder in which each case has a folder for its files.
	Keep   bool   // Keep keeps the files of cases that passed.
	Size   int64  // Size is the size in bytes of the tree that the cases nfs-tree copy.

	// Start starts a guest: for a case that has its own, and after a case that has harmed the one
	// that the others share.
	Start func(context.Context) (*guest.Guest, error)

	shared *guest.Guest
	judged int // lines of its console that were judged
}

// Use makes g the guest that cases share. Close shuts it down.
func (e *Env) Use(g *guest.Guest) { e.shared, e.judged = g, 0 }

// Close shuts down the guest and returns the problems in its log that no case was blamed for. A
// case that runs after Close gets a new guest.
func (e *Env) Close() []guest.Problem {
	if e.shared == nil {
		return nil
	}
	problems := guest.JudgeLog(e.shared.Console.Since(e.judged))
	_ = e.shared.Close() // of the log file; its lines were judged
	e.shared = nil
	return problems
}

// guest returns the guest for a case.
func (e *Env) guest(ctx context.Context, c Case) (*guest.Guest, error) {
	if c.Own {
		return e.Start(ctx)
	}
	if e.shared != nil {
		return e.shared, nil
	}
	g, err := e.Start(ctx)
	if err == nil {
		e.Use(g)
	}
	return g, err
}

// Do runs a case and returns its result. The files of a case that failed stay in its folder: the
// capture of its packets, its log, and the log of the kernel.
func (e *Env) Do(ctx context.Context, c Case) Result {
	start := time.Now()
	res := Result{Name: c.Name, Status: Pass}
	g, err := e.guest(ctx, c)
	if err != nil {
		res.Status, res.Text = Fail, err.Error()
		if ctx.Err() != nil {
			res.Status, res.Text = Cut, context.Cause(ctx).Error()
		}
		return res
	}
	if c.Own {
		defer g.Close()
	}
	limit := c.Timeout
	if limit == 0 {
		limit = defaultTimeout
	}
	own, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("time limit of %v", limit))
	defer cancel()
	dir := filepath.Join(e.Dir, strings.ReplaceAll(c.Name, "/", "-"))
	t := &T{env: e, run: ctx, ctx: own, guest: g, mark: g.Console.Mark(), dir: dir}
	if err := t.captured(c); err != nil {
		t.fail(err.Error())
	}
	lines := g.Console.Since(t.mark)
	if !c.Own {
		e.judge(t, g)
	}
	res.Time = time.Since(start)
	t.mu.Lock()
	defer t.mu.Unlock()
	res.Log, res.Findings, res.Text = t.log, t.findings, t.text
	switch {
	case len(t.failed) > 0:
		res.Status, res.Text = Fail, firstLine(t.failed[0])
	case t.cut:
		res.Status, res.Text, res.Findings = Cut, context.Cause(ctx).Error(), nil
	case t.skipped != "":
		res.Status, res.Text, res.Findings = Skip, t.skipped, nil
	}
	if err := e.files(t, res.Status, lines); err != nil {
		res.Status, res.Text = Fail, err.Error()
	}
	return res
}

// judge fails the case for problems in the kernel's log since the last judgement. The guest of a
// case that failed or was cut is not used again: it may have a mount without a server.
func (e *Env) judge(t *T, g *guest.Guest) {
	lines := g.Console.Since(e.judged)
	e.judged += len(lines)
	problems := guest.JudgeLog(lines)
	for _, p := range problems {
		t.blame(p.String())
	}
	t.mu.Lock()
	failed := t.cut || len(t.failed) > 0
	t.mu.Unlock()
	if failed {
		_ = g.Close() // of the log file; its lines were judged
		e.shared = nil
	}
}

// captured runs the case, and writes the guest's packets to a file.
func (t *T) captured(c Case) error {
	if err := os.MkdirAll(t.dir, 0o755); err != nil {
		return err
	}
	stop, err := t.guest.Capture(filepath.Join(t.dir, "capture.pcap"))
	if err != nil {
		return err
	}
	t.perform(c)
	select {
	case <-t.guest.Exited():
		return nil
	default:
		return stop()
	}
}

// files writes the logs of a case, or removes its folder.
func (e *Env) files(t *T, status Status, console []string) error {
	if status != Fail && status != Cut && !e.Keep {
		return os.RemoveAll(t.dir)
	}
	for name, lines := range map[string][]string{"log": t.log, "kernel.log": console} {
		if err := os.WriteFile(filepath.Join(t.dir, name), []byte(strings.Join(lines, "\n")+"\n"), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// perform runs the case and its clean-up. A case that does not return when its context is done is
// abandoned.
func (t *T) perform(c Case) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer t.cleanup()
		t.protect(func() { c.Run(t) })
	}()
	const grace = 10 * time.Second
	select {
	case <-done:
		if t.ctx.Err() != nil {
			t.fail(context.Cause(t.ctx).Error())
		}
	case <-t.guest.Exited():
		t.fail("the guest has ended; its console has the reason")
		wait(done, grace)
	case <-t.ctx.Done():
		if !wait(done, grace) {
			buf := make([]byte, 1<<16)
			t.fail(fmt.Sprintf("%v; it still runs %v later:\n%s", context.Cause(t.ctx), grace, buf[:runtime.Stack(buf, true)]))
			return
		}
		t.fail(context.Cause(t.ctx).Error())
	}
}

func wait(done <-chan struct{}, limit time.Duration) bool {
	select {
	case <-done:
		return true
	case <-time.After(limit):
		return false
	}
}

// errStopped is the value with which a case's methods panic to stop its goroutine.
var errStopped = errors.New("stopped")

// protect calls f, and makes a panic a failure.
func (t *T) protect(f func()) {
	defer func() {
		switch v := recover(); v {
		case nil, errStopped:
		default:
			t.fail(fmt.Sprintf("panic: %v\n%s", v, debug.Stack()))
		}
	}()
	f()
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(s), "\n")
	return line
}
