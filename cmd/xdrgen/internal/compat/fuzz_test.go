package compat

import (
	"os"
	"path/filepath"
	"testing"
	"testing/fstest"

	"github.com/rpcrdma/rpcrdma/cmd/internal/sema"
	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/gogen/gonames"
)

// FuzzCompare compares any two protocols: nothing panics, each difference has a
// place and a message, and a protocol does not differ from itself.
func FuzzCompare(f *testing.F) {
	for _, e := range edits() {
		f.Add(e.old, e.new)
	}
	files, err := filepath.Glob("../../testdata/ok/*.x")
	if err != nil || len(files) == 0 {
		f.Fatalf("no files: %v", err)
	}
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(text), string(text))
	}
	f.Fuzz(func(t *testing.T, old, new string) {
		a, ok := compileText(t, old)
		if !ok {
			return
		}
		for _, c := range Compare(a, a) {
			t.Errorf("the same protocol: %s: %s", show(c), c.Message)
		}
		b, ok := compileText(t, new)
		if !ok {
			return
		}
		forth, back := Compare(a, b), Compare(b, a)
		for _, c := range append(forth, back...) {
			if c.Message == "" || !c.Old.Valid() && !c.New.Valid() {
				t.Errorf("%s: message %q, places %v %v", show(c), c.Message, c.Old, c.New)
			}
		}
	})
}

// compileText is compile without files, for texts that may be faulty.
func compileText(t *testing.T, text string) (Revision, bool) {
	t.Helper()
	if len(text) > 1<<12 {
		return Revision{}, false
	}
	r, err := sema.Compile(sema.Options{Files: []string{"p.x"}, FS: fstest.MapFS{"p.x": {Data: []byte(text)}}})
	if err != nil {
		t.Fatal(err)
	}
	if r.Unit == nil {
		return Revision{}, false
	}
	return Revision{r.Unit, r.Bind, gonames.Renames(r.Unit, r.Bind)}, true
}
