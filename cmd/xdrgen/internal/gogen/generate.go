package gogen

import (
	"slices"

	"github.com/dave/jennifer/jen"

	"github.com/rpcrdma/rpcrdma/cmd/internal/diag"
	"github.com/rpcrdma/rpcrdma/cmd/internal/ir"
	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/gogen/gonames"
	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/plan"
)

// The packages that generated code imports: the one that its users see, and the one that only
// generated code calls.
const (
	xdrPath   = "github.com/rpcrdma/rpcrdma/runtime/xdr"
	codecPath = xdrPath + "/codec"
	jsonPath  = xdrPath + "/xdrjson"
	textPath  = xdrPath + "/text"
)

// Options are the choices of one run.
type Options struct {
	Package    string     // Go package name
	ImportPath string     // its import path, where known: no import of itself
	HasDoc     bool       // the folder has a doc.go: write no package comment
	Tests      bool       // write tests as well
	Stubs      bool       // write clients and servers, too, in folder <package>rpc
	Views      bool       // write check-only readers, views and scans
	With       ir.Methods // optional methods
	Command    []string   // that makes the package again in its folder; nil is one without flags
}

// File is one generated file.
type File struct {
	Name    string // base name
	Content []byte // formatted Go source
}

// Generate writes the Go package for a unit: types and codecs in <package>_xdr.go, with
// Options.Views check-only readers, views and scans in <package>_view_xdr.go, and with
// Options.Tests tests in <package>_xdr_test.go. The output depends on the input only (D10). It
// returns no files but diagnostics if Go cannot express the unit. An error is a fault of the
// generator itself.
func Generate(u *ir.Unit, b *ir.Bind, o Options) ([]File, []diag.Diagnostic, error) {
	if b == nil {
		b = &ir.Bind{}
	}
	g := newGen(u, b, o)
	if diags := g.begin(); len(diags) > 0 {
		return nil, diags, nil
	}
	g.plan = plan.Make(u, b)
	g.nameImports(u.Imports)

	var made []*assembly
	func() {
		g.formatter = newFormatter()
		defer g.formatter.stop()
		made = g.write(o)
	}()
	var files []File
	for _, m := range made {
		f, err := m.file()
		if err != nil {
			return nil, nil, err
		}
		files = append(files, f)
	}
	if diags := g.clashes(g.codecs, g.views); len(diags) > 0 {
		return nil, diags, nil
	}
	if err := g.incomplete(g.codecs, g.views); err != nil {
		return nil, nil, err
	}
	return files, nil, nil
}

// Refused returns the reasons for which Generate refuses a unit before it writes anything: names
// that are equal in Go, and data that no Go type can hold.
func Refused(u *ir.Unit, b *ir.Bind) []diag.Diagnostic {
	if b == nil {
		b = &ir.Bind{}
	}
	return newGen(u, b, Options{}).begin()
}

// begin names the declarations that the unit uses, and finds those that Go cannot express.
func (g *gen) begin() []diag.Diagnostic {
	for _, imp := range g.unit.Imports {
		g.names.Add(imp.Decls, imp.Bind, false)
	}
	diags := append(g.names.Add(g.unit.Decls, g.bind, true), plan.TooLarge(g.unit)...)
	return slices.Concat(diags, codeTypes(g.bind), g.importsWithoutViews())
}

// newGen returns the state of a new run.
func newGen(u *ir.Unit, b *ir.Bind, o Options) *gen {
	return &gen{
		unit: u, bind: b, pkg: o.Package, importPath: o.ImportPath, with: o.With, wantViews: o.Views,
		names:   gonames.New(),
		bound:   map[*plan.Type]bound{},
		scanned: map[*plan.Type]*scan{},
		helpers: map[helperOf]string{},
	}
}

// write writes the pieces of all files.
func (g *gen) write(o Options) []*assembly {
	file := func(suffix string) *assembly {
		return &assembly{name: o.Package + suffix, head: g.newHead(g.pkg)}
	}
	g.codecs, g.views = file("_xdr.go"), file("_view_xdr.go")
	if !o.HasDoc {
		for _, line := range g.packageDoc(o.Command) {
			g.codecs.head.PackageComment(line)
		}
	}
	g.t, g.f, g.v = g.newPiece(), g.newPiece(), g.newPiece()
	g.consts()
	for _, d := range g.unit.Decls {
		if d.Kind == ir.Program {
			g.program(d)
		}
	}
	g.next()
	for _, t := range g.plan.Types {
		g.decl(t)
		if g.wantViews {
			g.checks(t)
			g.view(t)
		}
		g.next()
	}
	g.borrow()
	g.bindings()
	g.extension()
	g.next()
	made := []*assembly{g.codecs}
	if g.wantViews {
		g.scans()
		made = append(made, g.views)
	}
	g.codecs.pieces = slices.Concat(g.types, g.codecs.pieces) // after the last piece of either
	if o.Tests {
		tests := file("_xdr_test.go")
		tests.add(g.formatter, g.tests())
		made = append(made, tests)
	}
	if o.Stubs && g.hasProgram() {
		made = append(made, g.stubFile())
	}
	return made
}

// next ends a piece of each file, and begins another.
func (g *gen) next() {
	g.types = append(g.types, g.formatter.make(g.t))
	g.codecs.add(g.formatter, g.f)
	g.views.add(g.formatter, g.v)
	g.t, g.f, g.v = g.newPiece(), g.newPiece(), g.newPiece()
}

// gen is the state of one run.
type gen struct {
	unit  *ir.Unit
	bind  *ir.Bind
	pkg   string
	with  ir.Methods
	names *gonames.Names

	wantViews bool // check-only readers, views and scans

	t *jen.File // constants and types, the piece being written
	f *jen.File // codecs, the piece being written
	v *jen.File // views, the piece being written

	types         []*piece // of the codecs' file: types come before codecs, for the reader
	codecs, views *assembly
	formatter     *formatter
	importPath    string // of the package itself, where known
	imports       []importName

	plan    *plan.Plan
	enums   []enumFuncs // of the enums so far
	bound   map[*plan.Type]bound
	scanned map[*plan.Type]*scan

	helpers  map[helperOf]string // the names of the helpers that are called
	borrowed []helperOf          // of imported types, not yet written
}
