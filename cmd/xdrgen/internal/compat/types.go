package compat

import "github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/ir"

// types compares the types of one thing in two states. said tells that the Go
// type is known to differ and was reported.
func (c *comparer) types(where string, old, new *ir.Type, said bool) {
	if old == nil || new == nil {
		if old != new {
			c.add(VoidChanged, where, place(old), place(new), "%s was %s, is %s", where, spell(old), spell(new))
		}
		return
	}
	if c.twins(old, new) {
		return // reported at the declaration
	}
	c.form(where, old, new, said)
}

// form is types without the shortcut for two states of one declaration.
func (c *comparer) form(where string, old, new *ir.Type, said bool) {
	a, b := old.Underlying(), new.Underlying()
	if a == old && b == new && c.adopt(a, b) {
		return
	}
	if !said && (a != old || b != new) {
		if !c.sameGo(old, new) && comparable(a, b) {
			c.add(TypeSource, where, old.Pos, new.Pos, "%s was %s, is %s", where, spell(old), spell(new))
			said = true
		}
	}
	switch {
	case isWord(a) && isWord(b):
		c.words(where, a, b, said)
	case isBytes(a) && isBytes(b):
		if a.Kind != b.Kind && !said {
			c.add(TypeSource, where, old.Pos, new.Pos, "%s was %s, is %s", where, spell(old), spell(new))
		}
		c.bounds(where, a, b)
	case a.Kind == ir.Array && b.Kind == ir.Array:
		c.bounds(where, a, b)
		c.types(where+"[]", a.Elem, b.Elem, said)
	case a.Kind == ir.Optional && b.Kind == ir.Optional:
		c.types(where, a.Elem, b.Elem, said)
	case a.Kind == ir.FixedArray && b.Kind == ir.FixedArray && a.Len != b.Len && c.wire.same(a, b):
		if !said {
			c.add(TypeSource, where, old.Pos, new.Pos, "%s was %s, is %s", where, spell(old), spell(new))
		}
	case a.Kind == b.Kind && (a.Kind == ir.FixedOpaque || a.Kind == ir.FixedArray && a.Len != b.Len):
		if a.Len != b.Len {
			c.add(LengthChanged, where, a.Pos, b.Pos, "%s has the length %d, had %d", where, b.Len, a.Len)
		}
	case a.Kind == ir.FixedArray && b.Kind == ir.FixedArray:
		c.types(where+"[]", a.Elem, b.Elem, said)
	case c.twins(a, b):
	case hypers(a) && hypers(b):
		if a.Kind != b.Kind {
			c.add(TypeValues, where, old.Pos, new.Pos, "%s was %s, is %s", where, spell(old), spell(new))
		}
	case !c.wire.same(a, b) && bothCounted(a, b):
		c.counts(where, old, new, said)
	case c.wire.same(a, b):
		if !said && !c.sameGo(a, b) {
			c.add(TypeSource, where, old.Pos, new.Pos, "%s was %s, is %s", where, spell(old), spell(new))
		}
	default:
		c.add(TypeWire, where, old.Pos, new.Pos, "%s was %s, is %s", where, spell(old), spell(new))
	}
}

// bothCounted reports whether two types are each sent as a count and elements.
func bothCounted(a, b *ir.Type) bool {
	_, _, one := counted(a)
	_, _, two := counted(b)
	return one && two
}

// counts compares two types of different kinds that are sent as a count and
// elements.
func (c *comparer) counts(where string, old, new *ir.Type, said bool) {
	a, b := old.Underlying(), new.Underlying()
	if !said {
		c.add(TypeSource, where, old.Pos, new.Pos, "%s was %s, is %s", where, spell(old), spell(new))
	}
	x, most, _ := counted(a)
	y, limit, _ := counted(b)
	switch {
	case limit > most:
		c.add(BoundRaised, where, a.Pos, b.Pos, "%s has up to %d elements, had %d", where, limit, most)
	case limit < most:
		c.add(BoundLowered, where, a.Pos, b.Pos, "%s has up to %d elements, had %d", where, limit, most)
	}
	c.types(where+"[]", x, y, true)
}

// twins reports whether two types name two states of one declaration.
func (c *comparer) twins(a, b *ir.Type) bool {
	if a.Kind == ir.ListOf && b.Kind == ir.ListOf {
		return c.twin[a.Ref] == b.Ref
	}
	x, y := node(a), node(b)
	return x != nil && y != nil && c.twin[x] == y
}

// comparable reports whether two types without typedefs are of one kind, so
// that only their parts can differ.
func comparable(a, b *ir.Type) bool {
	return a.Kind == b.Kind && a.Kind != ir.Ref || isBytes(a) && isBytes(b)
}

func hypers(t *ir.Type) bool { return t.Kind == ir.Hyper || t.Kind == ir.Uhyper }

// words compares two types of one word.
func (c *comparer) words(where string, a, b *ir.Type, said bool) {
	if a.Kind == b.Kind && a.Kind != ir.Ref || c.twins(a, b) {
		return
	}
	rule := TypeValues
	x, y := values(a), values(b)
	switch {
	case x.equal(y):
		if said {
			return
		}
		rule = TypeSource
	case x.within(y):
		rule = TypeWidened
	case y.within(x):
		rule = TypeNarrowed
	}
	c.add(rule, where, a.Pos, b.Pos, "%s was %s, is %s", where, spell(a), spell(b))
}

func (c *comparer) bounds(where string, a, b *ir.Type) {
	switch {
	case b.Max > a.Max:
		c.add(BoundRaised, where, a.Pos, b.Pos, "%s has %s, had %s", where, bound(b), bound(a))
	case b.Max < a.Max:
		c.add(BoundLowered, where, a.Pos, b.Pos, "%s has %s, had %s", where, bound(b), bound(a))
	}
}

// sameGo reports whether two types have the same Go type, bounds aside.
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
