// Command fuzzrun runs every fuzz target of the modules, one after the other, and keeps the corpora
// in the repository.
//
//	go run ./internal/fuzzrun -time 10s -only 'xdrgen.*Compile'
//	go run ./internal/fuzzrun -keep -only rdmaio
//	go run ./internal/fuzzrun -list
//	go run ./internal/fuzzrun -cover
//
// The fuzz engine keeps inputs that cover new code in the go command's cache, so that the next run
// begins with them. It writes an input that fails to testdata/fuzz of the package: commit it with
// the repair, so that go test runs it from then on. The engine minimises each input that is new to
// it for up to a minute by default, which can take longer than -time; fuzzrun limits it by
// -minimize.
//
// # Corpora
//
// With -keep, fuzzrun then chooses from the cached inputs those that together reach most code, and
// writes them to testdata/fuzz/TARGET/kept-HASH, where go test runs them too. It deletes the kept
// files that add nothing to the others. Files with other names are inputs that once failed: they
// stay. With -time 0 it only chooses again.
//
// # Speed
//
// fuzzrun warns about a target whose executions in a second are below its floor: few executions
// prove nothing. The floor is 2000, or the one in a directive above the function, with its reason:
//
//	//fuzz:floor 200 each execution dials a connection
//
// A floor is about a quarter of what one quiet core reaches. On a machine with other work the
// number for each second of processor time says whether it was the target.
//
// # Exit codes
//
// The exit code is 1 if a target failed or did not build, 2 for a usage error, 130 if interrupted,
// else 0. A warning does not change it.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"regexp"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	code := run(ctx, ".", os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// settings holds the values of the flags.
type settings struct {
	time     time.Duration
	minimize string
	parallel int
	only     *regexp.Regexp

	list, cover, keep bool
	inputs, bytes     int
}

func parse(args []string, stderr io.Writer) (settings, error) {
	var s settings
	fs := flag.NewFlagSet("fuzzrun", flag.ContinueOnError)
	fs.SetOutput(stderr)
	fs.DurationVar(&s.time, "time", 10*time.Second, "`duration` of each target; 0, with -keep, for none")
	fs.StringVar(&s.minimize, "minimize", "10x", "limit on minimising one input, in the form of go test -fuzzminimizetime")
	fs.IntVar(&s.parallel, "parallel", 1, "`number` of processes that run a target; the floors are for one")
	only := fs.String("only", "", "run only the targets whose `folder and name` match this regular expression")
	fs.BoolVar(&s.list, "list", false, "print the targets, their floors and the sizes of their corpora, and run nothing")
	fs.BoolVar(&s.cover, "cover", false, "print the part of each parser's statements that seeds and corpora reach, and fuzz nothing")
	fs.BoolVar(&s.keep, "keep", false, "choose the inputs to keep in testdata/fuzz")
	fs.IntVar(&s.inputs, "inputs", 32, "with -keep: largest `number` of inputs of one target")
	fs.IntVar(&s.bytes, "bytes", 4096, "with -keep: size of the largest input file in `bytes`")
	err := fs.Parse(args)
	if err != nil {
		return s, err
	}
	if s.only, err = regexp.Compile(*only); err != nil {
		return s, fmt.Errorf("-only: %w", err)
	}
	switch {
	case fs.NArg() > 0:
		err = fmt.Errorf("found arguments %q, expected none", fs.Args())
	case s.time < 0 || s.time == 0 && !s.keep:
		err = fmt.Errorf("-time is %v, expected more than 0; 0 goes with -keep", s.time)
	case s.parallel < 1 || s.inputs < 1 || s.bytes < 1:
		err = fmt.Errorf("found -parallel %d, -inputs %d, -bytes %d, expected 1 or more of each", s.parallel, s.inputs, s.bytes)
	}
	return s, err
}

const (
	failure     = 1
	usage       = 2
	interrupted = 130
)

// run returns the exit code.
func run(ctx context.Context, root string, args []string, stdout, stderr io.Writer) int {
	s, err := parse(args, stderr)
	if err == flag.ErrHelp {
		return 0
	}
	if err != nil {
		fmt.Fprintln(stderr, "fuzzrun:", err)
		return usage
	}
	all, err := targets(root)
	if err != nil {
		fmt.Fprintln(stderr, "fuzzrun:", err)
		return failure
	}
	chosen := all[:0]
	for _, t := range all {
		if s.only.MatchString(t.String()) {
			chosen = append(chosen, t)
		}
	}
	if len(chosen) == 0 {
		fmt.Fprintln(stderr, "fuzzrun: no target matches -only: -list prints them")
		return usage
	}
	b, err := newBuilder(root)
	if err != nil {
		fmt.Fprintln(stderr, "fuzzrun:", err)
		return failure
	}
	defer b.close()
	switch {
	case s.list:
		return list(root, chosen, stdout)
	case s.cover:
		return coverage(ctx, b, chosen, stdout)
	}
	return fuzz(ctx, b, chosen, s, stdout)
}

// list prints the targets.
func list(root string, chosen []target, stdout io.Writer) int {
	files, size := 0, int64(0)
	for _, t := range chosen {
		kept, n := t.corpus(root)
		files, size = files+kept, size+n
		fmt.Fprintf(stdout, "%6d/s %3d kept %6d bytes  %s", t.floor, kept, n, t)
		if t.reason != "" {
			fmt.Fprintf(stdout, ": %s", t.reason)
		}
		fmt.Fprintln(stdout)
	}
	fmt.Fprintf(stdout, "fuzzrun: %d targets, %d kept inputs, %d bytes\n", len(chosen), files, size)
	return 0
}

// fuzz runs the targets, and keeps inputs if asked to.
func fuzz(ctx context.Context, b *builder, chosen []target, s settings, stdout io.Writer) int {
	if s.keep {
		fmt.Fprintf(stdout, "fuzzrun: at most %d inputs of at most %d bytes are kept of each target\n", s.inputs, s.bytes)
	}
	var slow, failed []string
	ran := 0
	for _, t := range chosen {
		r, err := b.fuzz(ctx, t, s)
		if err == nil && s.keep && ctx.Err() == nil {
			err = b.keep(ctx, t, s, &r)
		}
		if ctx.Err() != nil {
			break
		}
		ran++
		if err != nil {
			failed = append(failed, t.String())
			fmt.Fprintf(stdout, "FAIL  %s\n%s%v\n", t, r.out, err)
			continue
		}
		rate, alone := r.rate(s.time), r.rate(r.cpu)
		fmt.Fprintf(stdout, "ok    %8d/s %8d/s of CPU  %s%s\n", rate, alone, t, r.kept)
		if s.time > 0 && rate < t.floor {
			slow = append(slow, fmt.Sprintf("%s: %d executions a second, %d in each of processor time, expected %d or more", t, rate, alone, t.floor))
		}
	}
	for _, line := range slow {
		fmt.Fprintf(stdout, "fuzzrun: warning: slow: %s\n", line)
	}
	for _, name := range failed {
		fmt.Fprintf(stdout, "fuzzrun: failed: %s\n", name)
	}
	fmt.Fprintf(stdout, "fuzzrun: %d targets, %d failed, %d slow\n", ran, len(failed), len(slow))
	switch {
	case ctx.Err() != nil:
		fmt.Fprintf(stdout, "fuzzrun: interrupted, %d targets did not run\n", len(chosen)-ran)
		return interrupted
	case len(failed) > 0:
		return failure
	}
	return 0
}
