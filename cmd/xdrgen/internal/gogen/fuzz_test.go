package gogen

import (
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
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
			continue // what takes long is found by TestOK
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
		check.files(t, made)
	})
}

// checker type-checks generated files. It reads the packages that they import
// once.
type checker struct {
	fset    *token.FileSet
	imports types.Importer
}

// newChecker reads the runtime right away: it takes seconds, and an execution of
// a fuzz target may not take ten.
func newChecker(f *testing.F) *checker {
	fset := token.NewFileSet()
	c := &checker{fset, importer.ForCompiler(fset, "source", nil)}
	if _, err := c.imports.Import(xdrPath); err != nil {
		f.Fatal(err)
	}
	return c
}

func (c *checker) files(t *testing.T, made []File) {
	t.Helper()
	var trees []*ast.File
	for _, m := range made {
		tree, err := parser.ParseFile(c.fset, m.Name, m.Content, parser.SkipObjectResolution)
		if err != nil {
			t.Fatalf("%v\n%s", err, m.Content)
		}
		if !strings.HasSuffix(m.Name, "_test.go") {
			trees = append(trees, tree)
		}
	}
	conf := types.Config{Importer: c.imports, Error: func(err error) { t.Errorf("%v", err) }}
	if _, err := conf.Check("u", c.fset, trees, nil); err != nil && t.Failed() {
		for _, m := range made {
			t.Logf("%s", m.Content)
		}
	}
}
