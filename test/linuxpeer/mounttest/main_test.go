//go:build linux

package main

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rpcrdma/rpcrdma/nfs/fsx"
)

// All checks pass on a file system of this machine.
func TestTree(t *testing.T) {
	var out bytes.Buffer
	dir := t.TempDir()
	s := settings{size: 3 << 20, users: os.Geteuid() == 0, drop: func() error { return nil }}
	if s.users { // other users reach a directory of root
		for d := dir; d != os.TempDir() && d != "/"; d = filepath.Dir(d) {
			if err := os.Chmod(d, 0o755); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := tree(dir, s, &out); err != nil {
		t.Fatalf("%v\n%s", err, &out)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left over: %v, %v", left, err)
	}
	if n := strings.Count(out.String(), "PASS"); n != len(checks) {
		t.Errorf("%d checks passed, expected %d:\n%s", n, len(checks), &out)
	}
}

// A file system that damages data between writing and reading fails the checks that write any.
func TestTreeCanary(t *testing.T) {
	dir := t.TempDir()
	damages := map[string]func(path string, e fs.DirEntry) error{
		"data": func(path string, e fs.DirEntry) error {
			if !e.Type().IsRegular() {
				return nil
			}
			f, err := os.OpenFile(path, os.O_RDWR, 0)
			if err != nil {
				return err
			}
			defer f.Close()
			b := make([]byte, 1)
			if n, _ := f.ReadAt(b, 0); n == 0 {
				return nil
			}
			b[0] ^= 1
			_, err = f.WriteAt(b, 0)
			return err
		},
		"attributes": func(path string, e fs.DirEntry) error {
			info, err := e.Info()
			if err != nil || e.Type() == fs.ModeSymlink {
				return err
			}
			return errors.Join(os.Chmod(path, info.Mode()^0o040), os.Chtimes(path, info.ModTime(), info.ModTime().Add(1)))
		},
		"listing": func(path string, e fs.DirEntry) error {
			if strings.HasPrefix(e.Name(), "stays-7") {
				return os.Remove(path)
			}
			return nil
		},
	}
	damaged := map[string][]string{
		"data":       {"tree", "data", "holes", "append", "truncate", "mmap", "names", "renames", "symlinks"},
		"attributes": {"attributes", "times", "special"},
		"listing":    {"listing"},
	}
	for kind, damage := range damages {
		var out bytes.Buffer
		base := filepath.Join(dir, kind)
		if err := os.Mkdir(base, 0o755); err != nil {
			t.Fatal(err)
		}
		err := tree(base, settings{size: 30_000, drop: func() error {
			return filepath.WalkDir(base, func(path string, e fs.DirEntry, err error) error {
				if err != nil || path == base || filepath.Dir(path) == base || filepath.Dir(filepath.Dir(path)) == base {
					return err
				}
				return damage(path, e)
			})
		}}, &out)
		if err == nil {
			t.Errorf("%s: no check failed", kind)
		}
		for _, name := range damaged[kind] {
			if !strings.Contains(out.String(), "FAIL "+name+":") {
				t.Errorf("%s: the check %s passed\n%s", kind, name, &out)
			}
		}
	}
}

// A digest differs when anything in the tree does.
func TestDigest(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "tree")
	if err := fill(dir, 3_000_000); err != nil {
		t.Fatal(err)
	}
	sum := func() string {
		s, err := digest(dir, true)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	seen := map[string]string{sum(): "nothing"}
	if len(seen) != 1 || seen[sum()] == "" {
		t.Fatal("two digests of a tree differ")
	}
	file := filepath.Join(dir, "large")
	for _, change := range []struct {
		what string
		do   func() error
	}{
		{"mode", func() error { return os.Chmod(file, 0o700) }},
		{"byte", func() error { return os.WriteFile(file, []byte("other"), 0) }},
		{"name", func() error { return os.Rename(file, file+"r") }},
		{"link", func() error { return os.Remove(filepath.Join(dir, "link")) }},
		{"directory", func() error { return os.Mkdir(filepath.Join(dir, "d0", "new"), 0o755) }},
	} {
		if err := change.do(); err != nil {
			t.Fatal(err)
		}
		if before, ok := seen[sum()]; ok {
			t.Errorf("after a change of a %s the digest is the one after a change of %s", change.what, before)
		}
		seen[sum()] = change.what
	}
}

// Random operations go on after each part, and a file system that loses a byte between parts fails.
func TestFSX(t *testing.T) {
	dir := t.TempDir()
	var out bytes.Buffer
	forget := func() error { return nil }
	if err := (fuzz{seed: 1, steps: 400, parts: 4, forget: func() error { return forget() }}).run(dir, &out); err != nil {
		t.Error(err)
	}
	if n := strings.Count(out.String(), "part "); n != 4 {
		t.Errorf("%d parts, expected 4:\n%s", n, &out)
	}
	dir = t.TempDir()
	forget = func() error {
		return filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
			if err != nil || !e.Type().IsRegular() {
				return err
			}
			return os.WriteFile(path, []byte("other"), 0)
		})
	}
	err := fuzz{seed: 1, steps: 400, parts: 4, forget: forget}.run(dir, &out)
	if failure := (*fsx.Failure)(nil); !errors.As(err, &failure) {
		t.Errorf("damaged files: %v", err)
	}
}

// Each user meets the errors of the file system, and what a call leaves is printed.
func TestUsersMeetTheErrorsOfTheFileSystem(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root, to act as other users")
	}
	dir := t.TempDir()
	for _, d := range []string{filepath.Dir(dir), dir} { // others search it
		if err := os.Chmod(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	var out bytes.Buffer
	if err := perms(dir, 1, &out); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(out.String(), "\n")
	for _, want := range []string{
		"0755 unlink by other: 13 d:40777:1000:1000 e:40777:1000:1000 f:100644:1000:1000 l:120777:1000:1000 g:100666:1000:1000",
		"0755 unlink by owner: 0 d:40777:1000:1000 e:40777:1000:1000 l:120777:1000:1000 g:100666:1000:1000",
		"0755 chmod by member: 1 d:40777:1000:1000 e:40777:1000:1000 f:100644:1000:1000 l:120777:1000:1000 g:100666:1000:1000",
		"0755 utimes by owner: 0 d:40777:1000:1000 e:40777:1000:1000 f:100644:1000:1000:old l:120777:1000:1000 g:100666:1000:1000",
	} {
		if !slices.Contains(lines, want) {
			t.Errorf("no line %q", want)
		}
	}
	if n := len(lines) - 1; n != len(actors)*len(probes()) {
		t.Errorf("%d lines", n)
	}
	if os.Geteuid() != 0 {
		t.Error("the test is not root any more")
	}
}
