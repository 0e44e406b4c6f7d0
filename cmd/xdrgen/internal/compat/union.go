package compat

import "github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/ir"

// union compares two states of a union, value by value: what arm a number
// took, and takes.
func (c *comparer) union(where string, old, new *ir.Decl) {
	if old.Disc.Name != new.Disc.Name {
		c.add(DiscRenamed, where, old.Disc.Pos, new.Disc.Pos, "discriminant %s of %s was called %s", new.Disc.Name, where, old.Disc.Name)
	}
	c.types(where+"."+new.Disc.Name, old.Disc.Type, new.Disc.Type, false)
	before, after := domain(old), domain(new)
	was, is := armsOf(old), armsOf(new)
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
			compare(was.at(v), is.at(v), label)
		case after.has(v) && is.own[v] != nil && !done[[2]*ir.Arm{nil, is.own[v]}]:
			done[[2]*ir.Arm{nil, is.own[v]}] = true
			c.armWithMember(where, nil, is.own[v], label)
		case before.has(v) && was.own[v] != nil && !done[[2]*ir.Arm{was.own[v], nil}]:
			done[[2]*ir.Arm{was.own[v], nil}] = true
			c.armWithMember(where, was.own[v], nil, label)
		}
	}
	if before.open && after.open || was.other == nil && after.open || is.other == nil && before.open {
		compare(was.other, is.other, func(*ir.Arm) string { return "default" })
	}
}

// arm compares the arms of one value in two states; nil is none. label names
// the value as an arm has it.
func (c *comparer) arm(where string, old, new *ir.Arm, label func(*ir.Arm) string) {
	switch {
	case old == nil:
		rule := ArmAdded
		if new.Default {
			rule = DefaultAdded
		}
		c.add(rule, where+"."+label(new), noPlace, new.Pos, "%s of %s is new", label(new), where)
	case new == nil:
		rule := ArmRemoved
		if old.Default {
			rule = DefaultRemoved
		}
		change := c.add(rule, where+"."+label(old), old.Pos, noPlace, "%s of %s is gone", label(old), where)
		if old.Field == nil {
			change.Effects.Source = OK // a void arm has no Go name
		}
	case old.Field == nil && new.Field == nil:
	case old.Field == nil || new.Field == nil:
		c.add(VoidChanged, where+"."+label(new), old.Pos, new.Pos, "%s of %s was %s, is %s", label(new), where, armData(old), armData(new))
	default:
		at := where + "." + new.Field.Name
		if old.Field.Name != new.Field.Name {
			c.add(ArmRenamed, at, old.Field.Pos, new.Field.Pos, "%s of %s has its data in %s, had it in %s", label(new), where, new.Field.Name, old.Field.Name)
		}
		c.types(at, old.Field.Type, new.Field.Type, false)
	}
}

// armWithMember reports an arm of one state whose value the discriminant has in
// that state only. What this means to a peer is reported at the member.
func (c *comparer) armWithMember(where string, old, new *ir.Arm, label func(*ir.Arm) string) {
	n := len(c.out)
	c.arm(where, old, new, label)
	for i := range c.out[n:] {
		e := &c.out[n+i].Effects
		e.OldReadsNew, e.NewReadsOld = OK, OK
	}
}

// armName names an arm by the label for a value.
func armName(a *ir.Arm, v int64) string {
	for _, l := range a.Labels {
		if number(l.Value) == v {
			return "case " + l.Value.Text
		}
	}
	return "default"
}

func armData(a *ir.Arm) string {
	if a.Field == nil {
		return "void"
	}
	return spell(a.Field.Type)
}
