package sema

import (
	"errors"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
)

// TestIncludeTried checks that a finding names each folder that was searched for an included file
// once.
func TestIncludeTried(t *testing.T) {
	files := map[string]string{"u/u.x": "#include \"none.x\"\n"}
	found := compileFiles(t, Options{Include: []string{"inc", "inc", "inc/../inc"}}, files, "u/u.x").Diags
	if len(found) != 1 || len(found[0].Notes) != 1 {
		t.Fatalf("findings: %+v", found)
	}
	if note := filepath.ToSlash(found[0].Notes[0]); strings.Count(note, "inc/none.x") != 1 || !strings.Contains(note, "u/none.x") {
		t.Errorf("note: %s", note)
	}
}

// brokenFS is the disk, except that files named broken.x cannot be read.
type brokenFS struct{ Disk }

func (b brokenFS) ReadFile(name string) ([]byte, error) {
	if filepath.Base(name) == "broken.x" {
		return nil, &fs.PathError{Op: "read", Path: name, Err: errors.New("input/output error")}
	}
	return b.Disk.ReadFile(name)
}

// A unit with a file that cannot be read is reported once, however often it is included: later
// includes are not part of a cycle, and its names are not missed. Real cycles are still found.
func TestUnreadableUnitIsReportedOnce(t *testing.T) {
	for name, tt := range map[string]struct{ u, want string }{
		"one include":         {"#include \"unit/fine.x\"\nstruct s { fine x; };", "include-not-found"},
		"two from one file":   {"#include \"unit/fine.x\"\n#include \"unit/fine.x\"\nstruct s { fine x; };", "include-not-found"},
		"two by other units":  {"#include \"a/a.x\"\n#include \"b/b.x\"\nstruct s { a x; b y; };", "include-not-found"},
		"and then a cycle":    {"#include \"unit/fine.x\"\n#include \"c/c.x\"\nstruct s { fine x; };", "include-not-found import-cycle"},
		"its file by another": {"#include \"unit/broken.x\"\n#include \"a/a.x\"\nstruct s { a x; };", "include-not-found"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := write(t, map[string]string{
				"u/u.x": tt.u, "unit/fine.x": "struct fine { int x; };", "unit/broken.x": "const BROKEN = 1;",
				"a/a.x": "#include \"unit/fine.x\"\nstruct a { fine x; };", "b/b.x": "#include \"unit/fine.x\"\nstruct b { fine x; };",
				"c/c.x": "#include \"u/u.x\"\nstruct c { int x; };",
			})
			r, err := Compile(Options{Files: []string{filepath.Join(dir, "u/u.x")}, Include: []string{dir}, FS: brokenFS{}})
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(rules(r), " "); got != tt.want {
				t.Errorf("%s, expected %s: %v", got, tt.want, r.Diags)
			}
		})
	}
}
