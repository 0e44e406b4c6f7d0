package witness_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/rpcrdma/rpcrdma/internal/witness"
)

// A missing program skips the test, or fails it if Env is Required.
func TestMissing(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	for _, tt := range []struct{ env, want string }{
		{"", "skip: tshark is not installed (Debian package tshark)"},
		{witness.Required, "fatal: tshark is not installed (Debian package tshark), and WITNESSES=required requires it"},
	} {
		t.Setenv(witness.Env, tt.env)
		rec := &recorder{TB: t}
		done := make(chan struct{})
		go func() {
			defer close(done)
			witness.Program(rec, "tshark")
		}()
		<-done
		if rec.got != tt.want {
			t.Errorf("WITNESSES=%q: %q, want %q", tt.env, rec.got, tt.want)
		}
	}
}

// recorder keeps the result that a test would have.
type recorder struct {
	testing.TB
	got string
}

func (r *recorder) Helper() {}

func (r *recorder) Skipf(format string, args ...any) {
	r.got = "skip: " + fmt.Sprintf(format, args...)
	runtime.Goexit()
}

func (r *recorder) Fatalf(format string, args ...any) {
	r.got = "fatal: " + fmt.Sprintf(format, args...)
	runtime.Goexit()
}

// Missing names each package once.
func TestMissingPackages(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("PATH", dir)
	if got := witness.Missing("tshark", "apt-get", "gcc", "apt-cache"); !slices.Equal(got, []string{"apt", "gcc", "tshark"}) {
		t.Errorf("with no program installed: %q", got)
	}
	if got := witness.Missing(); got != nil {
		t.Errorf("of no programs: %q", got)
	}
}

// An installed program is found.
func TestProgram(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "sed"), []byte("#!/bin/sh\n"), 0o777); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir)
	if got := witness.Program(t, "sed"); got != filepath.Join(dir, "sed") {
		t.Errorf("found %q", got)
	}
}

// Tests find programs through this package only, so that no run with WITNESSES=required skips one
// silently.
func TestNoOtherLookups(t *testing.T) {
	const root = "../.."
	seen := 0
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		rel := strings.TrimPrefix(filepath.ToSlash(path), root+"/")
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "testdata" || d.Name() == ".git" || rel == "internal/witness"):
			return fs.SkipDir
		case !strings.HasSuffix(path, "_test.go") && !strings.Contains(rel, "test/"):
			return nil
		case !strings.HasSuffix(path, ".go"):
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		seen++
		if strings.Contains(string(text), "exec.LookPath(") {
			t.Errorf("%s: finds a program by exec.LookPath: use witness.Program, which fails where witnesses are required", rel)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if seen < 200 {
		t.Errorf("looked at %d files: the walk is broken", seen)
	}
}
