package sema

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/rpcrdma/rpcrdma/cmd/internal/diag"
	"github.com/rpcrdma/rpcrdma/cmd/internal/source"
)

// oneFile is a file system with one .x file and one sidecar.
type oneFile struct{ x, bind []byte }

func (f oneFile) ReadFile(name string) ([]byte, error) {
	switch filepath.Base(name) {
	case "u.x":
		return f.x, nil
	case "u.bind":
		return f.bind, nil
	}
	return nil, fs.ErrNotExist
}

func (oneFile) ReadDir(string) ([]os.DirEntry, error) { return nil, fs.ErrNotExist }

// FuzzCompile compiles any text. Compile must not panic or hang, and the result must be consistent.
func FuzzCompile(f *testing.F) {
	for _, pattern := range []string{"../../xdrgen/testdata/bad/*.x", "../../xdrgen/testdata/ok/*.x"} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			f.Fatalf("%s: %v", pattern, err)
		}
		for _, name := range files {
			text, err := os.ReadFile(name)
			if err != nil {
				f.Fatal(err)
			}
			sidecar, _ := os.ReadFile(name[:len(name)-2] + ".bind")
			f.Add(text, sidecar)
		}
	}
	f.Fuzz(func(t *testing.T, x, sidecar []byte) {
		r, err := Compile(Options{Files: []string{"u.x"}, FS: oneFile{x, sidecar}})
		if err != nil {
			t.Fatal(err)
		}
		checkResult(t, r)
	})
}

// checkResult checks that there is a unit exactly if there are no errors, and that each place of a
// finding is in its file, so that the finding can be printed.
func checkResult(t *testing.T, r *Result) {
	t.Helper()
	if (r.Unit == nil) != diag.HasErrors(r.Diags) {
		t.Errorf("unit %v, errors %v", r.Unit != nil, diag.HasErrors(r.Diags))
	}
	for _, d := range r.Diags {
		within(t, d, d.Span)
		for _, p := range d.Related {
			within(t, d, p.Span)
		}
		for _, e := range d.Fix {
			within(t, d, e.Span)
		}
		if err := diag.WriteText(discard{}, d, diag.TextOptions{}); err != nil {
			t.Error(err)
		}
	}
}

type discard struct{}

func (discard) Write(p []byte) (int, error) { return len(p), nil }

func within(t *testing.T, d diag.Diagnostic, s source.Span) {
	t.Helper()
	if !s.Valid() || s.Start < 0 || s.End < s.Start || s.End > len(s.File.Text) {
		t.Errorf("%s: %s: span %d to %d of %d", d.Rule.Info().Name, d.Message, s.Start, s.End, len(s.File.Text))
	}
}
