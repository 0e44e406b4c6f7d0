package gogen

import (
	"slices"

	"github.com/dave/jennifer/jen"

	"github.com/rpcrdma/rpcrdma/cmd/internal/diag"
	"github.com/rpcrdma/rpcrdma/cmd/internal/ir"
	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/gogen/goexpr"
	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/gogen/gofile"
	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/gogen/gohelper"
	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/gogen/gonames"
	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/gogen/gostubs"
	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/gogen/goview"
	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/plan"
)

// standardImports are the packages that generated code may import besides other units.
var standardImports = []struct{ path, name string }{
	{goexpr.XDR, "xdr"},
	{goexpr.Codec, "codec"},
	{"encoding/binary", "binary"},
	{"io", "io"},
	{"iter", "iter"},
	{"math", "math"},
	{"strconv", "strconv"},
}

// Options are the choices of one run.
type Options struct {
	Package    string     // Go package name
	ImportPath string     // its import path, where known: no import of itself
	HasDoc     bool       // the folder has a doc.go: write no package comment
	Tests      bool       // write tests as well
	Stubs      bool       // write clients and servers, too, in folder <package>rpc
	Async      bool       // with methods of the clients that do not wait
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

	var made []*gofile.Assembly
	func() {
		g.formatter = gofile.NewFormatter()
		defer g.formatter.Stop()
		made = g.write(o)
	}()
	var files []File
	for _, m := range made {
		content, err := m.Content()
		if err != nil {
			return nil, nil, err
		}
		files = append(files, File{m.Name, content})
	}
	if diags := g.clashes(g.codecs, g.views); len(diags) > 0 {
		return nil, diags, nil
	}
	if err := g.incomplete(g.codecs, g.views); err != nil {
		return nil, nil, err
	}
	return files, nil, nil
}

// Refused returns the reasons for which Generate, with the options of the sidecar, refuses a unit:
// names that are equal in Go, data that no Go type can hold, and an import without views.
func Refused(u *ir.Unit, b *ir.Bind) []diag.Diagnostic {
	if b == nil {
		b = &ir.Bind{}
	}
	return newGen(u, b, Options{Views: b.Views}).begin()
}

// Warnings returns the findings of Refused as warnings, for a check of XDR that is correct.
func Warnings(u *ir.Unit, b *ir.Bind) []diag.Diagnostic {
	out := Refused(u, b)
	for i, d := range out {
		d.Severity = diag.Warning
		out[i] = d.Note("check accepts this, but gen rejects the unit because of it")
	}
	return out
}

// begin names the declarations that the unit uses, and finds those that Go cannot express.
func (g *gen) begin() []diag.Diagnostic {
	g.pkg.Names.AddImports(g.unit)
	diags := append(g.pkg.Names.Add(g.unit.Decls, g.bind, true), plan.TooLarge(g.unit)...)
	return slices.Concat(diags, codeTypes(g.bind), attributeTypes(g.bind), g.importsWithoutViews())
}

// newGen returns the state of a new run.
func newGen(u *ir.Unit, b *ir.Bind, o Options) *gen {
	pkg := &goexpr.Package{Name: o.Package, Names: gonames.New()}
	return &gen{
		unit: u, bind: b, with: o.With, wantViews: o.Views,
		pkg: pkg, imports: importsOf(u, o), helpers: gohelper.New(pkg),
		bound:   map[*plan.Type]bound{},
		scanned: map[*plan.Type]*goview.Scan{},
	}
}

// importsOf names all packages that the files may import.
func importsOf(u *ir.Unit, o Options) *gofile.Imports {
	m := gofile.NewImports(o.ImportPath, o.Package)
	for _, s := range standardImports {
		m.Standard(s.path, s.name)
	}
	for _, imp := range u.Imports {
		m.Unit(imp.Package, imp.GoName)
	}
	return m
}

// write writes the pieces of all files.
func (g *gen) write(o Options) []*gofile.Assembly {
	file := func(suffix string) *gofile.Assembly {
		return &gofile.Assembly{Name: o.Package + suffix, Head: gofile.NewHead(g.unit, g.pkg.Name)}
	}
	g.codecs, g.views = file("_xdr.go"), file("_view_xdr.go")
	if !o.HasDoc {
		for _, line := range g.packageDoc(o.Command) {
			g.codecs.Head.PackageComment(line)
		}
	}
	g.t, g.f, g.v = g.imports.Piece(), g.imports.Piece(), g.imports.Piece()
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
			if t.View {
				goview.View(g.pkg, g.v, t)
			}
		}
		g.next()
	}
	g.allBounds()
	g.helpers.Borrow(g.f)
	g.bindings()
	g.extension()
	g.attributes()
	g.next()
	made := []*gofile.Assembly{g.codecs}
	if g.wantViews {
		g.scans()
		made = append(made, g.views)
	}
	g.codecs.Pieces = slices.Concat(g.types, g.codecs.Pieces) // after the last piece of either
	if o.Tests {
		tests := file("_xdr_test.go")
		tests.Add(g.formatter, g.tests())
		made = append(made, tests)
	}
	if o.Stubs && gostubs.HasProgram(g.unit) {
		made = append(made, gostubs.Write(g.pkg, o.ImportPath, g.unit, g.bind, o.Async, g.formatter))
	}
	return made
}

// scans writes a scan for each message of the unit that holds lists or arrays.
func (g *gen) scans() {
	for _, t := range g.plan.Messages() {
		if stops := t.Stops(); stops.Top != nil {
			g.scanned[t] = goview.WriteScan(g.pkg, g.v, t, stops)
			g.next()
		}
	}
}

// next completes the current piece of each file, and begins another.
func (g *gen) next() {
	g.types = append(g.types, g.formatter.Make(g.t))
	g.codecs.Add(g.formatter, g.f)
	g.views.Add(g.formatter, g.v)
	g.t, g.f, g.v = g.imports.Piece(), g.imports.Piece(), g.imports.Piece()
}

// gen is the state of one run.
type gen struct {
	unit *ir.Unit
	bind *ir.Bind
	pkg  *goexpr.Package
	with ir.Methods

	wantViews bool // check-only readers, views and scans

	t *jen.File // constants and types, the piece being written
	f *jen.File // codecs, the piece being written
	v *jen.File // views, the piece being written

	types         []*gofile.Piece // of the codecs' file: types come before codecs, for the reader
	codecs, views *gofile.Assembly
	formatter     *gofile.Formatter
	imports       *gofile.Imports

	plan    *plan.Plan
	enums   []enumFuncs // of the enums so far
	bound   map[*plan.Type]bound
	bounded []jen.Code // the constants of bound
	scanned map[*plan.Type]*goview.Scan

	helpers *gohelper.Helpers
}
