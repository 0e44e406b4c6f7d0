package sema

import (
	"slices"

	"github.com/rpcrdma/rpcrdma/cmd/internal/diag"
	"github.com/rpcrdma/rpcrdma/cmd/internal/ir"
	"github.com/rpcrdma/rpcrdma/cmd/internal/source"
)

// Options are the input of Compile.
type Options struct {
	Files      []string          // the unit's files, at least one
	Include    []string          // -I: folders of units
	Defines    map[string]string // -D: constants by name; one with the value "" is a flag
	Types      []Given           // -type: declarations that the files do not have
	Renames    []ir.Rename       // -rename: they precede the sidecar's
	Imports    []string          // -import: files to include, as "unit/file.x"
	ImportRoot string            // Go import path above units whose sidecar has no package
	BindFile   string            // sidecar; empty for the default place
	Every      bool              // reports each use of a C name and // comment, not only the first
	Stubs      bool              // declares types that stubs need, as the line "rpc" does
	Generate   bool              // requires the Go import paths of imported units
	Plain      bool              // gives findings no suggestions, and does not try their fixes
	Index      bool              // sets Result.Index

	// FS is the source of the files. If nil, the default is Disk.
	FS FileSystem
}

// Given is a type that the files use but do not declare.
type Given struct {
	Name string
	XDR  string // "opaque<1024>", "unsigned hyper", "struct { int x; }"
}

// Result is the output of Compile.
type Result struct {
	Unit  *ir.Unit       // nil if there are errors
	Bind  *ir.Bind       // nil if there are errors; the zero value if there is no sidecar
	Files []*source.File // all files that were read, in order
	Diags []diag.Diagnostic
	Index *Index // nil without Options.Index
}

// Compile compiles a unit. It returns an error if a file cannot be read. Faults in the text are
// findings of the result, sorted by place.
func Compile(o Options) (*Result, error) {
	if o.FS == nil {
		o.FS = Disk{}
	}
	c := newCompiler(o)
	u, err := c.loadRoot()
	if err != nil {
		return nil, err
	}
	r := &Result{}
	c.compile(u)
	if !diag.HasErrors(c.findings.diags) {
		r.Unit, r.Bind = u.ir(), u.side.bind
	}
	r.Files = c.lib.files
	c.findings.diags = diag.Distinct(c.findings.diags)
	diag.Sort(c.findings.diags, c.lib.files)
	r.Diags = c.findings.diags
	if o.Index {
		r.Index = c.index(u)
	}
	if !o.Plain {
		r.tryFixes(o)
	}
	return r, nil
}

// compiler loads units and runs the passes on each. Every pass is a struct with the unit and the
// state that only this pass has.
//
//	compiler ── parses, includes, imports ──> unit
//	   amender     copies what the unit amends of included units, with the additions
//	   supplier    adds declarations that the files expect from elsewhere
//	   collector   enters names into the scope
//	   evaluator   computes constants
//	   resolver    resolves types, unions and programs, with the evaluator
//	   check...    checks the unit as a whole
//	   find...     lists, recursion and sizes of its types
//	   linker      binds the names of the sidecar
//
// All passes report to the same findings. Those that meet unknown names ask the adviser.
type compiler struct {
	*findings
	o       Options
	lib     *library
	advice  *adviser
	byDir   map[string]*unit // by absolute folder
	loading []*unit          // units that are being loaded, outermost first
	depth   int              // of includes
}

func newCompiler(o Options) *compiler {
	f := &findings{every: o.Every, indexed: o.Index}
	lib := newLibrary(o.FS, f)
	advice := &adviser{lib: lib, include: o.Include, plain: o.Plain}
	return &compiler{findings: f, o: o, lib: lib, advice: advice, byDir: map[string]*unit{}}
}

// compile analyzes a loaded unit. The units that it imports were compiled when they were loaded.
func (c *compiler) compile(u *unit) {
	c.checkFrom(u)
	c.amend(u)
	c.newSupplier(u).supply()
	(&collector{findings: c.findings, u: u}).declare()
	values := &evaluator{findings: c.findings, advice: c.advice, u: u, defines: c.o.Defines, counting: map[numberName]bool{}}
	values.resolveConsts()
	r := &resolver{findings: c.findings, advice: c.advice, u: u, values: values}
	r.resolveTypes()
	r.resolvePrograms()
	checkRedeclared(c.findings, u)
	r.checkUnions()
	r.checkAmended()
	checkNested(c.findings, u)
	checkCycles(c.findings, u) // after checkUnions, which finds the cases of each arm
	u.broken = diag.HasErrors(c.findings.diags)
	if !u.broken {
		findLists(u)
		if c.o.Stubs || u.side.bind.RPC {
			procValues(u)
		}
		findBases(u)
		sizeUnit(u, findRecursion(u))
	}
	if u.imp == nil {
		u.side.bind.Renames = append(slices.Clone(c.o.Renames), u.side.bind.Renames...)
	}
	if !u.broken { // else a name of the sidecar may be missing because of an error
		u.inheritLines()
		c.newLinker(u).link()
	}
}

// ir returns the unit in the form that the back ends read.
func (u *unit) ir() *ir.Unit {
	out := &ir.Unit{Name: u.name, Decls: u.decls, From: map[string]string{}}
	for name, of := range u.side.from {
		out.From[name] = of.Text
	}
	for _, f := range u.files {
		if !f.Source.Synthetic && !u.amended.copied[f] {
			out.Files = append(out.Files, irFile(f))
		}
	}
	imports := u.imports
	if slices.ContainsFunc(imports, func(i *unit) bool { return len(i.amended.of) > 0 }) {
		imports = u.inOrder() // what amends a unit takes its Go names from it
	}
	for _, i := range imports {
		out.Imports = append(out.Imports, i.imp)
	}
	return out
}
