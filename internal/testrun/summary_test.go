package main

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSummary(t *testing.T) {
	tests := []struct {
		name   string
		events string
		want   string
		failed bool
	}{
		{
			name: "pass, skip and no tests",
			events: `{"Action":"output","Package":"m/a","Test":"TestA","Output":"=== RUN   TestA\n"}
				{"Action":"output","Package":"m/a","Test":"TestA","Output":"chatter\n"}
				{"Action":"pass","Package":"m/a","Test":"TestA","Elapsed":0.5}
				{"Action":"output","Package":"m/a","Test":"TestB","Output":"=== RUN   TestB\n"}
				{"Action":"output","Package":"m/a","Test":"TestB","Output":"    b_test.go:7: needs a corpus: none here\n"}
				{"Action":"output","Package":"m/a","Test":"TestB","Output":"--- SKIP: TestB (0.00s)\n"}
				{"Action":"skip","Package":"m/a","Test":"TestB"}
				{"Action":"skip","Package":"m/a","Test":"TestC"}
				{"Action":"pass","Package":"m/a","Elapsed":1.25}
				{"Action":"skip","Package":"m/b"}`,
			want: "ok      1.25s  m/a\n" +
				"go test ./...: 1 tests passed, 2 skipped, 0 failures in 1 packages (1 more have no tests)\n" +
				"skipped: needs a corpus: none here\n    m/a TestB\n" +
				"skipped: no reason given\n    m/a TestC\n",
		},
		{
			name: "failure",
			events: `{"Action":"output","Package":"m/a","Test":"TestA","Output":"=== RUN   TestA\n"}
				{"Action":"output","Package":"m/a","Test":"TestA","Output":"    a_test.go:7: wrong\n"}
				{"Action":"output","Package":"m/a","Test":"TestA","Output":"--- FAIL: TestA (0.00s)\n"}
				{"Action":"fail","Package":"m/a","Test":"TestA"}
				{"Action":"output","Package":"m/a","Output":"FAIL\n"}
				{"Action":"fail","Package":"m/a","Elapsed":0.1}`,
			want: "    a_test.go:7: wrong\n--- FAIL: TestA (0.00s)\nFAIL\nFAIL    0.10s  m/a\n" +
				"go test ./...: 0 tests passed, 0 skipped, 2 failures in 1 packages (0 more have no tests)\n",
			failed: true,
		},
		{
			name: "died in a test",
			events: `{"Action":"output","Package":"m/a","Test":"TestA","Output":"panic: oh\n"}
				{"Action":"output","Package":"m/a","Output":"exit status 2\n"}
				{"Action":"fail","Package":"m/a","Elapsed":0.1}`,
			want: "panic: oh\nexit status 2\nFAIL    0.10s  m/a\n" +
				"go test ./...: 0 tests passed, 0 skipped, 1 failures in 1 packages (0 more have no tests)\n",
			failed: true,
		},
		{
			name: "does not build",
			events: `{"ImportPath":"m/a","Action":"build-output","Output":"a.go:3:1: undefined: x\n"}
				{"ImportPath":"m/a","Action":"build-fail"}
				{"Action":"fail","Package":"m/a","Elapsed":0}`,
			want: "a.go:3:1: undefined: x\nFAIL    0.00s  m/a\n" +
				"go test ./...: 0 tests passed, 0 skipped, 2 failures in 1 packages (0 more have no tests)\n",
			failed: true,
		},
		{
			name:   "nothing ran",
			want:   "go test ./...: 0 tests passed, 0 skipped, 0 failures in 0 packages (0 more have no tests)\n",
			failed: true,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var out bytes.Buffer
			s := newSummary(&out)
			if err := s.read(strings.NewReader(tt.events)); err != nil {
				t.Fatal(err)
			}
			s.finish([]string{"./..."})
			if d := cmp.Diff(tt.want, out.String()); d != "" {
				t.Errorf("printed (-want +got):\n%s", d)
			}
			if s.failed() != tt.failed {
				t.Errorf("failed() = %t, want %t", s.failed(), tt.failed)
			}
		})
	}
}

// Tests of more than five seconds are listed in a run with -short, and only there.
func TestSummaryListsSlowTests(t *testing.T) {
	events := []event{
		{Action: "pass", Package: "m/a", Test: "TestQuick", Elapsed: 5},
		{Action: "pass", Package: "m/a", Test: "TestSlow", Elapsed: 5.1},
		{Action: "pass", Package: "m/b", Test: "TestSlow", Elapsed: 12.34},
		{Action: "pass", Package: "m/b", Test: "TestSlow/part", Elapsed: 12.3},
	}
	const want = "more than 5 s with -short: these tests should look at testing.Short, unless the machine was busy\n" +
		"     12.3s m/b TestSlow\n      5.1s m/a TestSlow\n"
	for _, args := range [][]string{{"-race", "-short", "./..."}, {"./..."}} {
		var out bytes.Buffer
		s := newSummary(&out)
		for _, e := range events {
			s.add(e)
		}
		s.finish(args)
		_, listed, _ := strings.Cut(out.String(), "have no tests)\n")
		if slices.Contains(args, "-short") != (listed == want) || !slices.Contains(args, "-short") && listed != "" {
			t.Errorf("%v: listed %q", args, listed)
		}
	}
}

func TestSummaryManySkips(t *testing.T) {
	var out bytes.Buffer
	s := newSummary(&out)
	for range maxNames + 3 {
		s.add(event{Action: "skip", Package: "m/a", Test: "T"})
	}
	s.finish(nil)
	if !strings.HasSuffix(out.String(), "    and 3 more\n") {
		t.Errorf("printed %q, want the rest counted", out.String())
	}
}

func TestReadMalformed(t *testing.T) {
	if err := newSummary(&bytes.Buffer{}).read(strings.NewReader("FAIL\n")); err == nil {
		t.Error("no error for text that is not JSON")
	}
}

// The exit code of a real go test is passed on.
func TestRun(t *testing.T) {
	tests := []struct {
		name, body string
		code       int
		want       string
	}{
		{"passes", "", 0, "1 tests passed, 0 skipped, 0 failures"},
		{"skips", `t.Skip("no moon")`, 0, "skipped: no moon\n    m TestIt\n"},
		{"fails", `t.Error("wrong")`, 1, "m_test.go:3: wrong\n"},
		{"does not build", `undefined()`, 1, "undefined: undefined"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			for name, text := range map[string]string{
				"go.mod":    "module m\n\ngo 1.26\n",
				"m_test.go": "package m\nimport \"testing\"\nfunc TestIt(t *testing.T) { " + tt.body + " }\n",
			} {
				if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
					t.Fatal(err)
				}
			}
			t.Chdir(dir)
			var stdout, stderr bytes.Buffer
			if code := run([]string{"-vet=off", "./..."}, &stdout, &stderr); code != tt.code {
				t.Errorf("exit code %d, want %d", code, tt.code)
			}
			if !strings.Contains(stdout.String(), tt.want) {
				t.Errorf("printed %q and %q, want %q", stdout.String(), stderr.String(), tt.want)
			}
		})
	}
}
