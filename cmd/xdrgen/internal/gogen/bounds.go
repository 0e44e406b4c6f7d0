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

// bounds writes the static bounds of type t as constants.
func (g *gen) bounds(t *plan.Type) {
	name := g.pkg.Names.Decl(t.Decl)
	if t.Size.Fixed() {
		id := g.pkg.Names.Fresh(name + "FixedSize")
		g.bound[t] = bound{min: id, max: id}
		g.t.Commentf("// %s is the size of every %s on the wire, in bytes.", id, name)
		g.t.Const().Id(id).Op("=").Add(integer(ir.Value{Abs: t.Size.Min}))
		return
	}
	var names, values []jen.Code
	def := func(suffix string, v uint64) string {
		id := g.pkg.Names.Fresh(name + suffix)
		names, values = append(names, jen.Id(id)), append(values, integer(ir.Value{Abs: v}))
		return id
	}
	b := bound{min: def("MinSize", t.Size.Min)}
	what := "The bounds of " + name + " in bytes: least size on the wire (it may be 2 GiB and more)"
	if !t.Size.Unbounded && t.Size.Max <= math.MaxInt32 {
		b.max = def("MaxSize", t.Size.Max)
		what = "The bounds of " + name + " in bytes: least and largest size on the wire"
	}
	if n := g.plan.Amplification(t); n > 0 {
		b.rate = n
		b.amp = def("Amplification", uint64(n))
		what += ", memory for each byte of input"
	}
	g.bound[t] = b
	g.t.Comment("// " + what + ".")
	g.t.Const().List(names...).Op("=").List(values...)
}
