package gogen

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"runtime"
	"sync"

	"github.com/dave/jennifer/jen"
)

// press makes pieces of files, several at a time, while those that come after
// are still being written. Rendering and formatting is most of what the compiler
// does.
type press struct {
	jobs    chan *piece
	workers sync.WaitGroup
}

func newPress() *press {
	n := runtime.GOMAXPROCS(0)
	p := &press{jobs: make(chan *piece, 4*n)}
	for range n {
		p.workers.Go(func() {
			for x := range p.jobs {
				x.err = x.make()
			}
		})
	}
	return p
}

// stop waits until all pieces are made.
func (p *press) stop() {
	close(p.jobs)
	p.workers.Wait()
}

// piece is some declarations of a file, beginning with a comment or alone:
// formatting one says nothing about the next.
type piece struct {
	code *jen.File // what it is made of, nil once that is done

	text    []byte            // formatted, without package clause and imports; may be empty
	imports map[string]string // by path, the import specs that it needs
	claims  []claim           // the Go names that it declares
	err     error
}

// make turns the code into text.
func (p *piece) make() error {
	var raw bytes.Buffer
	p.code.NoFormat = true
	err := p.code.Render(&raw)
	p.code = nil // large, and of no more use
	if err != nil {
		return err
	}
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, "", raw.Bytes(), parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return fmt.Errorf("generated Go: %w, in\n%s", err, raw.Bytes())
	}
	p.takeImports(f)
	if len(f.Decls) == 0 {
		return nil
	}
	p.claims = claimed(f)
	var out bytes.Buffer
	out.Grow(raw.Len() + raw.Len()/4) // most often enough for the indentation
	if err := format.Node(&out, fset, f); err != nil {
		return err
	}
	_, p.text, _ = bytes.Cut(out.Bytes(), []byte("\n\n")) // the package clause is left out
	return nil
}

// takeImports moves the imports from the syntax tree to the piece.
func (p *piece) takeImports(f *ast.File) {
	if len(f.Imports) == 0 {
		return
	}
	p.imports = make(map[string]string, len(f.Imports))
	for _, i := range f.Imports {
		spec := i.Path.Value
		if i.Name != nil {
			spec = i.Name.Name + " " + spec
		}
		p.imports[i.Path.Value] = spec
	}
	f.Decls, f.Imports = f.Decls[1:], nil
}
