package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestLintPrintsTheSizes(t *testing.T) {
	t.Chdir(writeFiles(t, map[string]string{
		"u.x": "const N = 4;\ntypedef opaque fh<64>;\nstruct e { fh *a; hyper b; };\nstruct m { e all<>; };\nstruct big { opaque x[4000000000]; };\n",
		"v.x": "typedef opaque fh<64>;\nstruct e { fh *a; hyper b; };\nstruct m { e all<>; int a[2]; };\nenum k { K = 0 };\nstruct l { int a; l *next; };\nstruct h { l *all; };\n",
	}))
	stdout, stderr, code := runCommand(t, "lint", "-sizes", "v.x")
	want := "type  wire min  wire max      Go value  amplification\n" +
		"fh    4         68            24        1\n" +
		"e     12        80            40        1\n" +
		"m     12        343597383612  32        4\n" +
		"k     4         4             4         -\n" +
		"l     8         none          4         -\n" +
		"h     4         none          24        1\n"
	if d := cmp.Diff(want, stdout); d != "" || code != exitClean {
		t.Errorf("exit code %d (-want +got):\n%s%s", code, d, stderr)
	}
	stdout, _, code = runCommand(t, "lint", "-sizes", "-format", "json", "u.x")
	if code != exitClean || !strings.Contains(stdout, `{"v":1,"type":"size","name":"m","min_bytes":4,"max_bytes":343597383604,"go_bytes":0,"amplification":0}`) {
		t.Errorf("exit code %d, of a unit that Go cannot hold: %s", code, stdout)
	}
	if _, _, code := runCommand(t, "lint", "-sizes", "-format", "sarif", "u.x"); code != exitUsage {
		t.Errorf("exit code %d of -sizes as SARIF", code)
	}
}
