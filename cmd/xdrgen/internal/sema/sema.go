package sema

import (
	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/diag"
	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/ir"
	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/source"
	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/syntax"
)

// Options says what to compile.
type Options struct {
	Files      []string          // the unit's files, at least one
	Include    []string          // folders of units (-I)
	Defines    map[string]string // -D; a value of "" defines a flag
	Types      []Given           // -type: declarations the files lack
	Renames    []ir.Rename       // -rename: before those of the sidecar
	Imports    []string          // -import: files to include, as "unit/file.x"
	ImportRoot string            // Go import path above units whose sidecar names none
	BindFile   string            // sidecar; empty for the default place
	Every      bool              // report each use of a C name and each // comment, not the first only
	Generate   bool              // Go import paths of imported units are needed
	Plain      bool              // findings have no suggestions, and their fixes are not tried

	// Where texts come from; nil for the file system.
	FS FileSystem
}

// Given is a type that the files use and do not declare.
type Given struct {
	Name string
	XDR  string // "opaque<1024>", "unsigned hyper", "struct { int x; }"
}

// Result is what Compile found.
type Result struct {
	Unit  *ir.Unit       // nil where there are errors
	Bind  *ir.Bind       // nil where there are errors; the zero value for a unit without sidecar
	Files []*source.File // all files that were read, in order
	Diags []diag.Diagnostic
}

// Compile compiles one unit. The error is about files that cannot be read;
// what is wrong with their contents is in the result, sorted by place.
func Compile(o Options) (*Result, error) {
	if o.FS == nil {
		o.FS = Disk{}
	}
	c := &compiler{o: o, parser: syntax.NewParser(), byDir: map[string]*unit{}, byPath: map[string]*source.File{}, folders: map[string]folder{}}
	u, err := c.loadRoot()
	if err != nil {
		return nil, err
	}
	r := &Result{}
	c.compile(u)
	if !diag.HasErrors(c.diags) {
		r.Unit, r.Bind = u.ir(), u.bind
	}
	r.Files = c.files
	diag.Sort(c.diags, c.files)
	r.Diags = c.diags
	if !o.Plain {
		r.tryFixes(o)
	}
	return r, nil
}

// compiler is the state of one Compile.
type compiler struct {
	o         Options
	parser    *syntax.Parser
	diags     []diag.Diagnostic
	byDir     map[string]*unit // by absolute folder
	byPath    map[string]*source.File
	folders   map[string]folder // by the path that they were read with
	files     []*source.File
	loading   []*unit                    // units whose loading is under way, outermost first
	suggested int                        // findings that got a suggestion
	depth     int                        // of includes
	others    map[string]map[string]bool // names declared in files of units that are not imported
}

func (c *compiler) report(d diag.Diagnostic) { c.diags = append(c.diags, d) }

// compile gives a loaded unit its meaning. Units it imports were compiled
// while it was loaded.
func (c *compiler) compile(u *unit) {
	c.outside(u)
	c.declare(u)
	c.resolveConsts(u)
	c.resolveTypes(u)
	c.resolvePrograms(u)
	c.checkRedeclared(u)
	c.checkUnions(u)
	c.checkNested(u)
	c.checkCycles(u) // after checkUnions: which arm a union has at hand depends on its cases
	u.broken = diag.HasErrors(c.diags)
	if !u.broken {
		findLists(u)
		findBases(u)
		sizeUnit(u, findRecursion(u))
	}
	c.resolveBind(u)
}

// ir returns the unit in the form the back ends read.
func (u *unit) ir() *ir.Unit {
	out := &ir.Unit{Name: u.name, Decls: u.decls}
	for _, f := range u.files {
		if !f.Source.Made {
			out.Files = append(out.Files, irFile(f))
		}
	}
	for _, i := range u.imports {
		out.Imports = append(out.Imports, i.imp)
	}
	return out
}
