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
	const one = "package a\n\nfunc FuzzOne(f *testing.F) {}\nfunc FuzzTwo(f *testing.F)   { x() }\nfunc FuzzHelper(f *testing.F, n int) {}\n"
	dir := writeModule(t, map[string]string{
		"go.mod": "module m\n", "a/b/x_test.go": one, "a/b/x.go": one, "testdata/x_test.go": one, ".hidden/x_test.go": one,
		"bench/go.mod": "module b\n", "bench/x_test.go": one, "y_test.go": "func FuzzTop(f *testing.F) {\n",
	})
	got, err := targets(dir)
	if err != nil {
		t.Fatal(err)
	}
	want := []target{{"a/b", "FuzzOne"}, {"a/b", "FuzzTwo"}, {".", "FuzzTop"}}
	if d := cmp.Diff(want, got, cmp.AllowUnexported(target{})); d != "" {
		t.Error(d)
	}
}

// TestOwnTargets checks that targets finds the hand-written targets of the module.
func TestOwnTargets(t *testing.T) {
	all, err := targets("../..")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []target{{"cmd/internal/sema", "FuzzCompile"}, {"gen/rpcrdma2", "FuzzMsg"}, {"tools/extract", "FuzzExtract"}} {
		if !slices.Contains(all, want) {
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

// TestRun checks that a target that fails is named and keeps its input, that there is a warning
// about a target with few executions, and that the targets after a failure run too.
func TestRun(t *testing.T) {
	if testing.Short() {
		t.Skip("runs the go command")
	}
	const head = "package a\n\nimport (\n\t\"testing\"\n\t\"time\"\n)\n\nvar _ = time.Second\n\n"
	dir := writeModule(t, map[string]string{
		"go.mod": "module m\n\ngo 1.24\n",
		"a/a_test.go": head + "func FuzzFails(f *testing.F) {\n\tf.Add(1)\n" +
			"\tf.Fuzz(func(t *testing.T, n int) {\n\t\tif n != 1 {\n\t\t\tt.Fatal(\"found it\")\n\t\t}\n\t})\n}\n",
		"b/b_test.go": head + "func FuzzSlow(f *testing.F) {\n\tf.Add(1)\n\tf.Fuzz(func(t *testing.T, n int) { time.Sleep(100 * time.Millisecond) })\n}\n",
		"c/c_test.go": head + "func FuzzBuild(f *testing.F) {\n",
		"d/d_test.go": head + "func FuzzFine(f *testing.F) {\n\tf.Add(1)\n\tf.Fuzz(func(t *testing.T, n int) {})\n}\n",
	})
	var out, errs strings.Builder
	if code := run(dir, []string{"-time", "2s", "-floor", "50"}, &out, &errs); code != 1 {
		t.Errorf("exit code %d", code)
	}
	for _, want := range []string{
		"found it", "fuzzrun: failed: a FuzzFails\n", "fuzzrun: failed: c FuzzBuild\n",
		"fuzzrun: warning: few executions: b FuzzSlow: ", "executions  d FuzzFine\n", "fuzzrun: 4 targets, 2 failed, ",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s%s", want, &out, &errs)
		}
	}
	if kept, _ := filepath.Glob(filepath.Join(dir, "a/testdata/fuzz/FuzzFails/*")); len(kept) != 1 {
		t.Errorf("inputs kept: %q", kept)
	}
	out.Reset()
	if code := run(dir, []string{"-time", "1s", "-only", "^d Fuzz"}, &out, &errs); code != 0 || strings.Contains(out.String(), "FuzzSlow") {
		t.Errorf("d alone: exit code %d\n%s%s", code, &out, &errs)
	}
	for _, args := range [][]string{{"-only", "nothing"}, {"-only", "("}, {"a"}, {"-what"}} {
		if code := run(dir, args, &out, &errs); code != 1 {
			t.Errorf("%q: exit code %d", args, code)
		}
	}
}
