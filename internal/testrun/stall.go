package main

import (
	"errors"
	"flag"
	"fmt"
	"hash/fnv"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// stalls says how often and for how long a test process is stopped.
type stalls struct {
	length time.Duration // of each stop; 0 means none
	seed   uint64        // of the times between them
}

// parseStalls takes -stall and -seed from the beginning of args.
func parseStalls(args []string, stderr io.Writer) (s stalls, rest []string, err error) {
	own := 0 // go test has other flags, which flag cannot parse
	for own < len(args) && (isFlag(args[own], "stall") || isFlag(args[own], "seed")) {
		if own++; !strings.Contains(args[own-1], "=") && own < len(args) {
			own++
		}
	}
	fs := flag.NewFlagSet("testrun", flag.ContinueOnError)
	fs.SetOutput(stderr)
	fs.DurationVar(&s.length, "stall", 0, "stop each test process for this `time`, at random")
	fs.Uint64Var(&s.seed, "seed", rand.Uint64(), "`seed` of the times at which processes are stopped")
	if err := fs.Parse(args[:own]); err != nil {
		return s, nil, err
	}
	if s.length < 0 {
		return s, nil, fmt.Errorf("-stall %v: expected a positive time", s.length)
	}
	if s.length > 0 && !canStall {
		return s, nil, errors.New("-stall needs the signals SIGSTOP and SIGCONT, which this system does not have")
	}
	return s, args[own:], nil
}

func isFlag(arg, name string) bool {
	arg, _, _ = strings.Cut(arg, "=")
	return arg == "-"+name || arg == "--"+name
}

// execArg is the first argument of a testrun that go test runs for each test binary.
const execArg = "-exec-stalled"

// exec returns the arguments that make go test run test binaries through this program.
func (s stalls) exec(self string) []string {
	if s.length == 0 {
		return nil
	}
	return []string{"-exec", fmt.Sprintf("%q %s %v %d", self, execArg, s.length, s.seed)}
}

// runStalled runs a test binary, args[2:], and stops it at random. It returns its exit code.
func runStalled(args []string, stderr io.Writer) int {
	var s stalls
	var err error
	if len(args) < 3 {
		err = fmt.Errorf("found %q, expected a time, a seed and a command", args)
	} else if s.length, err = time.ParseDuration(args[0]); err == nil {
		s.seed, err = strconv.ParseUint(args[1], 10, 64)
	}
	if err != nil {
		fmt.Fprintln(stderr, "testrun:", err)
		return 1
	}
	return s.run(args[2:], stderr)
}

// random returns the source of the times for a binary: each has its own, which does not depend on
// the others.
func (s stalls) random(binary string) *rand.Rand {
	dir, _ := os.Getwd()
	h := fnv.New64a()
	fmt.Fprint(h, filepath.Base(dir), filepath.Base(binary))
	return rand.New(rand.NewPCG(s.seed, h.Sum64()))
}
