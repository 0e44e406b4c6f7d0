package sema

import (
	"github.com/rpcrdma/rpcrdma/cmd/internal/diag"
	"github.com/rpcrdma/rpcrdma/cmd/internal/ir"
	"github.com/rpcrdma/rpcrdma/cmd/internal/source"
	"github.com/rpcrdma/rpcrdma/cmd/internal/syntax"
)

// Options are the input of Compile.
type Options struct {
	Files      []string          // the unit's files, at least one
	Include    []string          // -I: folders of units
	Defines    map[string]string // -D: constants by name; one with the value "" is a flag
	Types      []Given           // -type: declarations that the files do not have
	Renames    []ir.Rename       // -rename: they precede those of the sidecar
	Imports    []string          // -import: files to include, as "unit/file.x"
	ImportRoot string            // Go import path above units whose sidecar has no package
	BindFile   string            // sidecar; empty for the default place
	Every      bool              // reports each use of a C name and each // comment, not only the first
	Stubs      bool              // declares types that stubs need, as the line "rpc" does
	Generate   bool              // requires the Go import paths of imported units
	Plain      bool              // gives findings no suggestions, and does not try their fixes

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
}

// Compile compiles a unit. It returns an error if a file cannot be read. Faults in the text are
// findings of the result, sorted by place.
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
	loading   []*unit                    // units that are being loaded, outermost first
	suggested int                        // number of findings that asked for a suggestion
	depth     int                        // of includes
	others    map[string]map[string]bool // names declared in files that are not imported, by file
}

func (c *compiler) report(d diag.Diagnostic) { c.diags = append(c.diags, d) }

// compile analyzes a loaded unit. The units that it imports were compiled when they were loaded.
func (c *compiler) compile(u *unit) {
	c.outside(u)
	c.declare(u)
	c.resolveConsts(u)
	c.resolveTypes(u)
	c.resolvePrograms(u)
	c.checkRedeclared(u)
	c.checkUnions(u)
	c.checkNested(u)
	c.checkCycles(u) // after checkUnions, which finds the cases of each arm
	u.broken = diag.HasErrors(c.diags)
	if !u.broken {
		findLists(u)
		if c.o.Stubs || u.bind.RPC {
			findRecursion(u) // procValues asks for it, and declares more types
			procValues(u)
		}
		findBases(u)
		sizeUnit(u, findRecursion(u))
	}
	c.resolveBind(u)
}

// ir returns the unit in the form that the back ends read.
func (u *unit) ir() *ir.Unit {
	out := &ir.Unit{Name: u.name, Decls: u.decls}
	for _, f := range u.files {
		if !f.Source.Synthetic {
			out.Files = append(out.Files, irFile(f))
		}
	}
	for _, i := range u.imports {
		out.Imports = append(out.Imports, i.imp)
	}
	return out
}
