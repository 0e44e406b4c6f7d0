package gonames

import (
	"github.com/rpcrdma/rpcrdma/cmd/internal/ir"
	"github.com/rpcrdma/rpcrdma/cmd/internal/source"
	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/plan"
)

// Name is the Go name of something that a unit declares.
type Name struct {
	Kind string // "struct", "field", "procedure" and so on
	XDR  string // with its owner: foo, foo.FIELD, foo.MEMBER, PROGRAM.VERSION.PROCEDURE
	Go   string // fields and arms without their type
	Why  string // one of the reasons below
	Pos  source.Span
}

// The reasons for a Go name.
const (
	WhyRule      = "rule"      // by the rules of ADR 0063
	WhyRename    = "rename"    // by the sidecar, or the flag -rename
	WhyCollision = "collision" // the name by the rules is taken
)

// The kinds of further names that a declaration has, with its XDR name.
const (
	KindList   = "list"   // the lists of a node, where the struct is one element
	KindClient = "client" // in the package of the stubs, for a version
	KindServer = "server"
)

// Renames returns the names that a unit's package has for the declarations of the unit.
func Renames(u *ir.Unit, b *ir.Bind) []ir.Rename {
	var out []ir.Rename
	for _, n := range List(u, b, false) {
		if n.Kind != KindList {
			out = append(out, ir.Rename{Pos: n.Pos, XDR: n.XDR, GoName: n.Go})
		}
	}
	return out
}

// List returns the names that a unit's package has for the declarations of the unit, in their
// order, with the reasons. If stubs is set, the client type and the server interface of each
// version follow it.
func List(u *ir.Unit, b *ir.Bind, stubs bool) []Name {
	n := New()
	n.AddImports(u)
	n.Add(u.Decls, b, false)
	t := nameTable{n: n, stubs: stubs}
	for _, d := range u.Decls {
		switch {
		case plan.Transparent(d):
			continue // not in the package: the Go type is the built-in one
		case d.List == nil, plan.HasView(d):
			t.decl(d)
		}
		if d.List != nil {
			t.add(d.List.Whole, KindList, d.Name, n.decl[d.List.Whole], d.Pos)
		}
	}
	return t.out
}

// nameTable collects the names of a unit.
type nameTable struct {
	n     *Names
	stubs bool
	out   []Name
}

// add adds the name of part, a declaration or a part of one.
func (t *nameTable) add(part any, kind, xdr, goName string, pos source.Span) {
	why := t.n.why[part]
	if why == "" {
		why = WhyRule
	}
	t.out = append(t.out, Name{kind, xdr, goName, why, pos})
}

func (t *nameTable) decl(d *ir.Decl) {
	n := t.n
	t.add(d, kinds[d.Kind], d.Name, n.decl[d], d.Pos)
	for _, m := range d.Members {
		t.add(m, "enumerator", d.Name+"."+m.Name, n.member[m], m.Pos)
	}
	if d.Kind == ir.Union {
		t.add(d.Disc, "field", d.Name+"."+d.Disc.Name, n.field[d.Disc], d.Disc.Pos)
		for _, a := range d.Arms {
			if a.Field != nil {
				t.add(a.Field, "arm", d.Name+"."+a.Field.Name, n.field[a.Field], a.Field.Pos)
			}
		}
	} else {
		for _, f := range plan.Fields(d) {
			t.add(f, "field", d.Name+"."+f.Name, n.field[f], f.Pos)
		}
	}
	if d.Kind != ir.Program {
		return
	}
	for _, v := range d.Program.Versions {
		t.add(v, "version", d.Name+"."+v.Name, n.vers[v], v.Pos)
		if s := n.stub[v]; t.stubs {
			t.add(s, KindClient, d.Name+"."+v.Name, s.Client, v.Pos)
			t.add(s, KindServer, d.Name+"."+v.Name, s.Server, v.Pos)
		}
		for _, p := range v.Procs {
			t.add(p, "procedure", d.Name+"."+v.Name+"."+p.Name, n.proc[p], p.Pos)
		}
	}
}

var kinds = map[ir.DeclKind]string{
	ir.Const: "constant", ir.Enum: "enum", ir.Struct: "struct", ir.Union: "union", ir.Typedef: "typedef", ir.Program: "program",
}
