package main

import (
	"bytes"
	"regexp"
	"slices"
	"strings"
	"time"
)

// timedOut begins the output of tests that exceed their limit. Below are the tests that run, each
// with its time, and all goroutines, each with its state.
const timedOut = "panic: test timed out"

// overrun describes tests that exceed their limit.
type overrun struct {
	test string // that runs for the longest time, without its subtests
	busy bool   // a goroutine was not waiting
	long bool   // test has run for more than half of the limit
}

var (
	running  = regexp.MustCompile(`(?m)^\t+(\S+) \(([0-9hmsnµ.]+)\)$`)
	runnable = regexp.MustCompile(`(?m)^goroutine \d+ .*\[(running|runnable)[],]`)
)

// newOverrun reads the output of tests that were stopped at their limit.
func newOverrun(out []byte, limit time.Duration) (o overrun) {
	_, out, _ = bytes.Cut(out, []byte(timedOut))
	list, stacks, _ := bytes.Cut(out, []byte("\n\n"))
	tests := running.FindAllStringSubmatch(string(list), -1)
	longest := time.Duration(-1)
	for _, m := range tests {
		waitsForSubtest := slices.ContainsFunc(tests, func(sub []string) bool { return strings.HasPrefix(sub[1], m[1]+"/") })
		if d, err := time.ParseDuration(m[2]); err == nil && d > longest && !waitsForSubtest {
			longest = d
			o.test, _, _ = strings.Cut(m[1], "/")
		}
	}
	o.long = longest > limit/2
	o.busy = len(runnable.FindAll(stacks, 2)) > 1 // one has stopped the tests
	return o
}

// waits reports whether one test waits for good. Otherwise the tests may need more time: other
// tests have completed, or one computes.
func (o overrun) waits() bool { return o.long && !o.busy }

// patiently runs tests that have a limit. Tests that are slow run again with twice the limit:
// the machine may have had other work. A test that computes for most of that time as well hangs.
func patiently(limit time.Duration, tests func(limit time.Duration) run) run {
	r := tests(limit)
	if r.result != slow {
		return r
	}
	if r = tests(2 * limit); r.result == slow && r.over.long {
		r.result = hangs
	}
	return r
}
