package goexpr

import (
	"github.com/dave/jennifer/jen"
)

// Expr makes a new copy of a Go expression: jennifer may render a statement in one place only.
type Expr func() *jen.Statement

func ID(name string) Expr { return func() *jen.Statement { return jen.Id(name) } }

func (x Expr) Dot(field string) Expr {
	return func() *jen.Statement { return x().Dot(field) }
}

func (x Expr) Index(i string) Expr {
	return func() *jen.Statement { return x().Index(jen.Id(i)) }
}
