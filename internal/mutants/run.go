package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// result is the result of a run of tests.
type result uint8

const (
	passes  result = iota // with a mutant: it lives
	fails                 // a test failed
	hangs                 // a test waits for good
	slow                  // the tests need more time: see overrun
	unbuilt               // the tests did not compile
)

func (r result) String() string {
	return [...]string{"pass", "killed", "hangs", "is slow", "does not compile"}[r]
}

// run is a run of a package's tests.
type run struct {
	result result
	tests  []string // that failed
	over   overrun  // if they hang or are slow
	out    []byte
}

// failed matches the line of a test that failed, not of a subtest, and the panic of a test that
// hangs.
var failed = regexp.MustCompile(`(?m)^(?:--- FAIL: (\w+)|panic: (Test\w+))`)

// newRun returns the result of a command that ran tests, with a time limit.
func newRun(out []byte, err error, limit time.Duration) run {
	r := run{out: out}
	for _, match := range failed.FindAllSubmatch(out, -1) {
		r.tests = append(r.tests, string(match[1])+string(match[2]))
	}
	switch {
	case err == nil:
	case bytes.Contains(out, []byte("[build failed]")), bytes.Contains(out, []byte("[setup failed]")):
		r.result = unbuilt
	case len(r.tests) == 0 && bytes.Contains(out, []byte(timedOut)):
		if r.result, r.over = slow, newOverrun(out, limit); r.over.waits() {
			r.result = hangs
		}
	default:
		r.result = fails
	}
	return r
}

// withOverlay returns the environment variable that makes go commands read the changed files,
// including commands that a test runs.
func withOverlay(overlay string) string {
	return "GOFLAGS=" + os.Getenv("GOFLAGS") + " -overlay=" + overlay
}

// patience returns the variable by which tests of rdmaio that hang fail with a message.
func patience(limit time.Duration) string { return "PATIENCE=" + (limit / 4).String() }

// goTest builds a package's short tests and runs them until the first fails.
func goTest(ctx context.Context, root, overlay, pkg string, limit time.Duration, args ...string) run {
	args = append([]string{"test", "-count", "1", "-short", "-failfast", "-vet=off", "-timeout", limit.String()}, args...)
	cmd := exec.CommandContext(ctx, "go", append(args, "./"+pkg)...)
	cmd.Dir = root
	cmd.Env = append(os.Environ(), patience(limit))
	if overlay != "" {
		cmd.Env = append(cmd.Env, withOverlay(overlay))
	}
	out, err := cmd.CombinedOutput()
	return newRun(out, err, limit)
}

// binary is the built test binary of a package, with many mutants.
type binary struct {
	room  *room
	pkg   string
	file  string
	limit time.Duration // of a run with a mutant
	// skip are the tests that fail in this build without a mutant, though not otherwise: those that
	// count allocations, for example.
	skip []string
}

// build builds the tests of a package.
func (r *room) build(ctx context.Context, pkg string) (*binary, error) {
	b := &binary{room: r, pkg: pkg, file: filepath.Join(r.dir, strings.ReplaceAll(pkg, "/", "_")+".test")}
	if out, err := r.goCommand(ctx, "test", "-c", "-vet=off", "-o", b.file, "./"+pkg).CombinedOutput(); err != nil {
		return nil, fmt.Errorf("tests of %s: %w\n%s", pkg, err, bytes.TrimSpace(out))
	}
	return b, nil
}

// run runs the tests with a mutant, or without one if number is 0.
func (b *binary) run(ctx context.Context, number int, limit time.Duration, args ...string) run {
	args = append([]string{"-test.short", "-test.count=1", "-test.paniconexit0", "-test.timeout=" + limit.String()}, args...)
	if len(b.skip) > 0 {
		args = append(args, "-test.skip="+exactly(b.skip))
	}
	// The binary ends itself at its limit, unless a mutant stops even that.
	ctx, cancel := context.WithTimeout(ctx, limit+limit/4+time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, b.file, args...)
	cmd.Dir = filepath.Join(b.room.root, b.pkg)
	cmd.Env = append(os.Environ(), "PWD="+cmd.Dir, switchVariable+"="+strconv.Itoa(number), withOverlay(b.room.overlay()), patience(limit))
	cmd.WaitDelay = 5 * time.Second // for processes of the test that keep its output open
	out, err := cmd.CombinedOutput()
	r := newRun(out, err, limit)
	if ctx.Err() != nil && err != nil && r.result != slow {
		r.result = hangs
	}
	return r
}

// exactly returns the pattern of tests with these names.
func exactly(tests []string) string { return "^(" + strings.Join(tests, "|") + ")$" }
