package gogen

import (
	"slices"

	"github.com/dave/jennifer/jen"

	"github.com/rpcrdma/rpcrdma/cmd/internal/ir"
	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/gogen/gonames"
)

// The packages that stubs import besides the types and package context.
const (
	oncrpcPath = "github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	rpcPath    = oncrpcPath + "/rpc"
)

// stubs writes the package with the clients and servers of a unit's programs, beside the package
// of the types.
type stubs struct {
	*gen
	pkg string
}

// stubFile writes <package>rpc/<package>rpc_xdr.go.
func (g *gen) stubFile() *assembly {
	s := &stubs{gen: g, pkg: g.pkg + "rpc"}
	made := &assembly{name: s.pkg + "/" + s.pkg + "_xdr.go", head: g.newHead(s.pkg)}
	made.head.PackageComment("Package " + s.pkg + " has clients and servers for the programs of " + g.sourceNames() + ".")
	made.head.PackageComment("Package [" + rpcPath + "] describes calls, their errors and")
	made.head.PackageComment("the ownership of memory.")
	for _, d := range g.unit.Decls {
		if d.Kind != ir.Program {
			continue
		}
		for _, v := range gonames.ByNumber(d.Program.Versions) {
			x := &stub{stubs: s, prog: d, vers: v, called: g.names.Stubs(v)}
			x.nameMethods()
			for _, write := range []func() *jen.File{x.program, x.client, x.server} {
				made.add(g.formatter, write())
			}
		}
	}
	return made
}

// piece begins a piece of the file.
func (s *stubs) piece() *jen.File {
	file := jen.NewFilePathName(s.importPath+"/"+s.pkg, s.pkg)
	taken := map[string]bool{"context": true, "oncrpc": true, "rpc": true}
	file.ImportName(oncrpcPath, "oncrpc")
	file.ImportName(rpcPath, "rpc")
	file.ImportName("context", "context")
	name := func(path, own string) {
		if i := nameImport(taken, path, own); i.alias {
			file.ImportAlias(i.path, i.name)
		} else {
			file.ImportName(i.path, i.name)
		}
	}
	name(s.importPath, s.gen.pkg)
	for _, imp := range s.unit.Imports {
		if imp.Package == oncrpcPath {
			continue // named above
		}
		name(imp.Package, imp.GoName)
	}
	return file
}

// types is a name of the package of the types.
func (s *stubs) types(name string) *jen.Statement { return jen.Qual(s.importPath, name) }

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
		for used[name] || used[name+"Into"] {
			name += "_"
		}
		used[name], used[name+"Into"] = true, true
		x.methods[p] = name
	}
}

// title is the version in words.
func (x *stub) title() string { return "program " + x.prog.Name + " version " + x.vers.Name }

// program writes the function that describes the version.
func (x *stub) program() *jen.File {
	file := x.piece()
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
		fields = append(fields, jen.Id("Idempotent").Op(":").Index().Uint32().Values(multi(again)...))
	}
	fields = append(fields,
		jen.Id("Name").Op(":").Lit(x.vers.Name),
		jen.Id("Procedures").Op(":").Map(jen.Uint32()).String().Values(multi(names)...))
	file.Commentf("// %s describes %s.", x.called.Program, x.title())
	file.Func().Id(x.called.Program).Params().Qual(oncrpcPath, "Program").Block(
		jen.Return(jen.Qual(oncrpcPath, "Program").Values(multi(fields)...)))
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
	for _, more := range [][]string{p.Doc, nonEmpty(p.Tail)} {
		if len(more) > 0 {
			lines = append(append(lines, ""), more...)
		}
	}
	return jen.Comment(commented(lines))
}

// hasProgram reports whether the unit has a program.
func (g *gen) hasProgram() bool {
	return slices.ContainsFunc(g.unit.Decls, func(d *ir.Decl) bool { return d.Kind == ir.Program })
}
