package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/rpcrdma/rpcrdma/internal/witness"
)

// amends matches a sidecar line about a type of another unit.
var amends = regexp.MustCompile(`(?m)^(?:amend|replace)\b`)

// TestRpcgenAccepts gives each unit's files, joined in order, to the system's rpcgen, for a header
// and C code that must compile. R320. A unit that also has files written by hand is not complete
// without them: its package compares its codec with rpcgen's.
func TestRpcgenAccepts(t *testing.T) {
	for _, tool := range []string{"rpcgen", "cpp", "cc"} {
		witness.Program(t, tool)
	}
	tirpc := witness.Libtirpc(t)
	results, err := build(filepath.Join(specDir, "MANIFEST"), specDir)
	if err != nil {
		t.Fatal(err)
	}
	units := 0
	for _, r := range results {
		for _, u := range r.units {
			units++
			t.Run(u.unit.name, func(t *testing.T) {
				files, err := filepath.Glob(filepath.Join(specDir, "x", u.unit.name, "*.x"))
				if err != nil {
					t.Fatal(err)
				}
				if len(files) > len(u.files) {
					t.Skip("the unit has files by hand")
				}
				if sidecar, err := os.ReadFile(filepath.Join(specDir, "x", u.unit.name, u.unit.name+".bind")); err == nil && amends.Match(sidecar) {
					t.Skip("the unit changes types of another one, for which rpcgen has no form")
				}
				dir := t.TempDir()
				witness.AuthSys(t, dir)
				var x []byte
				for _, f := range u.files {
					x = append(x, text(f.lines)...)
				}
				if err := os.WriteFile(filepath.Join(dir, "u.x"), x, 0o644); err != nil {
					t.Fatal(err)
				}
				command(t, dir, "rpcgen", "-h", "-o", "u.h", "u.x")
				command(t, dir, "rpcgen", "-c", "-o", "u.c", "u.x")
				command(t, dir, "cc", "-fsyntax-only", "-I"+tirpc, "-I.", "u.c")
			})
		}
	}
	if units < 4 {
		t.Errorf("%d units, want the 4 of the source documents at least", units)
	}
}

func command(t *testing.T, dir, name string, args ...string) {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s %q: %v\n%s", name, args, err, out)
	}
}
