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
			var s scratch
			for x := range p.jobs {
				x.err = x.make(&s)
			}
		})
	}
	return p
}

// make takes what has been written: a piece is made of it.
func (p *press) make(code *jen.File) *piece {
	x := &piece{code: code}
	p.jobs <- x
	return x
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

// scratch is what a worker writes texts in that it does not keep.
type scratch struct{ raw, formatted bytes.Buffer }

// make turns the code into text.
func (p *piece) make(s *scratch) error {
	s.raw.Reset()
	s.formatted.Reset()
	p.code.NoFormat = true
	err := p.code.Render(&s.raw)
	p.code = nil // large, and of no more use
	if err != nil {
		return err
	}
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, "", s.raw.Bytes(), parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return fmt.Errorf("generated Go: %w, in\n%s", err, s.raw.Bytes())
	}
	p.takeImports(f)
	if len(f.Decls) == 0 {
		return nil
	}
	p.claims = claimed(f)
	simplify(f)
	if err := format.Node(&s.formatted, fset, f); err != nil {
		return err
	}
	_, text, _ := bytes.Cut(s.formatted.Bytes(), []byte("\n\n")) // without the package clause
	p.text = bytes.Clone(text)
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
