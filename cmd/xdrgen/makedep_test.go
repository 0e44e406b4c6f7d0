package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rpcrdma/rpcrdma/internal/cli/completion"
	"github.com/rpcrdma/rpcrdma/internal/witness"
)

// TestDependencyFileNamesAllFiles compares the dependency file of a unit with a sidecar, an include
// of the same folder and an imported unit, whose names need escapes.
func TestDependencyFileNamesAllFiles(t *testing.T) {
	t.Chdir(writeFiles(t, map[string]string{
		"go.mod":             "module example.org/m\n",
		"a.x":                "#include \"b c.x\"\n#include \"u$#1/u.x\"\nstruct s { t v; n w; };\n",
		"a.bind":             "package example.org/m/x\n",
		"b c.x":              "typedef int t;\n",
		"inc/u$#1/u.x":       "typedef int n;\n",
		"inc/u$#1/u$#1.bind": "package example.org/m/u\n",
	}))
	const want = `out\ put/p/p_xdr.go out\ put/p/p_xdr_test.go: \
  a.x \
  a.bind \
  b\ c.x \
  inc/u$$\#1/u.x \
  inc/u$$\#1/u$$\#1.bind

a.bind:

b\ c.x:

inc/u$$\#1/u.x:

inc/u$$\#1/u$$\#1.bind:
`
	args := []string{"gen", "-MD", "-tests", "-I", "inc", "-o", "out put/p", "a.x"}
	stdout, stderr, code := runCommand(t, args...)
	if code != exitClean || strings.Contains(stdout, "p_xdr.d") {
		t.Fatalf("exit code %d, %s%s", code, stdout, stderr)
	}
	got, err := os.ReadFile("out put/p/p_xdr.d")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Error(diff)
	}
	if _, stderr, code := runCommand(t, append(args, "-MF", "deps")...); code != exitClean {
		t.Fatal(stderr)
	}
	if other, err := os.ReadFile("deps"); err != nil || string(other) != want {
		t.Errorf("-MF: %v, %s", err, other)
	}
	// The generated files are now newer than any source, though none has changed.
	now := time.Now().Add(-time.Minute)
	for _, name := range []string{"out put/p/p_xdr.go", "out put/p/p_xdr_test.go"} {
		if err := os.Chtimes(name, now.Add(-time.Hour), now.Add(-time.Hour)); err != nil {
			t.Fatal(err)
		}
	}
	if stdout, _, _ := runCommand(t, args...); stdout != "" {
		t.Errorf("it prints files that did not change: %s", stdout)
	}
	for _, name := range []string{"out put/p/p_xdr.go", "out put/p/p_xdr_test.go"} {
		if info, err := os.Stat(name); err != nil || info.ModTime().Before(now) {
			t.Errorf("%s keeps its time: %v", name, err)
		}
	}
}

// TestDependencyFileOfAnErrorStays runs gen -MD with a unit that has an error, and with names that
// no makefile can have: nothing is written.
func TestDependencyFileOfAnErrorStays(t *testing.T) {
	t.Chdir(writeFiles(t, map[string]string{
		"a.x": "struct s { int v };\n", "b=c.x": "struct s { int v; };\n", "ok.x": "struct s { int v; };\n",
		"p/p_xdr.d": "old\n", "p/p_xdr.go": "package p\n",
	}))
	for args, want := range map[string]string{
		"-MD -o p a.x":                 "XDR0005",
		"-MD -o p b=c.x":               `the character "="`,
		"-MD -o p/50% -package p ok.x": `the character "%"`,
		"-MF deps -o p ok.x":           "-MF without -MD",
		"-MD -names ok.x":              "-MD with -names",
	} {
		_, stderr, code := runCommand(t, append([]string{"gen"}, strings.Fields(args)...)...)
		if code == exitClean || !strings.Contains(stderr, want) {
			t.Errorf("gen %s: exit code %d, %s", args, code, stderr)
		}
		for name, want := range map[string]string{"p/p_xdr.d": "old\n", "p/p_xdr.go": "package p\n"} {
			if text, err := os.ReadFile(name); err != nil || string(text) != want {
				t.Errorf("gen %s: %s is %q, %v", args, name, text, err)
			}
		}
	}
	if exists("p/50%") {
		t.Error("the folder for a name that is refused was made")
	}
}

// TestMakeRunsGenAfterAChange runs make with the Makefile of "xdrgen help make": when a source of a
// unit changes, make generates that unit again, and without a change it does nothing.
func TestMakeRunsGenAfterAChange(t *testing.T) {
	witness.Program(t, "sh")
	program := witness.Program(t, "make")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	page, _, _ := runCommand(t, "help", "make")
	_, rest, _ := strings.Cut(page, "XDRGEN = ")
	rules, _, found := strings.Cut(rest, "\nThe dependency file")
	if !found {
		t.Fatalf("no Makefile in\n%s", page)
	}
	dir := writeFiles(t, map[string]string{
		"Makefile":     "XDRGEN = " + rules,
		"go.mod":       "module example.org/m\n",
		"xdrgen":       "#!/bin/sh\n" + asCommand + "=1 exec " + completion.Quote(self) + " \"$@\"\n",
		"proto.x":      "#include \"with space.x\"\n#include \"common.x\"\nstruct s { t v; u w; };\n",
		"proto.bind":   "prefix x_\nrename s Thing\n",
		"admin.x":      "#include \"common.x\"\nstruct x_s { u v; };\n",
		"common.x":     "typedef int u;\n",
		"with space.x": "typedef int x_t;\ntypedef x_t t;\n",
	})
	if err := os.Chmod(filepath.Join(dir, "xdrgen"), 0o777); err != nil {
		t.Fatal(err)
	}
	run := func() (runs []string) {
		t.Helper()
		cmd := exec.Command(program, "XDRGEN=./xdrgen")
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		for line := range strings.Lines(string(out)) {
			if strings.Contains(line, " gen ") {
				runs = append(runs, strings.TrimSpace(line[strings.LastIndex(strings.TrimSpace(line), " ")+1:]))
			}
		}
		return runs
	}
	// newer gives a file a time after all others, and the others one before.
	newer := func(changed string) {
		t.Helper()
		err := filepath.WalkDir(dir, func(name string, d os.DirEntry, err error) error {
			at := time.Now().Add(-time.Hour)
			if rel, _ := filepath.Rel(dir, name); strings.HasSuffix(rel, "_xdr.go") {
				at = at.Add(time.Minute)
			} else if rel == changed {
				at = at.Add(2 * time.Minute)
			}
			return os.Chtimes(name, at, at)
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff([]string{"proto.x", "admin.x"}, run()); diff != "" {
		t.Error("the first run:", diff)
	}
	for _, c := range []struct {
		changed string
		want    []string
	}{
		{"", nil},
		{"proto.x", []string{"proto.x"}},
		{"proto.bind", []string{"proto.x"}},
		{"with space.x", []string{"proto.x"}},
		{"admin.x", []string{"admin.x"}},
		{"common.x", []string{"proto.x", "admin.x"}},
	} {
		newer(c.changed)
		if diff := cmp.Diff(c.want, run()); diff != "" {
			t.Errorf("after a change of %q: %s", c.changed, diff)
		}
		if again := run(); again != nil {
			t.Errorf("after a change of %q, the second run generates %v", c.changed, again)
		}
	}
	// An include that is no longer there stops nothing.
	if err := os.Remove(filepath.Join(dir, "with space.x")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "proto.x"), []byte("#include \"common.x\"\ntypedef int x_t;\nstruct s { x_t v; u w; };\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"proto.x"}, run()); diff != "" {
		t.Error("after an include was removed:", diff)
	}
}
