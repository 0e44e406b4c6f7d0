package gogen

import (
	"math"

	"github.com/dave/jennifer/jen"

	"github.com/rpcrdma/rpcrdma/cmd/internal/ir"
	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/plan"
)

// bound holds the names of the constants with the bounds of a type.
type bound struct {
	min, max, amp string
	rate          int // the value of amp; 0 without amp
}

// defaultRate is the budget of a Decoder by default: bytes of memory for each byte of the message.
const defaultRate = 64

// bounds makes the constants with the static bounds of type t, which allBounds writes.
func (g *gen) bounds(t *plan.Type) {
	name := g.pkg.Names.Decl(t.Decl)
	if t.Size.Fixed() {
		id := g.pkg.Names.Fresh(name + "FixedSize")
		g.bound[t] = bound{min: id, max: id}
		g.bounded = append(g.bounded, jen.Id(id).Op("=").Add(integer(ir.Value{Abs: t.Size.Min})))
		return
	}
	var names, values []jen.Code
	def := func(suffix string, v uint64) string {
		id := g.pkg.Names.Fresh(name + suffix)
		names, values = append(names, jen.Id(id)), append(values, integer(ir.Value{Abs: v}))
		return id
	}
	b := bound{min: def("MinSize", t.Size.Min)}
	if !t.Size.Unbounded && t.Size.Max <= math.MaxInt32 {
		b.max = def("MaxSize", t.Size.Max)
	}
	if n := g.plan.Amplification(t); n > 0 {
		b.rate = n
		b.amp = def("Amplification", uint64(n))
	}
	g.bound[t] = b
	g.bounded = append(g.bounded, jen.List(names...).Op("=").List(values...))
}

// allBounds writes the bounds of all types, as one declaration.
func (g *gen) allBounds() {
	if len(g.bounded) == 0 {
		return
	}
	g.t.Comment("// The bounds of all types, in bytes: the least and largest size on the wire (there is no MaxSize if")
	g.t.Comment("// it would be 2 GiB or more), or the size of every value; the most memory for each byte of input.")
	g.t.Const().Defs(g.bounded...)
}
