package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"sort"
	"strings"
)

// event is one record of go test -json, see go doc test2json.
type event struct {
	Action     string
	Package    string
	ImportPath string // instead of Package, in events of the build
	Test       string
	Elapsed    float64 // seconds
	Output     string
}

// test names a test of a package; name is empty for the package itself.
type test struct{ pkg, name string }

// summary collects the events of a run, and prints the results of packages as they finish.
type summary struct {
	w       io.Writer
	output  map[test][]string // output of tests that still run
	skipped map[string][]test // by reason
	passed  int
	fails   int
	pkgs    int
	untried int              // packages without tests
	took    map[test]float64 // tests that took more than slowSeconds
}

// slowSeconds is the time of a test above which it should do less with -short.
const slowSeconds = 5

func newSummary(w io.Writer) *summary {
	return &summary{w: w, output: make(map[test][]string), skipped: make(map[string][]test), took: make(map[test]float64)}
}

// read reads events until the stream ends.
func (s *summary) read(r io.Reader) error {
	dec := json.NewDecoder(r)
	for {
		var e event
		if err := dec.Decode(&e); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
		s.add(e)
	}
}

func (s *summary) add(e event) {
	t := test{e.Package, e.Test}
	switch e.Action {
	case "build-output":
		fmt.Fprint(s.w, e.Output)
	case "build-fail":
		s.fails++
	case "output":
		s.output[t] = append(s.output[t], e.Output)
	case "pass", "fail", "skip":
		if t.name == "" {
			s.endPackage(t, e)
		} else {
			s.endTest(t, e)
		}
	}
}

func (s *summary) endTest(t test, e event) {
	if e.Elapsed > slowSeconds && !strings.Contains(t.name, "/") {
		s.took[t] = e.Elapsed
	}
	switch e.Action {
	case "pass":
		s.passed++
	case "fail":
		s.fails++
		s.print(t)
	case "skip":
		reason := skipReason(s.output[t])
		s.skipped[reason] = append(s.skipped[reason], t)
	}
	delete(s.output, t)
}

func (s *summary) endPackage(t test, e event) {
	switch e.Action {
	case "pass":
		s.pkgs++
		fmt.Fprintf(s.w, "ok    %6.2fs  %s\n", e.Elapsed, t.pkg)
	case "skip":
		s.untried++
	case "fail":
		s.pkgs++
		s.fails++
		// A test that was running when the binary died has no end of its own.
		for _, open := range s.open(t.pkg) {
			s.print(open)
		}
		s.print(t)
		fmt.Fprintf(s.w, "FAIL  %6.2fs  %s\n", e.Elapsed, t.pkg)
	}
	delete(s.output, t)
}

// open returns the tests of a package that have not ended, in order.
func (s *summary) open(pkg string) []test {
	var tests []test
	for t := range s.output {
		if t.pkg == pkg && t.name != "" {
			tests = append(tests, t)
		}
	}
	sort.Slice(tests, func(i, j int) bool { return tests[i].name < tests[j].name })
	return tests
}

// print writes the output of a test, without lines of progress.
func (s *summary) print(t test) {
	for _, line := range s.output[t] {
		if !strings.HasPrefix(line, "=== ") {
			fmt.Fprint(s.w, line)
		}
	}
	delete(s.output, t)
}

// skipReason returns the message of the skip, without file and line.
func skipReason(output []string) string {
	reason := ""
	for _, line := range output {
		trimmed := strings.TrimSpace(line)
		if trimmed == "" || strings.HasPrefix(line, "=== ") || strings.HasPrefix(trimmed, "--- SKIP") {
			continue
		}
		reason = trimmed
		if _, text, ok := strings.Cut(trimmed, ".go:"); ok {
			if _, text, ok = strings.Cut(text, ": "); ok {
				reason = text
			}
		}
	}
	if reason == "" {
		return "no reason given"
	}
	return reason
}

func (s *summary) failed() bool { return s.fails != 0 || s.pkgs+s.untried == 0 }

// maxNames is the number of skipped tests that are named for one reason.
const maxNames = 8

// finish prints the closing lines.
func (s *summary) finish(args []string) {
	skips := 0
	for _, tests := range s.skipped {
		skips += len(tests)
	}
	fmt.Fprintf(s.w, "go test %s: %d tests passed, %d skipped, %d failures in %d packages (%d more have no tests)\n",
		strings.Join(args, " "), s.passed, skips, s.fails, s.pkgs, s.untried)
	reasons := make([]string, 0, len(s.skipped))
	for reason := range s.skipped {
		reasons = append(reasons, reason)
	}
	sort.Strings(reasons)
	if slices.Contains(args, "-short") {
		s.slow()
	}
	for _, reason := range reasons {
		tests := s.skipped[reason]
		fmt.Fprintf(s.w, "skipped: %s\n", reason)
		for i, t := range tests {
			if i == maxNames {
				fmt.Fprintf(s.w, "    and %d more\n", len(tests)-maxNames)
				break
			}
			fmt.Fprintf(s.w, "    %s %s\n", t.pkg, t.name)
		}
	}
}

// slow lists the tests that took long although they should be short, the longest first. It is
// information only: a busy machine makes any test long.
func (s *summary) slow() {
	tests := slices.SortedFunc(maps.Keys(s.took), func(a, b test) int {
		return cmp.Or(cmp.Compare(s.took[b], s.took[a]), strings.Compare(a.pkg+" "+a.name, b.pkg+" "+b.name))
	})
	if len(tests) > 0 {
		fmt.Fprintf(s.w, "more than %d s with -short: these tests should look at testing.Short, unless the machine was busy\n", slowSeconds)
	}
	for _, t := range tests {
		fmt.Fprintf(s.w, "    %5.1fs %s %s\n", s.took[t], t.pkg, t.name)
	}
}
