// Command fuzzrun runs every fuzz target of the module, one after the other. It warns about targets
// with few executions, which prove nothing.
//
//	go run ./internal/fuzzrun -time 10s -only 'xdrgen.*Compile'
//
// The go command minimises each input that is new to it for up to a minute by
// default, which can take longer than -time; fuzzrun limits it by -minimize.
//
// The go command keeps inputs that cover new code in its cache, so that the next
// run begins with them. It writes an input that fails to testdata/fuzz of the
// package: commit it with the repair, so that go test runs it from then on.
//
// The exit code is 1 if a target failed or did not build, else 0.
package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"time"
)

func main() {
	os.Exit(run(".", os.Args[1:], os.Stdout, os.Stderr))
}

// settings holds the values of the flags.
type settings struct {
	time     time.Duration
	minimize string
	floor    float64
	only     *regexp.Regexp
}

func parse(args []string, stderr io.Writer) (settings, error) {
	var s settings
	fs := flag.NewFlagSet("fuzzrun", flag.ContinueOnError)
	fs.SetOutput(stderr)
	fs.DurationVar(&s.time, "time", 10*time.Second, "`duration` of each target")
	fs.StringVar(&s.minimize, "minimize", "10x", "limit on minimising one input, in the form of go test -fuzzminimizetime")
	fs.Float64Var(&s.floor, "floor", 50, "warn about targets with fewer executions per second than `this`")
	only := fs.String("only", "", "run only the targets whose `folder and name` match this regular expression")
	err := fs.Parse(args)
	if err == nil && fs.NArg() > 0 {
		err = fmt.Errorf("found arguments %q, expected none", fs.Args())
	}
	if err == nil {
		s.only, err = regexp.Compile(*only)
	}
	return s, err
}

// timeOver matches the output of a target that failed only because its time ended while its workers
// were busy: the go command sometimes reports its own deadline as a failure
// (https://go.dev/issue/75804). No input failed in this case.
var timeOver = regexp.MustCompile(`(?m)^--- FAIL: Fuzz\w+ \([0-9.]+s\)\n    context deadline exceeded\nFAIL$`)

// run returns the exit code.
func run(root string, args []string, stdout, stderr io.Writer) int {
	s, err := parse(args, stderr)
	var all []target
	if err == nil {
		all, err = targets(root)
	}
	if err != nil {
		fmt.Fprintln(stderr, "fuzzrun:", err)
		return 1
	}
	var slow, failed []string
	ran := 0
	for _, t := range all {
		if !s.only.MatchString(t.String()) {
			continue
		}
		ran++
		out, err := t.fuzz(root, s)
		if err != nil && !timeOver.Match(out) {
			failed = append(failed, t.String())
			fmt.Fprintf(stdout, "FAIL  %s\n%s%v\n", t, out, err)
			continue
		}
		n := executions(out)
		fmt.Fprintf(stdout, "ok    %10d executions  %s\n", n, t)
		if float64(n) < s.floor*s.time.Seconds() {
			slow = append(slow, fmt.Sprintf("%s: %d executions in %v", t, n, s.time))
		}
	}
	for _, line := range slow {
		fmt.Fprintf(stdout, "fuzzrun: warning: few executions: %s\n", line)
	}
	for _, name := range failed {
		fmt.Fprintf(stdout, "fuzzrun: failed: %s\n", name)
	}
	fmt.Fprintf(stdout, "fuzzrun: %d targets, %d failed, %d with few executions\n", ran, len(failed), len(slow))
	switch {
	case ran == 0:
		fmt.Fprintln(stderr, "fuzzrun: no target matches -only")
		return 1
	case len(failed) > 0:
		return 1
	}
	return 0
}

// fuzz runs one target and returns the output of the go command.
func (t target) fuzz(root string, s settings) ([]byte, error) {
	cmd := exec.Command("go", "test", "-run=^$", "-fuzz=^"+t.name+"$",
		"-fuzztime="+s.time.String(), "-fuzzminimizetime="+s.minimize, "./"+t.dir)
	cmd.Dir = root
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) && out.Len() == 0 {
		err = fmt.Errorf("go test: %w, without output", err)
	}
	return out.Bytes(), err
}
