//go:build unix

package sema

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/rpcrdma/rpcrdma/cmd/internal/source"
)

// TestPipeBeside compiles files in a folder that also has a named pipe without a writer. Opening
// that pipe would block. Only a file that the user names may be a pipe.
func TestPipeBeside(t *testing.T) {
	for name, c := range map[string]struct {
		pipe, text, want string
	}{
		"a name that is declared nowhere":     {"u/other.x", "struct s { nowhere x; };", "undefined-type"},
		"in a folder of units":                {"unit/other.x", "struct s { nowhere x; };", "undefined-type"},
		"a header for C":                      {"u/other.x", "%#include \"other.h\"\nstruct s { nowhere x; };", "undefined-type"},
		"included from the same folder":       {"u/other.x", "#include \"other.x\"\nstruct s { int x; };", "include-not-found"},
		"included from another":               {"unit/other.x", "#include \"unit/other.x\"\nstruct s { int x; };", "include-not-found"},
		"beside a file that is included":      {"unit/pipe.x", "#include \"unit/fine.x\"\nstruct s { int x; };", "include-not-found"},
		"in the place of the sidecar":         {"u/u.bind", "struct s { int x; };", ""},
		"in the place of the map to document": {"u/u.x.origin", "struct s { int x; };", ""},
	} {
		t.Run(name, func(t *testing.T) {
			dir := write(t, map[string]string{"u/u.x": c.text, "unit/fine.x": "const FINE = 1;"})
			if err := syscall.Mkfifo(filepath.Join(dir, c.pipe), 0o666); err != nil {
				t.Skip(err)
			}
			r, err := Compile(Options{Files: []string{filepath.Join(dir, "u/u.x")}, Include: []string{dir}})
			if c.want == "" {
				if err == nil || !strings.Contains(err.Error(), "not a regular file") {
					t.Errorf("found error %v, expected the reason in it", err)
				}
				return
			}
			if err != nil || strings.Join(rules(r), " ") != c.want {
				t.Fatal(err, rules(r), "want", c.want)
			}
			if d := r.Diags[0]; c.want == "include-not-found" && !strings.Contains(d.Message+strings.Join(d.Notes, " "), "not a regular file") {
				t.Errorf("%s %v does not have the reason", d.Message, d.Notes)
			}
		})
	}
}

// TestOnlyRegularFilesAreRead checks that Regular refuses a path that is not a regular file, and a
// file that is too long.
func TestOnlyRegularFilesAreRead(t *testing.T) {
	dir := write(t, map[string]string{"a.x": "const A = 1;"})
	file := filepath.Join(dir, "a.x")
	if err := (Disk{}).Regular(file, 12); err != nil {
		t.Error(err)
	}
	if err := (Disk{}).Regular(file, 11); err == nil || !strings.Contains(err.Error(), "found 12 bytes, expected at most 11") {
		t.Error(err)
	}
	if err := (Disk{}).Regular(dir, 1<<20); err == nil || !strings.Contains(err.Error(), "not a regular file") {
		t.Error(err)
	}
	if err := (Disk{}).Regular(file+"x", 12); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
	link := filepath.Join(dir, "link.x")
	if err := os.Symlink(file, link); err == nil {
		if err := (Disk{}).Regular(link, 12); err != nil {
			t.Errorf("a link to a file: %v", err)
		}
	}
}

// TestReadLong reads a file that is too long. ReadFile stops one byte after the limit.
func TestReadLong(t *testing.T) {
	name := filepath.Join(t.TempDir(), "long.x")
	if err := os.WriteFile(name, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(name, 4*source.MaxSize); err != nil {
		t.Fatal(err)
	}
	text, err := Disk{}.ReadFile(name)
	if err != nil || len(text) != source.MaxSize+1 {
		t.Errorf("%d bytes, %v; want %d", len(text), err, source.MaxSize+1)
	}
}
