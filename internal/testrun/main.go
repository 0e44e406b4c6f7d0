// Command testrun runs go test and prints at the end which tests skipped, and why, which go test
// does not. Its arguments are those of go test; its exit code is 0 only if every test passed or
// skipped.
//
//	go run ./internal/testrun -race work
//
// Packages print one line each as they finish, failed tests their whole output. With -race and all
// packages, which "work" means, it leaves out those that start no goroutine, by internal/archtest's
// table, and lists them: a run without -race tests them.
//
//	go run ./internal/testrun -stall 1s ./rdmaio/...
//
// With -stall, which must be first, it stops each test process for that time again and again, at
// random moments, as a loaded machine does. A test that fails by it waits for a fixed time where it
// could wait for an event. -seed repeats the moments, as far as the tests take the same time. It
// needs the signals of Unix.
package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
)

func main() {
	if args := os.Args[1:]; len(args) > 0 && args[0] == execArg {
		os.Exit(runStalled(args[1:], os.Stderr))
	}
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
}

// run returns the exit code: 0 if all passed, else 1.
func run(args []string, stdout, stderr io.Writer) int {
	stalls, args, err := parseStalls(args, stderr)
	if err != nil {
		fmt.Fprintln(stderr, "testrun:", err)
		return 1
	}
	all, err := withRaces(args, stdout)
	if err != nil {
		fmt.Fprintln(stderr, "testrun:", err)
		return 1
	}
	self, err := os.Executable()
	if err != nil {
		fmt.Fprintln(stderr, "testrun:", err)
		return 1
	}
	if stalls.length > 0 {
		fmt.Fprintf(stdout, "each test process is stopped for %v at random, with -seed %d\n", stalls.length, stalls.seed)
	}
	cmd := exec.Command("go", slices.Concat([]string{"test", "-json"}, stalls.exec(self), all)...)
	cmd.Stderr = stderr
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		fmt.Fprintln(stderr, "testrun:", err)
		return 1
	}
	s := newSummary(stdout)
	readErr := s.read(out)
	if readErr != nil {
		fmt.Fprintln(stderr, "testrun: output of go test -json:", readErr)
		_, _ = io.Copy(io.Discard, out) // so that go test can end; the run has failed anyway
	}
	waitErr := cmd.Wait()
	s.finish(args)
	if exit := (*exec.ExitError)(nil); waitErr != nil && !errors.As(waitErr, &exit) {
		fmt.Fprintln(stderr, "testrun:", waitErr)
	}
	if readErr != nil || waitErr != nil || s.failed() {
		return 1
	}
	return 0
}
