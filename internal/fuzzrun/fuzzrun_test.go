package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func writeModule(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestTargets(t *testing.T) {
	const one = "package a\n\nfunc FuzzOne(f *testing.F) {}\n// x\n//fuzz:floor 20 it sleeps\nfunc FuzzTwo(f *testing.F)   { x() }\nfunc FuzzHelper(f *testing.F, n int) {}\n"
	dir := writeModule(t, map[string]string{
		"go.mod": "module m\n", "a/b/x_test.go": one, "a/b/x.go": one, "testdata/x_test.go": one, ".hidden/x_test.go": one,
		"bench/go.mod": "module b\n", "bench/x_test.go": one, "y_test.go": "func FuzzTop(f *testing.F) {\n",
		"go.work": "use .\nuse ./used\n", "used/go.mod": "module m/used\n", "used/x_test.go": "func FuzzUsed(f *testing.F) {\n",
	})
	got, err := targets(dir)
	if err != nil {
		t.Fatal(err)
	}
	want := []target{{"a/b", "FuzzOne", defaultFloor, ""}, {"a/b", "FuzzTwo", 20, "it sleeps"}, {"used", "FuzzUsed", defaultFloor, ""}, {".", "FuzzTop", defaultFloor, ""}}
	if d := cmp.Diff(want, got, cmp.AllowUnexported(target{})); d != "" {
		t.Error(d)
	}
}

// A floor has a number and a reason, and a target has one floor.
func TestFloorNeedsNumberAndReason(t *testing.T) {
	for _, comment := range []string{"//fuzz:floor", "//fuzz:floor 5", "//fuzz:floor 0 none", "//fuzz:floor many executions", "//fuzz:floor 5 a\n//fuzz:floor 6 b"} {
		dir := writeModule(t, map[string]string{"go.mod": "module m\n", "x_test.go": "package x\n\n" + comment + "\nfunc FuzzX(f *testing.F) {}\n"})
		if _, err := targets(dir); err == nil || !strings.Contains(err.Error(), "x_test.go: FuzzX: found") {
			t.Errorf("%q: %v", comment, err)
		}
	}
}

// TestOwnTargets checks that targets finds the hand-written targets of the module.
func TestOwnTargets(t *testing.T) {
	all, err := targets("../..")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"cmd/internal/sema FuzzCompile", "gen/rpcrdma2 FuzzMsg", "internal/xdrdoc FuzzExtract"} {
		if !slices.ContainsFunc(all, func(t target) bool { return t.String() == want }) {
			t.Errorf("%s is not found", want)
		}
	}
}

func TestExecutions(t *testing.T) {
	for out, want := range map[string]int{
		"": 0,
		"fuzz: elapsed: 0s, gathering baseline coverage: 0/9 completed\nPASS\n":                                                              0,
		"fuzz: elapsed: 3s, execs: 120 (40/sec), new interesting: 5 (total: 20)\nfuzz: elapsed: 6s, execs: 7130 (8/sec), new interesting: 5": 7130,
		"fuzz: elapsed: 3s, execs: 99999999999999999999 (40/sec)":                                                                            0,
	} {
		if got := executions([]byte(out)); got != want {
			t.Errorf("%q: %d, expected %d", out, got, want)
		}
	}
}

// The go command's own deadline is no failure of the target; an input that fails is one.
func TestTimeOver(t *testing.T) {
	const deadline = "fuzz: elapsed: 2s, execs: 37 (17/sec), new interesting: 0 (total: 1)\n--- FAIL: FuzzSlow (2.21s)\n    context deadline exceeded\nFAIL\nexit status 1\n"
	const found = "--- FAIL: FuzzFails (0.02s)\n    --- FAIL: FuzzFails (0.00s)\n        a_test.go:13: context deadline exceeded\n\n    Failing input written to testdata/fuzz/FuzzFails/1\nFAIL\n"
	if !timeOver.MatchString(deadline) || timeOver.MatchString(found) {
		t.Errorf("deadline %t, found %t", timeOver.MatchString(deadline), timeOver.MatchString(found))
	}
}
