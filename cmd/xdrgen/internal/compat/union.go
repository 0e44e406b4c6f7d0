package compat

import "github.com/rpcrdma/rpcrdma/cmd/internal/ir"

// union compares two versions of a union: for each value of the discriminant, the arms that
// it selects.
func (c *comparer) union(where string, old, new *ir.Decl) {
	if old.Disc.Name != new.Disc.Name {
		c.add(DiscRenamed, where, old.Disc.Pos, new.Disc.Pos, "discriminant %s of %s was renamed from %s", new.Disc.Name, where, old.Disc.Name)
	}
	c.types(where+"."+new.Disc.Name, old.Disc.Type, new.Disc.Type, false)
	before, after := domain(old), domain(new)
	was, is := ir.ArmsOf(old), ir.ArmsOf(new)
	done := map[[2]*ir.Arm]bool{}
	compare := func(a, b *ir.Arm, label func(*ir.Arm) string) {
		if a == b || done[[2]*ir.Arm{a, b}] {
			return
		}
		done[[2]*ir.Arm{a, b}] = true
		c.arm(where, a, b, label)
	}
	for _, v := range labels(old, new) {
		label := func(a *ir.Arm) string { return armName(a, v) }
		switch {
		case before.has(v) && after.has(v):
			compare(was.At(v), is.At(v), label)
		case after.has(v) && is.Own[v] != nil && !done[[2]*ir.Arm{nil, is.Own[v]}]:
			done[[2]*ir.Arm{nil, is.Own[v]}] = true
			c.armWithMember(where, nil, is.Own[v], label)
			if new := is.Own[v]; was.Other != nil && armData(was.Other) != armData(new) {
				c.add(ArmOfDefault, where+"."+label(new), was.Other.Pos, new.Pos, "%s of %s has other data than the default, which old peers may read for a number that they do not know", label(new), where)
			}
		case before.has(v) && was.Own[v] != nil && !done[[2]*ir.Arm{was.Own[v], nil}]:
			done[[2]*ir.Arm{was.Own[v], nil}] = true
			c.armWithMember(where, was.Own[v], nil, label)
		}
	}
	if before.open && after.open || was.Other == nil && after.open || is.Other == nil && before.open {
		compare(was.Other, is.Other, func(*ir.Arm) string { return "default" })
	}
}

// arm compares the arms of one value in two versions; nil means that there is no arm. label
// returns the label of an arm for the value.
func (c *comparer) arm(where string, old, new *ir.Arm, label func(*ir.Arm) string) {
	switch {
	case old == nil:
		rule := ArmAdded
		if new.Default {
			rule = DefaultAdded
		}
		c.add(rule, where+"."+label(new), noSpan, new.Pos, "%s of %s was added", label(new), where)
	case new == nil:
		rule := ArmRemoved
		if old.Default {
			rule = DefaultRemoved
		}
		change := c.add(rule, where+"."+label(old), old.Pos, noSpan, "%s of %s was removed", label(old), where)
		if old.Field == nil {
			change.Effects.Source = OK // a void arm has no Go name
		}
	case old.Field == nil && new.Field == nil:
	case old.Field == nil || new.Field == nil:
		c.add(VoidChanged, where+"."+label(new), old.Pos, new.Pos, "%s of %s changed from %s to %s", label(new), where, armData(old), armData(new))
	default:
		at := where + "." + new.Field.Name
		if old.Field.Name != new.Field.Name {
			c.add(ArmRenamed, at, old.Field.Pos, new.Field.Pos, "the field for %s of %s was renamed from %s to %s", label(new), where, old.Field.Name, new.Field.Name)
		}
		c.types(at, old.Field.Type, new.Field.Type, false)
	}
}

// armWithMember reports an arm for a value that the discriminant has in one version only. The
// effect on peers is reported for the enum member with that value.
func (c *comparer) armWithMember(where string, old, new *ir.Arm, label func(*ir.Arm) string) {
	n := len(c.out)
	c.arm(where, old, new, label)
	for i := range c.out[n:] {
		e := &c.out[n+i].Effects
		e.OldReadsNew, e.NewReadsOld = OK, OK
	}
}

// armName returns the label of an arm for a value: "case X" or "default".
func armName(a *ir.Arm, v int64) string {
	for _, l := range a.Labels {
		if l.Value.Int64() == v {
			return "case " + l.Value.Text
		}
	}
	return "default"
}

// armData returns the type of an arm as text.
func armData(a *ir.Arm) string {
	if a.Field == nil {
		return "void"
	}
	return spell(a.Field.Type)
}
