package sema

import (
	"cmp"
	"slices"
	"strings"

	"github.com/rpcrdma/rpcrdma/cmd/internal/diag"
	"github.com/rpcrdma/rpcrdma/cmd/internal/ir"
)

// maxAttribute is the largest number of an attribute. A bitmap is as long as its largest number
// needs.
const maxAttribute = 4095

// resolveAttributes binds a line "attributes": it finds the struct, and the type for each constant,
// in the unit and in those that it includes.
func (l *linker) resolveAttributes(a *ir.Attributes) {
	s := l.resolve(l.u, a.Struct, a.Pos, (*symbol).isType)
	if s == nil || !s.isType() {
		l.report(l.advice.suggest(l.u, diag.New(diag.BindUnknownName, a.Pos, "found no struct %s", a.Struct), a.Struct, (*symbol).isType))
		return
	}
	if !holdsAttributes(s.decl) {
		l.report(diag.New(diag.BindPath, a.Pos, "%s is not a struct of a bitmap and values", a.Struct).With(s.span, "declared here").
			Helpf("name a struct with two fields: an array of unsigned int, and opaque data of any length"))
		return
	}
	a.Decl = s.decl
	numbers := map[uint32]*ir.Decl{}
	names := l.constants(a.Prefix)
	for _, name := range names {
		item, ok := l.attribute(a, name)
		if !ok {
			continue
		}
		if first := numbers[item.Number]; first != nil {
			l.report(diag.New(diag.BindDuplicate, a.Pos, "attributes %s and %s have the same number %d", first.Name, name, item.Number).
				With(item.Const.Pos, "the second is declared here"))
			continue
		}
		numbers[item.Number] = item.Const
		a.Items = append(a.Items, item)
	}
	if len(names) == 0 {
		l.report(diag.New(diag.BindUnknownName, a.Pos, "no constant begins with %s", a.Prefix).Helpf("remove the line, or give another prefix"))
	}
	slices.SortFunc(a.Items, func(x, y ir.Attribute) int { return cmp.Compare(x.Number, y.Number) })
}

// holdsAttributes reports whether a struct has a bitmap and unbounded opaque data.
func holdsAttributes(d *ir.Decl) bool {
	if d.Kind != ir.Struct || d.List != nil || len(d.Fields) != 2 {
		return false
	}
	mask, values := d.Fields[0].Type.Underlying(), d.Fields[1].Type.Underlying()
	return mask.Kind == ir.Array && mask.Elem.Underlying().Kind == ir.Uint && values.Kind == ir.Opaque && !values.Bounded
}

// constants returns the names of the constants that begin with prefix, in the unit and in those
// that it includes.
func (l *linker) constants(prefix string) []string {
	var names []string
	for _, u := range append(l.u.imports[:len(l.u.imports):len(l.u.imports)], l.u) {
		for _, s := range u.scope.syms {
			if s.decl != nil && s.member == nil && s.decl.Kind == ir.Const && strings.HasPrefix(s.name, prefix) {
				names = append(names, s.name)
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// attribute returns the attribute whose number a constant is. Its type has the same name, in any
// case.
func (l *linker) attribute(a *ir.Attributes, name string) (ir.Attribute, bool) {
	c := l.resolve(l.u, name, a.Pos, (*symbol).isConst)
	if c == nil || c.member != nil || !c.isConst() {
		return ir.Attribute{}, false // reported where it is declared
	}
	if c.value.Neg || c.value.Abs > maxAttribute {
		l.report(diag.New(diag.BindCode, a.Pos, "%s is %s, expected a number from 0 to %d", name, show(c.value), maxAttribute).With(c.span, "declared here"))
		return ir.Attribute{}, false
	}
	typed := strings.ToLower(name)
	t := l.resolve(l.u, typed, a.Pos, (*symbol).isType)
	if t == nil || !t.isType() {
		l.report(diag.New(diag.BindUnknownName, a.Pos, "found no type %s for attribute %s", typed, name).With(c.span, "declared here").
			Helpf("declare it, for example by a line \"type %s opaque<>\"", typed))
		return ir.Attribute{}, false
	}
	return ir.Attribute{Number: uint32(c.value.Abs), Const: c.decl, Type: t.decl}, true
}
