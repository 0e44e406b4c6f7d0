package gogen

import (
	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/ir"
	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/plan"
)

// Costs tells what values of a unit take in Go, by the numbers that the
// generated code is written from.
type Costs struct{ g *gen }

// NewCosts returns the costs of a unit without errors; nil where it has data
// that no Go value can hold.
func NewCosts(u *ir.Unit) *Costs {
	if len(plan.TooLarge(u)) > 0 {
		return nil
	}
	g := newGen(u, &ir.Bind{}, Options{})
	for _, i := range u.Imports {
		g.findMany(i.Decls)
	}
	g.findMany(u.Decls)
	return &Costs{g}
}

// Amplification is the constant of that name: the bytes of memory that a
// decoded value hangs on to for each byte of its encoding, at most; 0 where
// every value has the same size, or there is no such number.
func (c *Costs) Amplification(d *ir.Decl) int {
	if d.Kind == ir.Const || d.Kind == ir.Program || declSize(d).Fixed() {
		return 0
	}
	return c.g.amplification(d)
}

// Memory is the bytes that a Go value of a type takes itself, without what it
// points to; of a linked list, those of an element.
func (c *Costs) Memory(t *ir.Type) int {
	if t.Kind == ir.ListOf || t.Kind == ir.ListHead {
		return c.g.memOfElem(t.Ref)
	}
	return c.g.memOf(t).size
}
