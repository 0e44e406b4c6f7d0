package main

import (
	"strings"
	"testing"
)

// TestFileNamesKeepTheirBytes compiles a file whose name is not UTF-8, and one whose name has line
// breaks. Generated Go files cannot contain these names.
func TestFileNamesKeepTheirBytes(t *testing.T) {
	t.Chdir(writeFiles(t, map[string]string{"\xffa.x": "struct a { int b; };\n", "b\nfunc init() {}\n.x": "struct a { int b; };\n"}))
	for _, name := range []string{"\xffa.x", "b\nfunc init() {}\n.x"} {
		if stdout, stderr, code := runCommand(t, "check", name); code != exitClean {
			t.Errorf("check %q: exit code %d, %s%s", name, code, stdout, stderr)
		}
		_, stderr, code := runCommand(t, "gen", "-o", "out", name)
		if code != exitUsage || !strings.Contains(stderr, "it is not printable UTF-8: rename the file") || exists("out") {
			t.Errorf("gen %q: exit code %d, %s", name, code, stderr)
		}
	}
}
