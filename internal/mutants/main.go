// Command mutants tests the tests: it makes known mistakes and expects a test to fail. It does not
// write to the tree: the go command reads changed files in place of the originals (-overlay).
//
//	go run ./internal/mutants              all of them, for many minutes
//	go run ./internal/mutants -only NAME   those whose names, or whose files, have NAME in them
//	go run ./internal/mutants -room DIR    those in a folder or file
//	go run ./internal/mutants -touched     those in functions that this branch changed
//	go run ./internal/mutants -try FILE    mistakes of a file: -h describes its form
//	go run ./internal/mutants -list        their names, files and tests
//
// All mutants are in one build: each function that has some gets a copy for each, and at its
// beginning a switch on an environment variable. A mutant outside functions, or whose copy does not
// compile, is built alone. Tests that fail in the common build without a mutant, for example those
// that count allocations, run for mutants that live otherwise, built alone.
//
// First it runs the tests without a mutant. If one fails, the exit code is 2: every mutant would
// seem killed by it. It is 2 too if no mutant is chosen. A mutant that no test kills is a gap in
// the tests: the exit code is 1. A mutant that only makes a test hang counts as killed, but late
// and without a message, so the command names the test: add one that fails. A test hangs if it is
// at its limit, has run for most of the time, and no goroutine computes. Tests at their limit that
// were still at work run again with twice the limit. If that is not enough either, the mutant
// is too slow for a verdict, and the exit code is 1: try again on an idle machine.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"strings"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	os.Exit(command(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// revision is the value of -touched: a flag without a value, or -touched=REV.
type revision struct {
	set bool
	rev string
}

func (r *revision) String() string   { return r.rev }
func (r *revision) IsBoolFlag() bool { return true }
func (r *revision) Set(s string) error {
	if r.set = s != "false"; s != "true" && r.set {
		r.rev = s
	}
	return nil
}

// command runs the command in the module's root, and returns the exit code.
func command(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	c := campaign{root: ".", w: stdout}
	var since revision
	fs := flag.NewFlagSet("mutants", flag.ContinueOnError)
	fs.SetOutput(stderr)
	only := fs.String("only", "", "try the mutants with this `part` in their name or file")
	room := fs.String("room", "", "try the mutants in this `folder` or file")
	fs.Var(&since, "touched", "try the mutants in functions that differ from main's merge base, or with -touched=`REV` from that revision")
	try := fs.String("try", "", "try the mutants of this `file` in place of the lists")
	list := fs.Bool("list", false, "print the mutants and the packages whose tests run for them")
	fs.DurationVar(&c.limit, "timeout", 2*time.Minute, "time `limit` of the tests of a package with a mutant; without one it is four times as long")
	fs.IntVar(&c.jobs, "jobs", max(1, runtime.NumCPU()/2), "`number` of mutants to try at the same time")
	fs.BoolVar(&c.alone, "alone", false, "build each mutant alone: slow")
	fs.Usage = func() {
		fmt.Fprintln(stderr, "usage: go run ./internal/mutants [flags], in the module's root")
		fs.PrintDefaults()
		fmt.Fprint(stderr, "\n", tryHelp)
	}
	if err := fs.Parse(args); err != nil {
		return 2
	}
	chosen, err := mutants, error(nil)
	if *try != "" {
		chosen, err = readTry(*try)
	}
	chosen = within(named(located(chosen, c.root), *only), *room)
	if err == nil && since.set {
		chosen, err = touched(chosen, c.root, since.rev)
	}
	if err != nil {
		fmt.Fprintln(stderr, "mutants:", err)
		return 2
	}
	if *list {
		for _, m := range chosen {
			fmt.Fprintf(stdout, "%-60s %s: %s\n", m.name, m.file, strings.Join(m.tests, " "))
		}
		return 0
	}
	if c.list, err = expanded(chosen, c.root); err != nil {
		fmt.Fprintln(stderr, "mutants:", err)
		return 2
	}
	return c.run(ctx)
}

// readTry reads the mutants of a file.
func readTry(name string) ([]mutant, error) {
	var text []byte
	var err error
	if name == "-" {
		text, err = io.ReadAll(os.Stdin)
	} else {
		text, err = os.ReadFile(name)
	}
	if err != nil {
		return nil, err
	}
	return parseTry(name, string(text))
}
