// Command quick runs the checks that a change most likely breaks, nearest first, within a minute:
// gofmt of the changed files, internal/archtest, go vet and short tests of the touched packages and
// their folders of tests, then of the packages that import them. It prints the seconds of each
// step, and at the end the packages and checks that it left out.
//
//	go run ./internal/quick                      # the working tree against main's merge base
//	go run ./internal/quick -base HEAD~3         # against another commit
//	go run ./internal/quick rdmaio,runtime/xdr   # these packages, changed or not
//
// At the end of its budget it interrupts the packages in progress. They count as left out, not as
// failed. -help lists the exit codes.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"time"
)

// The exit codes.
const (
	codePassed  = 0
	codeFailed  = 1
	codeUsage   = 2
	codeUntried = 3
)

const usage = `quick runs gofmt, go vet and the short tests of what a change touches, then of its importers.

usage: quick [flags] [PACKAGE[,PACKAGE...] ...]

Packages are folders from the module's root, such as rdmaio or rdmaio/internal/...; without one,
they are those with files that differ from the base commit, untracked files included.

flags:
`

const codes = `
exit codes:
  0  every touched package passed; importers may be left out, and are listed
  1  something failed
  2  wrong usage
  3  nothing failed, but the budget ended before a touched package had passed
`

// settings holds the flags and arguments.
type settings struct {
	base     string
	budget   time.Duration
	packages []string
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	context.AfterFunc(ctx, stop) // so that the second signal kills the process
	os.Exit(command(ctx, ".", os.Args[1:], os.Stdout, os.Stderr))
}

// command runs quick for the module around dir, and returns the exit code.
func command(ctx context.Context, dir string, args []string, stdout, stderr io.Writer) int {
	start := time.Now()
	s, err := parse(args, stderr)
	if errors.Is(err, flag.ErrHelp) {
		return codePassed
	}
	if err != nil {
		fmt.Fprintln(stderr, "quick:", err)
		return codeUsage
	}
	ctx, cancel := context.WithTimeoutCause(ctx, s.budget, fmt.Errorf("the budget of %v ended (BUDGET=2m gives more)", s.budget))
	defer cancel()
	t, err := loadTree(ctx, dir)
	if err != nil {
		fmt.Fprintln(stderr, "quick:", err)
		return codeFailed
	}
	sc, err := t.scope(ctx, s)
	if err != nil {
		fmt.Fprintln(stderr, "quick:", err)
		return codeFailed
	}
	return (&runner{tree: t, scope: sc, start: start, out: stdout}).run(ctx)
}

func parse(args []string, stderr io.Writer) (settings, error) {
	s := settings{budget: time.Minute}
	fs := flag.NewFlagSet("quick", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	fs.StringVar(&s.base, "base", "", "compare with this `commit` (default: the merge base with main or, without one, HEAD)")
	fs.Func("budget", "end after this `duration`, such as 90s or 2m; a number alone means seconds (default 60s)", func(text string) error {
		if seconds, err := strconv.Atoi(text); err == nil {
			text = strconv.Itoa(seconds) + "s"
		}
		d, err := time.ParseDuration(text)
		if err != nil || d <= 0 {
			return fmt.Errorf("%q is not a positive duration", text)
		}
		s.budget = d
		return nil
	})
	err := fs.Parse(args)
	if errors.Is(err, flag.ErrHelp) {
		fmt.Fprint(stderr, usage)
		fs.SetOutput(stderr)
		fs.PrintDefaults()
		fmt.Fprint(stderr, codes)
	}
	for _, arg := range fs.Args() {
		s.packages = append(s.packages, strings.FieldsFunc(arg, func(r rune) bool { return r == ',' || r == ' ' })...)
	}
	return s, err
}
