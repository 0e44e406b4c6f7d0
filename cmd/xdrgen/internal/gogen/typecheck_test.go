package gogen

import (
	"bufio"
	"bytes"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path"
	"strings"
	"sync"
	"testing"
)

// exportFiles returns the files with the export data of the packages that generated code imports,
// by import path. The go command has them in its cache, or builds them.
var exportFiles = sync.OnceValues(func() (map[string]string, error) {
	const project = "github.com/rpcrdma/rpcrdma/"
	out, err := exec.Command("go", "list", "-export", "-deps", "-f", "{{.ImportPath}} {{.Export}}",
		project+"runtime/...", "testing").Output()
	if err != nil {
		return nil, fmt.Errorf("go list -export: %w", err)
	}
	files := map[string]string{}
	for s := bufio.NewScanner(bytes.NewReader(out)); s.Scan(); {
		if path, file, ok := strings.Cut(s.Text(), " "); ok && file != "" {
			files[path] = file
		}
	}
	return files, nil
})

// checker type-checks generated packages in this process: a unit costs milliseconds instead of the
// second that go vet takes.
type checker struct {
	known types.Importer
	made  map[string]*types.Package // by import path
}

func newChecker(tb testing.TB) *checker {
	tb.Helper()
	files, err := exportFiles()
	if err != nil {
		tb.Fatal(err)
	}
	c := &checker{made: map[string]*types.Package{}}
	c.known = importer.ForCompiler(token.NewFileSet(), "gc", func(path string) (io.ReadCloser, error) {
		if file := files[path]; file != "" {
			return os.Open(file)
		}
		return nil, fmt.Errorf("generated code imports %s, of which there is no export data", path)
	})
	return c
}

// Import implements types.Importer.
func (c *checker) Import(path string) (*types.Package, error) {
	if p := c.made[path]; p != nil {
		return p, nil
	}
	return c.known.Import(path)
}

// check returns the first error in the packages that files contain: the package in folder root with
// its tests, and the packages in folders below, which import it.
func (c *checker) check(root string, files []File) error {
	fset := token.NewFileSet()
	packages, order := map[string][]*ast.File{}, []string{}
	for _, f := range files {
		parsed, err := parser.ParseFile(fset, f.Name, f.Content, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		at := path.Join(root, path.Dir(f.Name))
		if packages[at] == nil {
			order = append(order, at)
		}
		packages[at] = append(packages[at], parsed)
	}
	for _, at := range order {
		var first error
		conf := types.Config{Importer: c, Error: func(err error) {
			if first == nil {
				first = err
			}
		}}
		p, _ := conf.Check(at, fset, packages[at], nil)
		if first != nil {
			return first
		}
		c.made[at] = p
	}
	return nil
}
