package gogen

import (
	"math"

	"github.com/dave/jennifer/jen"

	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/ir"
)

// bound is what the compiler knows of the extent of a type: the names of the
// constants that say it.
type bound struct {
	min, max, amp string
	rate          int // what amp says, 0 where there is none
}

// defaultRate is how many bytes for each of the message a Decoder's budget has that
// is told nothing else.
const defaultRate = 64

// bounds writes the static bounds of declaration d as constants.
func (g *gen) bounds(d *ir.Decl) {
	name := g.names.decl[d]
	size := declSize(d)
	if size.Fixed() {
		id := g.names.fresh(name + "FixedSize")
		g.bound[d] = bound{min: id, max: id}
		g.t.Commentf("// %s is the size of every %s on the wire, in bytes.", id, name)
		g.t.Const().Id(id).Op("=").Add(integer(ir.Value{Abs: size.Min}))
		return
	}
	var defs []jen.Code
	def := func(suffix string, v uint64, note string) string {
		id := g.names.fresh(name + suffix)
		defs = append(defs, jen.Id(id).Op("=").Add(integer(ir.Value{Abs: v})).Comment("// "+note))
		return id
	}
	b := bound{min: def("MinSize", size.Min, "bytes on the wire, at least")}
	what := "The bounds of " + name + ". Its size may be 2 GiB and more."
	if !size.Unbounded && size.Max <= math.MaxInt32 {
		b.max = def("MaxSize", size.Max, "bytes on the wire, at most")
		what = "The bounds of " + name + "."
	}
	if n := g.amplification(d); n > 0 {
		b.rate = n
		b.amp = def("Amplification", uint64(n), "bytes of memory that a value holds for each byte of input, at most")
	}
	g.bound[d] = b
	g.t.Comment("// " + what)
	g.t.Const().Defs(defs...)
}

// declSize is the size of a value of d; of a list node, of one element.
func declSize(d *ir.Decl) ir.Size {
	if d.List == nil {
		return d.Size
	}
	var s ir.Size
	for _, f := range d.List.Elem {
		s.Min += f.Type.Size.Min
		s.Max += f.Type.Size.Max
		s.Unbounded = s.Unbounded || f.Type.Size.Unbounded
	}
	return s
}

const (
	maxAmplification = 1 << 20 // where the search for a bound ends
	// maxRecursive limits how many recursive types are visited from one declaration.
	// Every declaration of a circle is the start of a walk around it, and the walks
	// branch, so that without a limit the work would grow with the square of the circle
	// or faster. Beyond the limit the amplification is not known. The files of the
	// corpus need 9.
	maxRecursive = 128
)

// amplification returns the smallest whole number of bytes of memory for each byte on
// the wire that no value of d exceeds. It returns 0 if none is known: elements without
// bytes on the wire are limited by count alone, and more than maxRecursive types may
// hold each other.
func (g *gen) amplification(d *ir.Decl) int {
	holds := func(rate int) bool {
		a := newAmplifier(g, rate)
		return a.decl(d) <= 0 && a.ok
	}
	if !holds(maxAmplification) {
		return 0
	}
	lo, hi := 0, maxAmplification // holds(lo) may be false, holds(hi) is true
	for lo < hi {
		if mid := (lo + hi) / 2; holds(mid) {
			hi = mid
		} else {
			lo = mid + 1
		}
	}
	return hi
}

// amplifier computes how far the memory that a value hangs on to can exceed
// rate times its wire size. What can be repeated must not exceed it at all.
type amplifier struct {
	g    *gen
	rate int
	ok   bool
	open map[*ir.Decl]bool // recursive types that the walk is inside of

	recursive int // recursive types visited
}

func newAmplifier(g *gen, rate int) *amplifier {
	return &amplifier{g: g, rate: rate, ok: true, open: map[*ir.Decl]bool{}}
}

// excess is the result of a walk that began at a declaration.
type excess struct {
	bytes int
	ok    bool
}

type excessOf struct {
	decl *ir.Decl
	rate int
}

// repeated refuses the rate where an item that may be repeated exceeds it.
func (a *amplifier) repeated(excess int) {
	if excess > 0 {
		a.ok = false
	}
}

func (a *amplifier) typ(t *ir.Type) int {
	switch t.Kind {
	case ir.FixedArray:
		return int(t.Len) * a.typ(t.Elem)
	case ir.Opaque, ir.String:
		a.repeated(1 - a.rate) // its copy in the arena
		return -4 * a.rate
	case ir.Array:
		a.repeated(a.g.memOf(t.Elem).size + a.typ(t.Elem))
		return -4 * a.rate
	case ir.Optional:
		excess := a.typ(t.Elem)
		if pointerOptional(t) {
			excess += a.g.memOf(t.Elem).size
			a.repeated(excess)
		}
		return max(0, excess) - 4*a.rate
	case ir.ListOf, ir.ListHead:
		return a.list(t)
	case ir.Ref:
		return a.decl(t.Ref)
	}
	return -a.rate * fixedLen(t)
}

// list knows how lists grow: to what they hold where the elements have one size
// (xdr.ExtendFixed), else to four elements, then by doubling (xdr.Extend).
func (a *amplifier) list(t *ir.Type) int {
	node := t.Ref
	mem, elem := a.g.memOfElem(node), -a.rate*int(declSize(node).Min)
	if !a.open[node] {
		elem = a.decl(node)
	}
	elem -= 4 * a.rate
	fixed := declSize(node).Fixed()
	if fixed {
		a.repeated(mem + elem)
	} else {
		a.repeated(2*mem + elem)
	}
	room := func(n, doubled int) int {
		if fixed {
			return n * mem
		}
		return doubled * mem
	}
	most, end := 0, -4*a.rate
	if t.Kind == ir.ListHead {
		end = 0 // one word less than elements
		most = room(1, 4) + elem
	}
	for n, size := 1, 4; n < 1<<16; n, size = size+1, 2*size {
		most = max(most, room(n, size)+n*elem)
	}
	if node.Recursive {
		a.repeated(most) // its elements may hold such lists
	}
	return most + end
}

func (a *amplifier) fields(fs []*ir.Field) int {
	sum := 0
	for _, f := range fs {
		sum += a.typ(f.Type)
	}
	return sum
}

func (a *amplifier) decl(d *ir.Decl) int {
	if a.open[d] {
		return -a.rate * int(d.Size.Min) // what it takes beyond is refused where it is repeated
	}
	if d.Recursive && len(a.open) > 0 { // it may hold an open one, which changes the result
		return a.enter(d)
	}
	key := excessOf{d, a.rate}
	known, found := a.g.excesses[key]
	if !found {
		apart := newAmplifier(a.g, a.rate)
		known.bytes = apart.enter(d)
		known.ok = apart.ok
		a.g.excesses[key] = known
	}
	a.ok = a.ok && known.ok
	return known.bytes
}

// enter returns the excess of d, which is not open. It refuses the rate if that would be
// one recursive type too many.
func (a *amplifier) enter(d *ir.Decl) int {
	if !d.Recursive {
		return a.content(d)
	}
	if a.recursive++; a.recursive > maxRecursive {
		a.ok = false
		return 0
	}
	a.open[d] = true
	defer delete(a.open, d)
	return a.content(d)
}

// content is what the members of d come to.
func (a *amplifier) content(d *ir.Decl) int {
	switch d.Kind {
	case ir.Enum:
		return -4 * a.rate
	case ir.Typedef:
		return a.typ(d.Type)
	case ir.Struct:
		return a.fields(structFields(d))
	}
	most, void := 0, false
	for i, arm := range d.Arms {
		excess := 0
		if arm.Field != nil {
			excess = a.typ(arm.Field.Type)
			if a.g.byPointer(d, arm) {
				excess += a.g.memOf(arm.Field.Type).size
				if d.Recursive {
					a.repeated(excess)
				}
			}
		} else {
			void = true
		}
		if i == 0 {
			most = excess
		}
		most = max(most, excess)
	}
	if void {
		most = max(most, 0)
	}
	return most - 4*a.rate
}
