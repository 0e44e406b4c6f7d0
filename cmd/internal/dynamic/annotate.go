package dynamic

import (
	"fmt"
	"slices"

	"github.com/rpcrdma/rpcrdma/cmd/internal/ir"
)

// Annotate adds to a tree, which Decode returned for data, what the code points say: the names of
// numbers, and the values in opaque data whose type a number selects. It returns the faults in
// such data, in order of offset. They do not affect the rest of the tree.
func (c *Codes) Annotate(root *Value, data []byte, l Limits) []*Error {
	a := annotator{index: newIndex(), codes: c, data: data, limits: l}
	a.value(root)
	return a.faults
}

// annotator is the state of one Annotate.
type annotator struct {
	index
	codes  *Codes
	data   []byte
	limits Limits
	values int      // values in opaque data so far
	depth  int      // of opaque data in opaque data
	chain  []*Value // from the root to the current value
	faults []*Error
}

func (a *annotator) value(v *Value) {
	a.chain = append(a.chain, v)
	a.numbers(v)
	for _, item := range v.Items {
		a.value(item)
	}
	if v.Inner != nil {
		a.depth++
		a.value(v.Inner)
		a.depth--
	}
	if v.Fault != nil {
		a.faults = append(a.faults, v.Fault)
	}
	a.chain = a.chain[:len(a.chain)-1]
}

// numbers annotates the fields of v that have numbers, and the data of their types.
func (a *annotator) numbers(v *Value) {
	t := v.Type.Underlying()
	if t.Kind != ir.Ref || len(a.codes.numbers) == 0 {
		return
	}
	for _, n := range a.codes.numbers[t.Ref] {
		item := v.number(n)
		if item == nil {
			continue
		}
		item.Number = a.codes.number(n.Space, uint32(item.Word))
		if data := v.find(n.Data); data != nil && data.Length >= 4 {
			if p := a.codes.Point(n.Space, uint32(item.Word)); p != nil {
				a.chain = append(a.chain, data)
				a.opaque(data, p, n.Default)
				a.chain = a.chain[:len(a.chain)-1]
			}
		}
	}
}

// opaque decodes opaque data as the type of a code point. If empty is set, empty data stand for
// the default value.
func (a *annotator) opaque(v *Value, p *ir.CodePoint, empty bool) {
	switch {
	case uint64(len(v.Bytes)) != v.Word: // the input ends within the data
		return
	case empty && v.Word == 0:
		v.Default = true
		return
	}
	start := v.Offset + 4
	end := start + len(v.Bytes)
	d := decoder{
		index: a.index, data: a.data[:end], off: start, limits: a.limits, values: a.values,
		chain: slices.Clone(a.chain), end: fmt.Sprintf("the end of the data of %s", p.Const),
	}
	switch {
	case a.depth >= a.limits.depth():
		v.Fault = d.fault(Depth, start, 0, "opaque data in opaque data nested deeper than %d", a.limits.depth())
		return
	case p.Decl != nil:
		v.Inner = &Value{Index: -1, Type: typeOf(p.Decl)}
		v.Fault = d.value(v.Inner)
		a.values = d.values
	}
	if n := end - d.off; v.Fault == nil && n > 0 {
		after := "the value of " + p.Const
		if p.Decl == nil {
			after = p.Const + ", which carries no data"
		}
		v.Fault = d.fault(Trailing, d.off, n, "found %s after %s, expected the end of its data", plural(n, "byte"), after)
	}
}
