package gostubs

import (
	"slices"

	"github.com/dave/jennifer/jen"

	"github.com/rpcrdma/rpcrdma/cmd/internal/ir"
	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/gogen/goexpr"
	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/gogen/gofile"
	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/gogen/gonames"
)

// The packages that stubs import besides the types and package context.
const (
	oncrpcPath = "github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	rpcPath    = oncrpcPath + "/rpc"
)

// stubs writes the package with the clients and servers of a unit's programs.
type stubs struct {
	unit    *ir.Unit
	bind    *ir.Bind
	names   *gonames.Names
	imports *gofile.Imports
	path    string // the import path of the package of the types
	async   bool   // clients have methods that do not wait
}

// Write writes <package>rpc/<package>rpc_xdr.go. Package p, which has the import path, has the
// types of the unit. With async, clients have methods that do not wait.
func Write(p *goexpr.Package, path string, u *ir.Unit, b *ir.Bind, async bool, f *gofile.Formatter) *gofile.Assembly {
	pkg := p.Name + "rpc"
	s := &stubs{unit: u, bind: b, names: p.Names, imports: importsOfStubs(p, path, u), path: path, async: async}
	made := &gofile.Assembly{Name: pkg + "/" + pkg + "_xdr.go", Head: gofile.NewHead(u, pkg)}
	made.Head.PackageComment("Package " + pkg + " has clients and servers for the programs of " + gofile.SourceNames(u) + ".")
	made.Head.PackageComment("Package [" + rpcPath + "] describes calls, their errors and")
	made.Head.PackageComment("the ownership of memory.")
	for _, d := range u.Decls {
		if d.Kind != ir.Program {
			continue
		}
		for _, v := range gonames.ByNumber(d.Program.Versions) {
			x := &stub{stubs: s, prog: d, vers: v, called: s.names.Stubs(v)}
			x.nameMethods()
			for _, write := range []func() *jen.File{x.program, x.client, x.server} {
				made.Add(f, write())
			}
		}
	}
	return made
}

// importsOfStubs names all packages that the file may import.
func importsOfStubs(p *goexpr.Package, path string, u *ir.Unit) *gofile.Imports {
	m := gofile.NewImports(path+"/"+p.Name+"rpc", p.Name+"rpc")
	m.Standard(oncrpcPath, "oncrpc")
	m.Standard(rpcPath, "rpc")
	m.Standard("context", "context")
	m.Unit(path, p.Name)
	for _, imp := range u.Imports {
		if imp.Package != oncrpcPath { // named above
			m.Unit(imp.Package, imp.GoName)
		}
	}
	return m
}

// types is a name of the package of the types.
func (s *stubs) types(name string) *jen.Statement { return jen.Qual(s.path, name) }

// stub is the client and the server of one version of a program.
type stub struct {
	*stubs
	prog    *ir.Decl
	called  *gonames.Stubs
	vers    *ir.Version
	methods map[*ir.Proc]string
}

// nameMethods chooses the names of the methods.
func (x *stub) nameMethods() {
	x.methods = map[*ir.Proc]string{}
	used := map[string]bool{}
	for _, p := range x.vers.Procs {
		name := x.names.Method(p)
		for used[name] || used[name+"Into"] || x.async && used[name+"Submit"] {
			name += "_"
		}
		used[name], used[name+"Into"] = true, true
		used[name+"Submit"] = x.async
		x.methods[p] = name
	}
}

// title is the version in words.
func (x *stub) title() string { return "program " + x.prog.Name + " version " + x.vers.Name }

// program writes the function that describes the version.
func (x *stub) program() *jen.File {
	file := x.imports.Piece()
	var names []jen.Code
	for _, p := range x.vers.Procs {
		names = append(names, x.types(x.names.Proc(p)).Op(":").Lit(p.Name))
	}
	fields := []jen.Code{
		jen.Id("Number").Op(":").Add(x.types(x.names.Decl(x.prog))),
		jen.Id("Version").Op(":").Add(x.types(x.names.Version(x.vers))),
	}
	if slices.ContainsFunc(x.bind.DDP, x.bound) {
		fields = append(fields, jen.Id("Bindings").Op(":").Add(x.types("DDPBindings")).Call())
	}
	if again := x.idempotent(); len(again) > 0 {
		fields = append(fields, jen.Id("Idempotent").Op(":").Index().Uint32().Values(goexpr.Rows(again)...))
	}
	fields = append(fields,
		jen.Id("Name").Op(":").Lit(x.vers.Name),
		jen.Id("Procedures").Op(":").Map(jen.Uint32()).String().Values(goexpr.Rows(names)...))
	file.Commentf("// %s describes %s.", x.called.Program, x.title())
	file.Func().Id(x.called.Program).Params().Qual(oncrpcPath, "Program").Block(
		jen.Return(jen.Qual(oncrpcPath, "Program").Values(goexpr.Rows(fields)...)))
	return file
}

// idempotent returns the procedures that may be executed twice: if the sidecar has a line "once"
// for the version, all that it does not name.
func (x *stub) idempotent() (out []jen.Code) {
	known := false
	for _, p := range x.vers.Procs {
		if p.Once {
			known = true
		} else if p.Number != 0 {
			out = append(out, x.types(x.names.Proc(p)))
		}
	}
	if !known {
		return nil
	}
	return out
}

// bound reports whether a binding is of a procedure of the version.
func (x *stub) bound(b ir.DDPBinding) bool {
	return b.Prog == x.prog.Program.Number && b.Vers == x.vers.Number
}

// procDoc is the comment of a method: what it does, and the comment of the procedure in the source.
func procDoc(what string, p *ir.Proc) *jen.Statement {
	lines := []string{what}
	for _, more := range [][]string{p.Doc, goexpr.NonEmpty(p.Tail)} {
		if len(more) > 0 {
			lines = append(append(lines, ""), more...)
		}
	}
	return jen.Comment(goexpr.Comment(lines))
}

// HasProgram reports whether u has a program.
func HasProgram(u *ir.Unit) bool {
	return slices.ContainsFunc(u.Decls, func(d *ir.Decl) bool { return d.Kind == ir.Program })
}
