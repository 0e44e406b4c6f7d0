package gofile

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

// Formatter renders and formats pieces of files, several at a time, while later pieces are still
// being written. Rendering and formatting is most of the compiler's work.
type Formatter struct {
	jobs    chan *Piece
	workers sync.WaitGroup
}

func NewFormatter() *Formatter {
	n := runtime.GOMAXPROCS(0)
	p := &Formatter{jobs: make(chan *Piece, 4*n)}
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

// Make makes a piece of code.
func (p *Formatter) Make(code *jen.File) *Piece {
	x := &Piece{code: code}
	p.jobs <- x
	return x
}

// Stop waits until all pieces are made.
func (p *Formatter) Stop() {
	close(p.jobs)
	p.workers.Wait()
}

// Piece is a part of a file: declarations that begin with a comment, or one declaration. The format
// of a piece does not depend on the pieces around it.
type Piece struct {
	code *jen.File // nil after it is rendered

	text    []byte            // formatted, without package clause and imports; may be empty
	imports map[string]string // by path, the import specs that it needs
	Claims  []Claim           // the Go names that it declares
	err     error
}

// scratch holds the buffers of a worker, which it uses for all pieces.
type scratch struct{ raw, formatted bytes.Buffer }

// make turns the code into text.
func (p *Piece) make(s *scratch) error {
	s.raw.Reset()
	s.formatted.Reset()
	p.code.NoFormat = true
	err := p.code.Render(&s.raw)
	p.code = nil // large, and not needed any more
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
	p.Claims = claimed(f)
	simplify(f)
	if err := format.Node(&s.formatted, fset, f); err != nil {
		return err
	}
	_, text, _ := bytes.Cut(s.formatted.Bytes(), []byte("\n\n")) // without the package clause
	p.text = bytes.Clone(text)
	return nil
}

// takeImports moves the imports from the syntax tree to the piece.
func (p *Piece) takeImports(f *ast.File) {
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
