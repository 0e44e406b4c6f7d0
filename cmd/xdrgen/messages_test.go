package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rpcrdma/rpcrdma/internal/cli"
)

// TestCountOfFindingsComesLast has one buffer for both outputs, as a terminal has.
func TestCountOfFindingsComesLast(t *testing.T) {
	t.Chdir(writeFiles(t, map[string]string{"bad.x": strings.Repeat("struct { };\n", 3), "warn.x": "struct a { unsigned x; opaque y<>; };\n"}))
	for _, args := range []string{"check bad.x", "check warn.x", "check -format github warn.x", "lint warn.x", "gen -o out bad.x", "check -format json -errors 1 bad.x"} {
		var out bytes.Buffer
		run(strings.Fields(args), environment{stdout: &out, stderr: &out, getenv: func(string) string { return "" }, terminal: cli.IsTerminal})
		lines := strings.Split(strings.TrimSpace(out.String()), "\n")
		if last := lines[len(lines)-1]; len(lines) < 2 || !strings.HasPrefix(last, "xdrgen: ") || !strings.Contains(last, " error") {
			t.Errorf("%s ends with %q of %d lines", args, last, len(lines))
		}
	}
}

// TestErrorsOfWritingNameTheFileAskedFor writes where it cannot: below a file, and in place of a
// folder.
func TestErrorsOfWritingNameTheFileAskedFor(t *testing.T) {
	dir := writeFiles(t, map[string]string{"a.x": "struct a {int x;};\n", "full/there": ""})
	if err := os.MkdirAll(filepath.Join(dir, "out/out_xdr.go/inside"), 0o777); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		filepath.Join(dir, "out/out_xdr.go"):  "out_xdr.go: is a directory",
		filepath.Join(dir, "full/there/a.x"):  "a.x: not a directory",
		filepath.Join(dir, "absent/name.txt"): "name.txt: no such file or directory",
	} {
		_, err := writeFile(name, []byte("text"))
		if err == nil || !strings.HasPrefix(err.Error(), "write "+filepath.Dir(name)) || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	locked := filepath.Join(dir, "locked")
	if err := os.Mkdir(locked, 0o555); err != nil {
		t.Fatal(err)
	}
	if _, err := writeFile(filepath.Join(locked, "b.x"), nil); err != nil && err.Error() != "write "+filepath.Join(locked, "b.x")+": permission denied" {
		t.Error(err) // root may write there
	}
}

// TestAFlagThatTookTheFileIsNamed gives the file in place of a flag's value.
func TestAFlagThatTookTheFileIsNamed(t *testing.T) {
	for args, want := range map[string]string{
		"gen -o out -D blob.x":         "FILE is missing: -D took blob.x for its value",
		"gen -o blob.x":                "FILE is missing: -o took blob.x for its value",
		"gen -rename blob.x -o out":    "FILE is missing: -rename took blob.x for its value",
		"check -import blob.x":         "FILE is missing: -import took blob.x for its value",
		"compat -bind b.x old.x":       "NEW is missing: -bind took b.x for its value",
		"gen -o out":                   "FILE is missing\n",
		"gen -o out -D A=1":            "FILE is missing\n",
		"gen -o out -views -D blob.xx": "FILE is missing\n",
	} {
		_, stderr, code := runCommand(t, strings.Fields(args)...)
		if code != exitUsage || !strings.HasPrefix(stderr, "xdrgen: "+want) {
			t.Errorf("%s: exit code %d, %s", args, code, stderr)
		}
	}
}
