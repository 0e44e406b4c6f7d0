package main

import (
	"bytes"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// -stall and -seed come before the arguments of go test, and only these are parsed.
func TestParseStalls(t *testing.T) {
	for _, tt := range []struct {
		args   string
		length time.Duration
		seed   uint64 // 0: any
		rest   string
		says   string
	}{
		{"-race ./...", 0, 0, "-race ./...", ""},
		{"-stall 1s -seed 7 -race ./...", time.Second, 7, "-race ./...", ""},
		{"--seed=8 --stall=50ms", 50 * time.Millisecond, 8, "", ""},
		{"-run X -stall 1s", 0, 0, "-run X -stall 1s", ""}, // go test refuses it
		{"-stall -1s", 0, 0, "", "-1s"},
		{"-stall soon ./...", 0, 0, "", "soon"},
		{"-stall", 0, 0, "", "needs an argument"},
	} {
		if tt.length > 0 && !canStall {
			tt.length, tt.says = 0, "SIGSTOP"
		}
		var errs bytes.Buffer
		s, rest, err := parseStalls(strings.Fields(tt.args), &errs)
		if tt.says != "" {
			if err == nil || !strings.Contains(err.Error()+errs.String(), tt.says) {
				t.Errorf("%s: %v, expected %q", tt.args, err, tt.says)
			}
			continue
		}
		if err != nil || s.length != tt.length || tt.seed != 0 && s.seed != tt.seed || strings.Join(rest, " ") != tt.rest {
			t.Errorf("%s: %+v, %q, %v", tt.args, s, rest, err)
		}
	}
	if got := (stalls{}).exec("self"); got != nil {
		t.Errorf("without -stall: %q", got)
	}
	s := stalls{time.Second, 7}
	if got := s.exec("a b"); !slices.Equal(got, []string{"-exec", `"a b" -exec-stalled 1s 7`}) {
		t.Errorf("with -stall: %q", got)
	}
	if a, b := s.random("x").Uint64(), s.random("x").Uint64(); a != b || a == s.random("y").Uint64() {
		t.Error("a seed does not determine the times of a binary")
	}
}

// notices is the environment variable for the process that TestRunStalled stops.
const notices = "TESTRUN_NOTICES_STOPS"

// TestNoticesStops ends when the process was stopped three times.
func TestNoticesStops(t *testing.T) {
	if os.Getenv(notices) == "" {
		t.Skip("run by TestRunStalled")
	}
	last := time.Now()
	for stops := 0; stops < 3; last = time.Now() {
		time.Sleep(time.Millisecond)
		if time.Since(last) > 80*time.Millisecond {
			stops++
		}
	}
	t.Fail()
}

// A test process notices that it is stopped, and the run has its exit code.
func TestRunStalled(t *testing.T) {
	if !canStall {
		t.Skip("this system has no SIGSTOP")
	}
	t.Setenv(notices, "1")
	var errs bytes.Buffer
	args := []string{"100ms", "7", os.Args[0], "-test.run=^TestNoticesStops$", "-test.timeout=1m"}
	if code := runStalled(args, &errs); code != 1 {
		t.Errorf("exit %d, want 1, since the test fails: %s", code, &errs)
	}
	if found := regexp.MustCompile(`stopped (\d+) times for 100ms, with -seed 7`).FindStringSubmatch(errs.String()); found == nil || found[1] == "0" {
		t.Errorf("said: %s", &errs)
	}
	for _, args := range [][]string{{"1s", "7"}, {"soon", "7", "true"}, {"1s", "x", "true"}, {"1s", "7", "/nonesuch"}} {
		if code := runStalled(args, io.Discard); code != 1 {
			t.Errorf("%q: exit %d", args, code)
		}
	}
}
