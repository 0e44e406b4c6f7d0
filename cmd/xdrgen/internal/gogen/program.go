package gogen

import (
	"strconv"

	"github.com/dave/jennifer/jen"

	"github.com/rpcrdma/rpcrdma/cmd/internal/ir"
	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/gogen/goexpr"
)

func uitoa(n uint64) string { return strconv.FormatUint(n, 10) }

// program writes the numbers of an RPC program (RFC 5531 §12), of its versions, and of its
// procedures.
func (g *gen) program(d *ir.Decl) {
	defs := []jen.Code{jen.Id(g.pkg.Names.Decl(d)).Op("=").Lit(int(d.Program.Number)).Comment(goexpr.Tail("program " + d.Name))}
	for _, v := range d.Program.Versions {
		defs = append(defs, jen.Id(g.pkg.Names.Version(v)).Op("=").Lit(int(v.Number)).Comment(goexpr.Tail("version "+v.Name)))
		for _, p := range v.Procs {
			note := "procedure " + p.Name + ": " + signature(p)
			defs = append(defs, jen.Id(g.pkg.Names.Proc(p)).Op("=").Lit(int(p.Number)).Comment(goexpr.Tail(note)))
		}
	}
	g.t.Commentf("// Program %s and its procedures (RFC 5531 §12).", d.Name)
	g.t.Const().Defs(defs...)
}

// signature is the argument and the result of a procedure, in the words of XDR.
func signature(p *ir.Proc) string {
	args := "void"
	for i, a := range p.Args {
		if i == 0 {
			args = xdrWord(a.Type)
		} else {
			args += ", " + xdrWord(a.Type)
		}
	}
	return args + " to " + xdrWord(p.Result)
}

// xdrWord names a type as a procedure's declaration does.
func xdrWord(t *ir.Type) string {
	if t == nil {
		return "void"
	}
	switch t.Kind {
	case ir.Optional, ir.FixedArray, ir.Array:
		return xdrWord(t.Elem)
	case ir.ListOf, ir.ListHead, ir.Ref:
		return t.Ref.Name
	}
	return t.Kind.Word()
}
