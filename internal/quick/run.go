package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strings"
	"time"
)

// archtest is the package that is tested always: its tests check every file of the module.
const archtest = "internal/archtest"

// runner runs the steps of a scope.
type runner struct {
	tree   *tree
	scope  *scope
	start  time.Time
	out    io.Writer
	failed bool
	left   []string // steps that were left out, with the reason
}

// run returns the exit code.
func (r *runner) run(ctx context.Context) int {
	sc := r.scope
	fmt.Fprintf(r.out, "quick: %s: %s\n", sc.title, strings.Join(append([]string{count(len(sc.touched), "package")}, sc.touched...), " "))
	r.line(r.start, "find the packages", "")
	if len(sc.files) > 0 {
		r.gofmt(ctx)
	}
	join := r.beside(ctx)
	near, touched := true, true
	if names := except(sc.touched, archtest); len(names) > 0 {
		near = r.vet(ctx, names)
		touched = r.test(ctx, "touched packages", names, "-vet=off")
		near = near && touched
	}
	if len(sc.folders) > 0 {
		passed := r.test(ctx, "tests in folders", sc.folders, "-vet=off")
		touched, near = touched && passed, near && passed
	}
	join()
	for i, level := range sc.importers {
		names := except(level, archtest)
		switch step := fmt.Sprintf("importers at distance %d", i+1); {
		case len(names) == 0:
		case ctx.Err() != nil:
			r.leave(ctx, step, names, nil)
		case !near:
			r.left = append(r.left, fmt.Sprintf("%s (%d): a nearer step did not pass: %s", step, len(names), some(names)))
		default:
			near = r.test(ctx, step, names, "-vet=all")
		}
	}
	for _, line := range slices.Concat(r.left, sc.notes, []string{"tests that -short skips, the race detector, other systems, generated code: make test, .ci/run"}) {
		fmt.Fprintln(r.out, "left out:", line)
	}
	code, verdict := codePassed, "passed"
	switch {
	case r.failed:
		code, verdict = codeFailed, "FAILED"
	case !touched:
		code, verdict = codeUntried, "CUT: not every touched package was tested"
	case ctx.Err() != nil:
		verdict = "passed, CUT: not every importer was tested"
	}
	fmt.Fprintf(r.out, "quick: %s, %.1f s\n", verdict, time.Since(r.start).Seconds())
	return code
}

// beside starts the tests of archtest, which use one processor, beside the steps that follow. The
// function that it returns waits for them and prints their result.
func (r *runner) beside(ctx context.Context) (join func()) {
	if r.tree.units[archtest] == nil {
		return func() {}
	}
	var out bytes.Buffer
	side := &runner{tree: r.tree, scope: r.scope, start: r.start, out: &out}
	done := make(chan struct{})
	go func() {
		defer close(done)
		side.test(ctx, "archtest, beside these", []string{archtest}, "-vet=off")
	}()
	return func() {
		<-done
		_, _ = out.WriteTo(r.out)
		r.failed = r.failed || side.failed
		r.left = append(r.left, side.left...)
	}
}

// line prints the seconds and the result of a step.
func (r *runner) line(start time.Time, step, result string) {
	fmt.Fprintln(r.out, strings.TrimRight(fmt.Sprintf("%6.1f s  %-24s %s", time.Since(start).Seconds(), step, result), " "))
}

// gofmt checks the format of the changed files.
func (r *runner) gofmt(ctx context.Context) {
	start := time.Now()
	cmd := r.command(ctx, "gofmt", append([]string{"-l"}, r.scope.files...)...)
	out, err := cmd.CombinedOutput()
	switch {
	case ctx.Err() != nil:
		r.left = append(r.left, "gofmt: "+context.Cause(ctx).Error())
	case err != nil || len(out) > 0:
		r.failed = true
		r.line(start, "gofmt", "FAILED: gofmt would change, or cannot read:")
		fmt.Fprintf(r.out, "%s", out)
	default:
		r.line(start, "gofmt", count(len(r.scope.files), "file"))
	}
}

// vet runs go vet, and reports whether it found nothing.
func (r *runner) vet(ctx context.Context, names []string) bool {
	if ctx.Err() != nil {
		return false // the tests of the same packages say that they are left out
	}
	start := time.Now()
	out, err := r.command(ctx, "go", append([]string{"vet"}, patterns(names)...)...).CombinedOutput()
	switch {
	case ctx.Err() != nil:
		r.line(start, "vet", "CUT")
	case err != nil:
		r.failed = true
		r.line(start, "vet", "FAILED")
		fmt.Fprintf(r.out, "%s", out)
	default:
		r.line(start, "vet", count(len(names), "package"))
		return true
	}
	return false
}

// command returns a command in the module's root. The end of the context interrupts it and all that
// it started.
func (r *runner) command(ctx context.Context, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = r.tree.root
	interruptible(cmd)
	return cmd
}

// event is a record of go test -json: see go doc test2json.
type event struct {
	Action, Package, ImportPath, Test, Output string
}

// test runs the short tests of packages, and reports whether all passed. At the end of the context,
// packages in progress are left out, unless one of their tests had failed.
func (r *runner) test(ctx context.Context, step string, names []string, vet string) bool {
	if ctx.Err() != nil {
		r.leave(ctx, step, names, nil)
		return false
	}
	start := time.Now()
	cmd := r.command(ctx, "go", append([]string{"test", "-json", "-short", vet}, patterns(names)...)...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	stdout, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		r.failed = true
		r.line(start, step, "FAILED: "+err.Error())
		return false
	}
	c := newCollector()
	// Lines are read beyond the end of the context: the go command reports the interrupted tests.
	lines := bufio.NewReader(stdout)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			break
		}
		var e event
		if json.Unmarshal(line, &e) == nil {
			fmt.Fprint(r.out, c.add(e, ctx.Err() != nil))
		}
	}
	waitErr := cmd.Wait()
	var passed, open []string
	for _, name := range names {
		pkg := r.tree.units[name].ImportPath
		if c.done[pkg] && !c.broken[pkg] {
			passed = append(passed, name)
		} else if !c.broken[pkg] {
			open = append(open, name)
		}
	}
	result := count(len(passed), "package") + " passed"
	if len(c.cached) > 0 {
		result += fmt.Sprintf(" (%d from the cache)", len(c.cached))
	}
	if broken := len(names) - len(passed) - len(open); broken > 0 {
		r.failed = true
		result += fmt.Sprintf(", %d FAILED", broken)
	}
	if len(open) > 0 && ctx.Err() == nil {
		// The go command ended before it came to them.
		r.failed = true
		result += fmt.Sprintf(", %d without a result: %v: %s", len(open), waitErr, bytes.TrimSpace(stderr.Bytes()))
	} else if len(open) > 0 {
		result += fmt.Sprintf(", %d CUT", len(open))
		r.leave(ctx, step, open, c.running)
	}
	r.line(start, step, result)
	return len(passed) == len(names)
}

// leave notes the packages that were left out of a step, those in progress by name.
func (r *runner) leave(ctx context.Context, step string, names []string, running map[string]bool) {
	var begun, rest []string
	for _, name := range names {
		if running[r.tree.units[name].ImportPath] {
			begun = append(begun, name)
		} else {
			rest = append(rest, name)
		}
	}
	text := fmt.Sprintf("%s (%d): %v: ", step, len(names), context.Cause(ctx))
	if len(begun) > 0 {
		text += "in progress: " + strings.Join(begun, " ")
		if len(rest) > 0 {
			text += "; not begun: "
		}
	}
	r.left = append(r.left, text+some(rest))
}

// some returns the first names, and the number of the others.
func some(names []string) string {
	const most = 8
	if len(names) <= most {
		return strings.Join(names, " ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most], " "), len(names)-most)
}

func except(names []string, name string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(n string) bool { return n == name })
}
