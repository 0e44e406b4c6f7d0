package compat

import "github.com/rpcrdma/rpcrdma/cmd/internal/ir"

// program compares two versions of a program declaration. Its versions and procedures are
// matched by name, then by number (RFC 5531 §8.1).
func (c *comparer) program(where string, old, new *ir.Decl) {
	if old.Program.Number != new.Program.Number {
		c.add(ProgramNumber, where, old.Pos, new.Pos, "number of %s changed from %d to %d", where, old.Program.Number, new.Program.Number)
	}
	key := func(v *ir.Version) (uint32, string) { return v.Number, v.Name }
	for _, p := range pairUp(old.Program.Versions, new.Program.Versions, key) {
		a, b := p[0], p[1]
		switch {
		case a == nil:
			c.add(VersionAdded, where+" "+b.Name, noSpan, b.Pos, "version %s (%d) of %s was added", b.Name, b.Number, where)
			continue
		case b == nil:
			c.add(VersionRemoved, where+" "+a.Name, a.Pos, noSpan, "version %s (%d) of %s was removed", a.Name, a.Number, where)
			continue
		case a.Name != b.Name:
			c.add(VersionRenamed, where+" "+b.Name, a.Pos, b.Pos, "version %s (%d) of %s was renamed from %s", b.Name, b.Number, where, a.Name)
		case a.Number != b.Number:
			c.add(VersionNumber, where+" "+b.Name, a.Pos, b.Pos, "number of version %s of %s changed from %d to %d", b.Name, where, a.Number, b.Number)
		}
		c.procs(where+" "+b.Name, a, b)
	}
}

// procs compares the procedures of two versions.
func (c *comparer) procs(where string, old, new *ir.Version) {
	key := func(p *ir.Proc) (uint32, string) { return p.Number, p.Name }
	for _, p := range pairUp(old.Procs, new.Procs, key) {
		a, b := p[0], p[1]
		switch {
		case a == nil:
			c.add(ProcAdded, where+" "+b.Name, noSpan, b.Pos, "procedure %s (%d) was added", b.Name, b.Number)
			continue
		case b == nil:
			c.add(ProcRemoved, where+" "+a.Name, a.Pos, noSpan, "procedure %s (%d) was removed", a.Name, a.Number)
			continue
		case a.Name != b.Name:
			c.add(ProcRenamed, where+" "+b.Name, a.Pos, b.Pos, "procedure %s (%d) was renamed from %s", b.Name, b.Number, a.Name)
		case a.Number != b.Number:
			c.add(ProcNumber, where+" "+b.Name, a.Pos, b.Pos, "number of procedure %s changed from %d to %d", b.Name, a.Number, b.Number)
		}
		at := where + " " + b.Name
		if c.regrouped(a.Args, b.Args) { // the compiler invents the names of arguments
			c.regroup(at, a.Args, b.Args)
		} else {
			c.fields(at, a.Args, b.Args)
		}
		c.result(at, a, b)
	}
}

// result compares the results of two procedures; nil is void.
func (c *comparer) result(where string, a, b *ir.Proc) {
	if (a.Result == nil) == (b.Result == nil) {
		c.types(where+" result", a.Result, b.Result, false)
		return
	}
	c.add(VoidChanged, where+" result", a.Pos, b.Pos, "result of %s changed from %s to %s", b.Name, spell(a.Result), spell(b.Result))
}

// pairUp pairs the items of two lists by name, then by number. An item without a partner is
// paired with nil. Names come first, so that a changed number is reported as such.
func pairUp[T any](old, new []*T, key func(*T) (uint32, string)) [][2]*T {
	byName, byNumber := map[string]*T{}, map[uint32]*T{}
	for _, b := range new {
		number, name := key(b)
		byName[name], byNumber[number] = b, b
	}
	partner, taken := map[*T]*T{}, map[*T]bool{}
	for _, a := range old {
		if _, name := key(a); byName[name] != nil {
			partner[a], taken[byName[name]] = byName[name], true
		}
	}
	var out [][2]*T
	for _, a := range old {
		number, _ := key(a)
		if b := byNumber[number]; partner[a] == nil && b != nil && !taken[b] {
			partner[a], taken[b] = b, true
		}
		out = append(out, [2]*T{a, partner[a]})
	}
	for _, b := range new {
		if !taken[b] {
			out = append(out, [2]*T{nil, b})
		}
	}
	return out
}
