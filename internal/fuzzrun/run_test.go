package main

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// fuzzed runs the command and returns its exit code and what it printed.
func fuzzed(t *testing.T, ctx context.Context, dir string, args ...string) (int, string) {
	t.Helper()
	var out, errs strings.Builder
	code := run(ctx, dir, args, &out, &errs)
	return code, out.String() + errs.String()
}

func expect(t *testing.T, out string, all ...string) {
	t.Helper()
	for _, want := range all {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
}

const head = "package a\n\nimport (\n\t\"testing\"\n\t\"time\"\n)\n\nvar _ = time.Second\n\n"

// A target that fails is named and keeps its input, there is a warning about one below its floor,
// and those after a failure run too.
func TestRunNamesFailedAndSlowTargets(t *testing.T) {
	if testing.Short() {
		t.Skip("runs the go command")
	}
	dir := writeModule(t, map[string]string{
		"go.mod": "module m\n\ngo 1.24\n",
		"a/a_test.go": head + "func FuzzFails(f *testing.F) {\n\tf.Add(1)\n" +
			"\tf.Fuzz(func(t *testing.T, n int) {\n\t\tif n != 1 {\n\t\t\tt.Fatal(\"found it\")\n\t\t}\n\t})\n}\n",
		"b/b_test.go": head + "func FuzzSlow(f *testing.F) {\n\tf.Add(1)\n\tf.Fuzz(func(t *testing.T, n int) { time.Sleep(100 * time.Millisecond) })\n}\n",
		"c/c_test.go": head + "func FuzzBuild(f *testing.F) {\n",
		"d/d_test.go": head + "//fuzz:floor 1 a test\nfunc FuzzFine(f *testing.F) {\n\tf.Add(1)\n\tf.Fuzz(func(t *testing.T, n int) {})\n}\n",
	})
	code, out := fuzzed(t, t.Context(), dir, "-time", "2s")
	if code != failure {
		t.Errorf("exit code %d", code)
	}
	expect(t, out, "found it", "fuzzrun: failed: a FuzzFails\n", "fuzzrun: failed: c FuzzBuild\n",
		"fuzzrun: warning: slow: b FuzzSlow: ", "of processor time, expected 2000 or more\n", "/s of CPU  d FuzzFine\n", "fuzzrun: 4 targets, 2 failed, 1 slow\n")
	if kept, _ := filepath.Glob(filepath.Join(dir, "a/testdata/fuzz/FuzzFails/*")); len(kept) != 1 {
		t.Errorf("inputs kept: %q", kept)
	}
	if code, out := fuzzed(t, t.Context(), dir, "-time", "1s", "-only", "^d Fuzz"); code != 0 || strings.Contains(out, "FuzzSlow") {
		t.Errorf("d alone: exit code %d\n%s", code, out)
	}
	code, out = fuzzed(t, t.Context(), dir, "-list")
	if code != 0 {
		t.Errorf("-list: exit code %d", code)
	}
	expect(t, out, "  2000/s   0 kept      0 bytes  a FuzzFails\n", "     1/s   0 kept      0 bytes  d FuzzFine: a test\n", "fuzzrun: 4 targets, 0 kept inputs, 0 bytes\n")
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	code, out = fuzzed(t, ctx, dir, "-time", "1h", "-only", "[bd] Fuzz")
	if code != interrupted {
		t.Errorf("interrupted: exit code %d", code)
	}
	expect(t, out, "fuzzrun: interrupted, 2 targets did not run\n")
}

func TestWrongCommandLineIsRefused(t *testing.T) {
	dir := writeModule(t, map[string]string{"go.mod": "module m\n", "x_test.go": "package x\n\nfunc FuzzX(f *testing.F) {}\n"})
	for want, args := range map[string][]string{
		"no target matches -only: -list prints them":           {"-only", "nothing"},
		"-only: error parsing regexp":                          {"-only", "("},
		"found arguments [\"a\"], expected none":               {"a"},
		"flag provided but not defined":                        {"-what"},
		"-time is 0s, expected more than 0; 0 goes with -keep": {"-time", "0"},
		"-time is -1s, expected":                               {"-time", "-1s", "-keep"},
		"found -parallel 0,":                                   {"-parallel", "0"},
		"-inputs 0,":                                           {"-inputs", "0", "-keep"},
	} {
		code, out := fuzzed(t, t.Context(), dir, args...)
		if code != usage || !strings.Contains(out, want) {
			t.Errorf("%q: exit code %d, %s", args, code, out)
		}
	}
	if code, _ := fuzzed(t, t.Context(), dir, "-h"); code != 0 {
		t.Errorf("-h: exit code %d", code)
	}
}

// The inputs that are kept are small, few, and reach what the seeds do not. Their names follow from
// their content. Those that add nothing are deleted, and those that once failed stay.
func TestKeptInputsAreSmallAndFew(t *testing.T) {
	if testing.Short() {
		t.Skip("runs the go command")
	}
	const abc = "go test fuzz v1\n[]byte(\"abc\")\n"
	const ab = "go test fuzz v1\n[]byte(\"ab\")\n" // of which only the end of the data is new
	const useless = "go test fuzz v1\n[]byte(\"\\x00\\x00\")\n"
	dir := writeModule(t, map[string]string{
		"go.mod":                              "module m\n\ngo 1.24\n",
		"a/a.go":                              "package a\n\nfunc F(b []byte) (n int) {\n\tif len(b) > 0 && b[0] == 'a' {\n\t\tn = 1\n\t\tif len(b) > 1 && b[1] == 'b' {\n\t\t\tn = 2\n\t\t\tif len(b) > 2 && b[2] == 'c' {\n\t\t\t\tn = 3\n\t\t\t}\n\t\t}\n\t}\n\treturn n\n}\n",
		"a/a_test.go":                         "package a\n\nimport \"testing\"\n\nfunc FuzzF(f *testing.F) {\n\tf.Add([]byte(\"xyz\"))\n\tf.Fuzz(func(t *testing.T, b []byte) { F(b) })\n}\n",
		"a/testdata/fuzz/FuzzF/kept-00000000": useless,
		"a/testdata/fuzz/FuzzF/1234":          "go test fuzz v1\n[]byte(\"a\")\n",
	})
	b, err := newBuilder(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.close)
	// As an earlier run of the engine left them.
	cache := filepath.Join(b.cache, "fuzz", "m", "a", "FuzzF")
	t.Cleanup(func() { _ = os.RemoveAll(filepath.Join(b.cache, "fuzz", "m")) })
	if err := os.MkdirAll(cache, 0o777); err != nil {
		t.Fatal(err)
	}
	long := "go test fuzz v1\n[]byte(\"abc" + strings.Repeat("x", 400) + "\")\n"
	for name, text := range map[string]string{
		"1": abc, "2": ab, "3": long,
		"4": "go test fuzz v1\n[]byte(\"xyz\")\n", "5": "go test fuzz v1\nint(5)\n", "6": "not an input",
	} {
		if err := os.WriteFile(filepath.Join(cache, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 { // the second time changes nothing
		code, out := fuzzed(t, t.Context(), dir, "-keep", "-time", "0", "-bytes", "300")
		if code != 0 {
			t.Fatalf("exit code %d\n%s", code, out)
		}
		expect(t, out, "fuzzrun: at most 32 inputs of at most 300 bytes are kept of each target\n", "a FuzzF: kept 2 of ")
		files, _ := filepath.Glob(filepath.Join(dir, "a/testdata/fuzz/FuzzF/*"))
		for i := range files {
			files[i] = filepath.Base(files[i])
		}
		want := []string{"1234", input{data: []byte(ab)}.name(), input{data: []byte(abc)}.name()}
		slices.Sort(want)
		if d := cmp.Diff(want, files); d != "" {
			t.Fatal(d)
		}
	}
	code, out := fuzzed(t, t.Context(), dir, "-cover")
	if code != 0 {
		t.Errorf("-cover: exit code %d\n%s", code, out)
	}
	// A failure leaves the inputs that were kept.
	broken := filepath.Join(dir, "a/a_test.go")
	text, _ := os.ReadFile(broken)
	if err := os.WriteFile(broken, []byte(strings.Replace(string(text), "F(b)", "if F(b) == 3 { t.Fatal() }", 1)), 0o666); err != nil {
		t.Fatal(err)
	}
	code, out = fuzzed(t, t.Context(), dir, "-keep", "-time", "0")
	if files, _ := filepath.Glob(filepath.Join(dir, "a/testdata/fuzz/FuzzF/kept-*")); code != failure || len(files) != 2 {
		t.Errorf("a target that fails: exit code %d, %q\n%s", code, files, out)
	}
}

// At most the inputs asked for are kept, those that add most.
func TestKeepFewest(t *testing.T) {
	if testing.Short() {
		t.Skip("runs the go command")
	}
	dir := writeModule(t, map[string]string{
		"go.mod":                        "module m2\n\ngo 1.24\n",
		"a/a_test.go":                   "package a\n\nimport \"testing\"\n\nvar n int\n\nfunc FuzzF(f *testing.F) {\n\tf.Add(byte(0))\n\tf.Fuzz(func(t *testing.T, b byte) {\n\t\tswitch b {\n\t\tcase 1:\n\t\t\tn++\n\t\tcase 2:\n\t\t\tn += 2\n\t\t\tfor i := range 100 {\n\t\t\t\tif i == 7 {\n\t\t\t\t\tn++\n\t\t\t\t}\n\t\t\t}\n\t\tcase 3:\n\t\t\tn += 3\n\t\t}\n\t})\n}\n",
		"a/testdata/fuzz/FuzzF/kept-01": "go test fuzz v1\nbyte('\\x01')\n",
		"a/testdata/fuzz/FuzzF/kept-02": "go test fuzz v1\nbyte('\\x02')\n",
	})
	b, err := newBuilder(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer b.close()
	all, err := read(filepath.Join(dir, "a/testdata/fuzz/FuzzF/*"), false)
	if err != nil || len(all) != 2 {
		t.Fatal(all, err)
	}
	if err := os.RemoveAll(filepath.Join(dir, "a/testdata")); err != nil {
		t.Fatal(err)
	}
	for n, want := range map[int]int{1: 1, 2: 2, 32: 2} {
		got, out, err := b.choose(t.Context(), target{dir: "a", name: "FuzzF"}, slices.Clone(all), n)
		if err != nil || len(got) != want || !strings.Contains(string(got[0].data), "x02") {
			t.Fatalf("%d: %d inputs, %v\n%s", n, len(got), err, out)
		}
	}
}
