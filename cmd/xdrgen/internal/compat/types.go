package compat

import "github.com/rpcrdma/rpcrdma/cmd/internal/ir"

// types compares the types of something in two versions; where names it in messages. goReported
// means that a change of its Go type was reported already.
func (c *comparer) types(where string, old, new *ir.Type, goReported bool) {
	if old == nil || new == nil {
		if old != new {
			c.retyped(VoidChanged, where, old, new)
		}
		return
	}
	if c.twins(old, new) {
		return // reported at the declaration
	}
	c.form(where, old, new, goReported)
}

// retyped reports a change from one type to another.
func (c *comparer) retyped(r Rule, where string, old, new *ir.Type) {
	c.add(r, where, typeSpan(old), typeSpan(new), "type of %s changed from %s to %s", where, spell(old), spell(new))
}

// form is types without the shortcut for two versions of one declaration.
func (c *comparer) form(where string, old, new *ir.Type, goReported bool) {
	a, b := old.Underlying(), new.Underlying()
	if a == old && b == new && c.pairInPlace(a, b) {
		return
	}
	if !goReported && (a != old || b != new) {
		if !c.sameGo(old, new) && sameKind(a, b) {
			c.retyped(TypeSource, where, old, new)
			goReported = true
		}
	}
	switch {
	case isWord(a) && isWord(b):
		c.words(where, a, b, goReported)
	case isBytes(a) && isBytes(b):
		if a.Kind != b.Kind && !goReported {
			c.retyped(TypeSource, where, old, new)
		}
		c.bounds(where, a, b)
	case a.Kind == ir.Array && b.Kind == ir.Array:
		c.bounds(where, a, b)
		c.types(where+"[]", a.Elem, b.Elem, goReported)
	case a.Kind == ir.Optional && b.Kind == ir.Optional:
		c.types(where, a.Elem, b.Elem, goReported)
	case a.Kind == ir.FixedArray && b.Kind == ir.FixedArray && a.Len != b.Len && c.wire.same(a, b):
		if !goReported {
			c.retyped(TypeSource, where, old, new)
		}
	case a.Kind == b.Kind && (a.Kind == ir.FixedOpaque || a.Kind == ir.FixedArray && a.Len != b.Len):
		if a.Len != b.Len {
			c.add(LengthChanged, where, a.Pos, b.Pos, "length of %s changed from %d to %d", where, a.Len, b.Len)
		}
	case a.Kind == ir.FixedArray && b.Kind == ir.FixedArray:
		c.types(where+"[]", a.Elem, b.Elem, goReported)
	case c.twins(a, b):
	case hypers(a) && hypers(b):
		if a.Kind != b.Kind {
			c.retyped(TypeValues, where, old, new)
		}
	case !c.wire.same(a, b) && bothCounted(a, b):
		c.counts(where, old, new, goReported)
	case c.wire.same(a, b):
		if !goReported && !c.sameGo(a, b) {
			c.retyped(TypeSource, where, old, new)
		}
	default:
		c.retyped(TypeWire, where, old, new)
	}
}

// bothCounted reports whether two types are both encoded as a count and elements.
func bothCounted(a, b *ir.Type) bool {
	_, _, one := counted(a)
	_, _, two := counted(b)
	return one && two
}

// counts compares two types of different kinds that are both encoded as a count and
// elements.
func (c *comparer) counts(where string, old, new *ir.Type, goReported bool) {
	a, b := old.Underlying(), new.Underlying()
	if !goReported {
		c.retyped(TypeSource, where, old, new)
	}
	x, oldMax, _ := counted(a)
	y, newMax, _ := counted(b)
	switch {
	case newMax > oldMax:
		c.add(BoundRaised, where, a.Pos, b.Pos, "bound of %s changed from %d to %d", where, oldMax, newMax)
	case newMax < oldMax:
		c.add(BoundLowered, where, a.Pos, b.Pos, "bound of %s changed from %d to %d", where, oldMax, newMax)
	}
	c.types(where+"[]", x, y, true)
}

// twins reports whether two types refer to the two versions of one declaration.
func (c *comparer) twins(a, b *ir.Type) bool {
	if a.Kind == ir.ListOf && b.Kind == ir.ListOf {
		return c.twinned(a.Ref, b.Ref)
	}
	x, y := node(a), node(b)
	return x != nil && y != nil && c.twinned(x, y)
}

// twinned reports whether two declarations are versions of one. If the new unit has a copy with
// additions, the original counts too: it is in types that the unit does not copy.
func (c *comparer) twinned(old, new *ir.Decl) bool {
	twin := c.twin[old]
	return twin != nil && (twin == new || twin.Original() == new.Original())
}

// sameKind reports whether two types, neither of them a typedef, are of the same kind, so that
// they differ at most in their parts.
func sameKind(a, b *ir.Type) bool {
	return a.Kind == b.Kind && a.Kind != ir.Ref || isBytes(a) && isBytes(b)
}

func hypers(t *ir.Type) bool { return t.Kind == ir.Hyper || t.Kind == ir.Uhyper }

// words compares two types that are encoded as one word with a number.
func (c *comparer) words(where string, a, b *ir.Type, goReported bool) {
	if a.Kind == b.Kind && a.Kind != ir.Ref || c.twins(a, b) {
		return
	}
	rule := TypeValues
	x, y := values(a), values(b)
	switch {
	case x.equal(y):
		if goReported {
			return
		}
		rule = TypeSource
	case x.within(y):
		rule = TypeWidened
	case y.within(x):
		rule = TypeNarrowed
	}
	c.retyped(rule, where, a, b)
}

// bounds compares the bounds of two variable-length types.
func (c *comparer) bounds(where string, a, b *ir.Type) {
	switch {
	case b.Max > a.Max:
		c.add(BoundRaised, where, a.Pos, b.Pos, "bound of %s changed from %s to %s", where, bound(a), bound(b))
	case b.Max < a.Max:
		c.add(BoundLowered, where, a.Pos, b.Pos, "bound of %s changed from %s to %s", where, bound(a), bound(b))
	}
}

// sameGo reports whether two types have the same Go type. Bounds do not matter.
func (c *comparer) sameGo(a, b *ir.Type) bool {
	if a == nil || b == nil {
		return a == b
	}
	if a.Kind != b.Kind || a.Len != b.Len || (a.Ref == nil) != (b.Ref == nil) {
		return false
	}
	if a.Ref != nil && c.twin[a.Ref] != b.Ref {
		return false
	}
	return c.sameGo(a.Elem, b.Elem)
}
