package gogen

import (
	"math"

	"github.com/dave/jennifer/jen"

	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/ir"
	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/plan"
)

// bound holds the names of the constants with the bounds of a type.
type bound struct {
	min, max, amp string
	rate          int // the value of amp; 0 if there is none
}

// defaultRate is the budget of a Decoder by default: bytes of memory for each byte of the message.
const defaultRate = 64

// bounds writes the static bounds of type t as constants.
func (g *gen) bounds(t *plan.Type) {
	name := g.names.decl[t.Decl]
	if t.Size.Fixed() {
		id := g.names.fresh(name + "FixedSize")
		g.bound[t] = bound{min: id, max: id}
		g.t.Commentf("// %s is the size of every %s on the wire, in bytes.", id, name)
		g.t.Const().Id(id).Op("=").Add(integer(ir.Value{Abs: t.Size.Min}))
		return
	}
	var defs []jen.Code
	def := func(suffix string, v uint64, note string) string {
		id := g.names.fresh(name + suffix)
		defs = append(defs, jen.Id(id).Op("=").Add(integer(ir.Value{Abs: v})).Comment("// "+note))
		return id
	}
	b := bound{min: def("MinSize", t.Size.Min, "bytes on the wire, at least")}
	what := "The bounds of " + name + ". Its size may be 2 GiB and more."
	if !t.Size.Unbounded && t.Size.Max <= math.MaxInt32 {
		b.max = def("MaxSize", t.Size.Max, "bytes on the wire, at most")
		what = "The bounds of " + name + "."
	}
	if n := g.plan.Amplification(t); n > 0 {
		b.rate = n
		b.amp = def("Amplification", uint64(n), "bytes of memory that a value holds for each byte of input, at most")
	}
	g.bound[t] = b
	g.t.Comment("// " + what)
	g.t.Const().Defs(defs...)
}
