package gogen

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/rpcrdma/rpcrdma/cmd/internal/sema"
)

// FuzzGenerate generates Go for any text that the front end accepts. The
// generator does not panic, refuses with a place, and what it writes parses and
// passes the type checker.
func FuzzGenerate(f *testing.F) {
	files, err := filepath.Glob(okDir + "/*.x")
	if err != nil || len(files) == 0 {
		f.Fatalf("no files: %v", err)
	}
	for _, name := range files {
		if info, err := os.Stat(name); err != nil || info.Size() > 1<<11 {
			continue // what takes long is found by TestGoodFilesGiveTestedPackages
		}
		text, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		sidecar, _ := os.ReadFile(strings.TrimSuffix(name, ".x") + ".bind")
		f.Add(string(text), string(sidecar))
	}
	f.Add("/* \xa9 */ struct s { int a; /* \ufeff\x1b */ };", "")
	check := newChecker(f)
	f.Fuzz(func(t *testing.T, x, sidecar string) {
		if len(x) > 1<<13 || len(sidecar) > 1<<10 {
			return
		}
		r, err := sema.Compile(sema.Options{Files: []string{"u.x"}, Generate: true, FS: fstest.MapFS{
			"u.x": {Data: []byte(x)}, "u.bind": {Data: []byte(sidecar)},
		}})
		if err != nil {
			t.Fatal(err)
		}
		if r.Unit == nil {
			return
		}
		made, diags, err := Generate(r.Unit, r.Bind, Options{Package: "u", Tests: len(x)%2 == 0, Views: len(x)%3 > 0, With: allMethods()})
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range diags {
			if !d.Span.Valid() || d.Message == "" || d.HelpText() == "" {
				t.Errorf("finding without a place or help: %+v", d)
			}
		}
		if (len(made) == 0) != (len(diags) > 0) {
			t.Errorf("%d files, %d findings", len(made), len(diags))
		}
		if err := check.check("u", made); err != nil {
			t.Error(err)
			for _, m := range made {
				t.Logf("%s", m.Content)
			}
		}
	})
}
