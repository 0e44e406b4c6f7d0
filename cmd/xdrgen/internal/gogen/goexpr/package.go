package goexpr

import (
	"github.com/dave/jennifer/jen"

	"github.com/rpcrdma/rpcrdma/cmd/internal/ir"
	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/gogen/gonames"
	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/plan"
)

// Package is a generated package. It writes the names of the types, constants and labels that the
// unit and its imports declare.
type Package struct {
	Name  string // the Go name
	Names *gonames.Names
}

// PointerField is the field of a struct that stands for a typedef of a pointer.
const PointerField = "Value"

// GoType is the Go type for values of step s. For a typedef of a pointer it is the pointer, not the
// struct that the typedef is by itself.
func (p *Package) GoType(s *plan.Step) *jen.Statement {
	s = s.Resolved()
	for s.Op == plan.Typedef && s.Of.PointerName {
		s = s.Elem.Resolved()
	}
	switch s.Op {
	case plan.Bool:
		return jen.Bool()
	case plan.Word:
		return jen.Id([...]string{plan.Unsigned: "uint32", plan.Signed: "int32", plan.Float: "float32"}[s.Number])
	case plan.Hyper:
		return jen.Id([...]string{plan.Unsigned: "uint64", plan.Signed: "int64", plan.Float: "float64"}[s.Number])
	case plan.Bytes:
		return jen.Index(jen.Lit(s.Len)).Byte()
	case plan.Opaque:
		if s.Text {
			return jen.Qual(XDR, "String")
		}
		return jen.Index().Byte()
	case plan.Loop:
		return jen.Index(jen.Lit(s.Len)).Add(p.GoType(s.Elem))
	case plan.Array, plan.List:
		return jen.Index().Add(p.GoType(s.Elem))
	case plan.Optional:
		if s.Pointer {
			return jen.Op("*").Add(p.GoType(s.Elem))
		}
		return jen.Qual(XDR, "Optional").Types(p.GoType(s.Elem))
	}
	return p.DeclType(s.Of)
}

// DeclType is the Go type of t by its name.
func (p *Package) DeclType(t *plan.Type) *jen.Statement { return p.Qualified(t.Decl) }

// Qualified is the name of a declaration, of this package or another.
func (p *Package) Qualified(d *ir.Decl) *jen.Statement {
	if d.Import != nil {
		return jen.Qual(d.Import.Package, p.Names.Decl(d))
	}
	return jen.Id(p.Names.Decl(d))
}

// Site is the Go constant of a placement site, which the unit that declares the type declares.
func (p *Package) Site(s *plan.Site) Expr {
	name := p.Names.Site(s.Field)
	if imp := s.Owner.Import; imp != nil {
		return func() *jen.Statement { return jen.Qual(imp.Package, name) }
	}
	return ID(name)
}
