package compat

import (
	"fmt"
	"sort"
	"strings"

	"github.com/rpcrdma/rpcrdma/cmd/internal/ir"
	"github.com/rpcrdma/rpcrdma/cmd/internal/source"
)

// noSpan is the position, in one version, of something that only the other one has.
var noSpan source.Span

// decl compares two versions of a declaration.
func (c *comparer) decl(old, new *ir.Decl) {
	where := path(new)
	if old.Kind != new.Kind {
		n := len(c.out)
		c.form(where, refTo(old), refTo(new), false)
		for i := range c.out[n:] {
			if e := &c.out[n+i]; e.Path == where { // both have the same name: add the kinds
				e.Message = fmt.Sprintf("%s changed to %s", declared(old), declared(new))
			}
		}
		return
	}
	switch new.Kind {
	case ir.Const:
		c.constant(where, old, new)
	case ir.Enum:
		c.enum(where, old, new)
	case ir.Struct:
		c.fields(where, old.Fields, new.Fields)
	case ir.Union:
		c.union(where, old, new)
	case ir.Typedef:
		c.types(where, old.Type, new.Type, false)
	case ir.Program:
		c.program(where, old, new)
	}
}

func (c *comparer) constant(where string, old, new *ir.Decl) {
	if old.Value.Neg == new.Value.Neg && old.Value.Abs == new.Value.Abs {
		return
	}
	rule := ConstValue
	if c.oldUses[old] || c.newUses[new] {
		rule = ConstBound
	}
	c.add(rule, where, old.Pos, new.Pos, "%s changed from %s to %s", where, old.Value.Decimal(), new.Value.Decimal())
}

// fields compares the fields of structs, or the arguments of procedures. Fields that kept
// their name and order are compared with each other; fields between two of them were renamed,
// added or removed.
func (c *comparer) fields(where string, old, new []*ir.Field) {
	if c.unmoved(old, new) {
		for i, f := range old {
			c.types(where+"."+f.Name, f.Type, new[i].Type, false)
		}
		return
	}
	if p, q := unchangedEnds(old, new); c.regrouped(old[p:len(old)-q], new[p:len(new)-q]) {
		if p > 0 {
			c.fields(where, old[:p], new[:p])
		}
		c.regroup(where, old[p:len(old)-q], new[p:len(new)-q])
		if q > 0 {
			c.fields(where, old[len(old)-q:], new[len(new)-q:])
		}
		return
	}
	inNew, inOld := fieldNames(new), fieldNames(old)
	kept := commonNames(old, new)
	i, j := 0, 0
	for _, k := range append(kept, [2]int{len(old), len(new)}) {
		c.gap(where, old[i:k[0]], new[j:k[1]], inOld, inNew)
		if k[0] < len(old) {
			f, g := old[k[0]], new[k[1]]
			c.types(where+"."+g.Name, f.Type, g.Type, false)
			i, j = k[0]+1, k[1]+1
		}
	}
}

func fieldNames(fields []*ir.Field) map[string]*ir.Field {
	out := make(map[string]*ir.Field, len(fields))
	for _, f := range fields {
		out[f.Name] = f
	}
	return out
}

// gap compares the fields between two that kept their name and order. inOld and inNew have
// all fields of each version by name, and so those that moved.
func (c *comparer) gap(where string, old, new []*ir.Field, inOld, inNew map[string]*ir.Field) {
	if noneNamed(old, inNew) && noneNamed(new, inOld) && c.regrouped(old, new) {
		c.regroup(where, old, new)
		return
	}
	j, tries := 0, 0
	var added []*ir.Field
	for _, f := range old {
		if inNew[f.Name] != nil {
			continue // reported at its new position
		}
		k := j
		for k < len(new) && (inOld[new[k].Name] != nil || !c.twins(f.Type, new[k].Type) && !c.wire.same(f.Type, new[k].Type)) {
			if k++; tries > maxGuesses {
				k = len(new)
			}
			tries++
		}
		if k == len(new) {
			c.add(FieldRemoved, where+"."+f.Name, f.Pos, noSpan, "field %s of %s was removed", f.Name, where)
			continue
		}
		g := new[k]
		added = append(added, new[j:k]...)
		j = k + 1
		c.add(FieldRenamed, where+"."+g.Name, f.Pos, g.Pos, "field %s of %s was renamed from %s", g.Name, where, f.Name)
		c.types(where+"."+g.Name, f.Type, g.Type, false)
	}
	for _, g := range append(added, new[j:]...) {
		if f := inOld[g.Name]; f != nil {
			c.add(FieldMoved, where+"."+g.Name, f.Pos, g.Pos, "field %s of %s was moved", g.Name, where)
			c.types(where+"."+g.Name, f.Type, g.Type, false)
			continue
		}
		c.add(FieldAdded, where+"."+g.Name, noSpan, g.Pos, "field %s of %s was added", g.Name, where)
	}
}

// noneNamed reports whether the other version has no field with the name of one of fields.
func noneNamed(fields []*ir.Field, other map[string]*ir.Field) bool {
	for _, f := range fields {
		if other[f.Name] != nil {
			return false
		}
	}
	return true
}

// unmoved reports whether two lists of fields have the same names in the same order, and
// types that are of the same kind and length or versions of one declaration.
func (c *comparer) unmoved(old, new []*ir.Field) bool {
	if len(old) != len(new) {
		return false
	}
	for i, f := range old {
		a, b := f.Type, new[i].Type
		if f.Name != new[i].Name {
			return false
		}
		if x, y := a.Underlying(), b.Underlying(); !c.twins(a, b) && (x.Kind != y.Kind || x.Len != y.Len) {
			return false
		}
	}
	return true
}

// unchangedEnds returns how many fields at the start and at the end have the same name and
// number of items in two versions of a struct. Regrouped fields lie between them.
func unchangedEnds(old, new []*ir.Field) (before, after int) {
	n := min(len(old), len(new))
	for before < n && alike(old[before], new[before]) {
		before++
	}
	for before+after < n && alike(old[len(old)-1-after], new[len(new)-1-after]) {
		after++
	}
	return before, after
}

// alike reports whether two fields have the same name and the same number of items.
func alike(f, g *ir.Field) bool {
	if f.Name != g.Name {
		return false
	}
	x, ok := flat(f.Type)
	y, fits := flat(g.Type)
	if ok != fits || len(x) != len(y) {
		return false
	}
	for i := range x {
		if x[i].n != y[i].n {
			return false
		}
	}
	return true
}

// regrouped reports whether fields were moved into a struct or an array, or out of one:
// together they have the same encoding, but not each by itself.
func (c *comparer) regrouped(old, new []*ir.Field) bool {
	if len(old) == 0 || len(new) == 0 {
		return false
	}
	paired := len(old) == len(new)
	for i := range min(len(old), len(new)) {
		paired = paired && (c.twins(old[i].Type, new[i].Type) || c.wire.same(old[i].Type, new[i].Type))
	}
	if paired {
		return false
	}
	return c.wire.sameFields(old, new)
}

// regroup reports that fields were regrouped.
func (c *comparer) regroup(where string, old, new []*ir.Field) {
	c.add(FieldsRegrouped, where+"."+new[0].Name, fieldsSpan(old), fieldsSpan(new),
		"%s of %s has the same encoding as %s before", names(new), where, names(old))
}

// fieldsSpan returns the span from the first field to the last.
func fieldsSpan(fields []*ir.Field) source.Span {
	return fields[0].Pos.To(fields[len(fields)-1].Pos)
}

// names returns the names of fields, separated by commas.
func names(fields []*ir.Field) string {
	var out []string
	for _, f := range fields {
		out = append(out, f.Name)
	}
	return strings.Join(out, ", ")
}

// maxTable limits the size of the table that commonNames fills.
const maxTable = 1 << 22

// commonNames returns the longest common subsequence of the fields' names, as pairs of
// indexes. If the table would exceed maxTable, it returns only the common prefix.
func commonNames(a, b []*ir.Field) [][2]int {
	var out [][2]int
	n := 0
	for n < len(a) && n < len(b) && a[n].Name == b[n].Name {
		out = append(out, [2]int{n, n})
		n++
	}
	x, y := a[n:], b[n:]
	if len(x) == 0 || len(y) == 0 || len(x)*len(y) > maxTable {
		return out
	}
	w := len(y) + 1
	long := make([]int32, (len(x)+1)*w)
	for i := len(x) - 1; i >= 0; i-- {
		for j := len(y) - 1; j >= 0; j-- {
			if x[i].Name == y[j].Name {
				long[i*w+j] = long[(i+1)*w+j+1] + 1
			} else {
				long[i*w+j] = max(long[(i+1)*w+j], long[i*w+j+1])
			}
		}
	}
	for i, j := 0, 0; i < len(x) && j < len(y); {
		switch {
		case x[i].Name == y[j].Name:
			out = append(out, [2]int{n + i, n + j})
			i, j = i+1, j+1
		case long[(i+1)*w+j] >= long[i*w+j+1]:
			i++
		default:
			j++
		}
	}
	return out
}

// codes compares the code points of the two sidecars and the types that they carry.
func (c *comparer) codes(old, new *ir.Bind) {
	type key struct {
		space string
		value uint32
	}
	type code struct{ was, is *ir.CodePoint }
	table := map[key]*code{}
	for i, b := range []*ir.Bind{old, new} {
		if b == nil {
			continue
		}
		for k := range b.Codes {
			p := &b.Codes[k]
			e := table[key{p.Space, p.Value}]
			if e == nil {
				e = &code{}
				table[key{p.Space, p.Value}] = e
			}
			if i == 0 {
				e.was = p
			} else {
				e.is = p
			}
		}
	}
	keys := make([]key, 0, len(table))
	for k := range table {
		keys = append(keys, k)
	}
	sort.Slice(keys, func(i, j int) bool {
		return keys[i].space < keys[j].space || keys[i].space == keys[j].space && keys[i].value < keys[j].value
	})
	for _, k := range keys {
		was, is := table[k].was, table[k].is
		switch {
		case was == nil:
			c.add(CodeAdded, is.Space+" "+is.Const, noSpan, is.Pos, "%s %s (%d) was added", is.Space, is.Const, k.value)
		case is == nil:
			c.add(CodeRemoved, was.Space+" "+was.Const, was.Pos, noSpan, "%s %s (%d) was removed", was.Space, was.Const, k.value)
		case !c.sameCarried(was.Decl, is.Decl) && c.twin[was.Decl] != is.Decl:
			c.add(CodeType, is.Space+" "+is.Const, was.Pos, is.Pos, "type of %s %s (%d) changed from %s to %s", is.Space, is.Const, k.value, carried(was), carried(is))
		}
	}
}

// sameCarried reports whether two code points carry types with the same encoding. nil
// stands for void.
func (c *comparer) sameCarried(a, b *ir.Decl) bool {
	if a == nil || b == nil {
		return a == b
	}
	return c.wire.sameDecl(a, b)
}

// carried returns the name of the type that a code point carries.
func carried(p *ir.CodePoint) string {
	if p.Decl == nil {
		return "void"
	}
	return p.Decl.Name
}
