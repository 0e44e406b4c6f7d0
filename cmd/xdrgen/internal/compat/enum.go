package compat

import (
	"strings"

	"github.com/rpcrdma/rpcrdma/cmd/internal/ir"
)

// enum compares two versions of an enum: members by name, then by number.
func (c *comparer) enum(where string, old, new *ir.Decl) {
	switch {
	case new.Open && !old.Open:
		c.add(EnumOpened, where, old.Pos, new.Pos, "%s now accepts any number", where)
	case old.Open && !new.Open:
		c.add(EnumClosed, where, old.Pos, new.Pos, "%s now accepts only its members", where)
	}
	byName, byValue := map[string]*ir.Member{}, map[int32][]*ir.Member{}
	for _, m := range old.Members {
		byName[m.Name] = m
		byValue[m.Value] = append(byValue[m.Value], m)
	}
	now, valueNow := map[string]*ir.Member{}, map[int32]bool{}
	for _, m := range new.Members {
		now[m.Name], valueNow[m.Value] = m, true
	}
	gone := map[int32][]*ir.Member{} // by value: removed members not yet matched as renamed
	for _, m := range old.Members {
		if now[m.Name] == nil {
			gone[m.Value] = append(gone[m.Value], m)
		}
	}
	renamed := map[*ir.Member]bool{}
	for _, m := range new.Members {
		at := where + "." + m.Name
		if was := byName[m.Name]; was != nil {
			switch {
			case was.Value == m.Value:
			case isLimit(old, was) && isLimit(new, m) && m.Value > was.Value:
				c.add(MemberLimit, at, was.Pos, m.Pos, "%s changed from %d to %d", m.Name, was.Value, m.Value)
			default:
				c.add(MemberValue, at, was.Pos, m.Pos, "%s changed from %d to %d", m.Name, was.Value, m.Value)
			}
			continue
		}
		var was *ir.Member
		if left := gone[m.Value]; len(left) > 0 {
			was, gone[m.Value] = left[0], left[1:]
		}
		switch {
		case was != nil:
			renamed[was] = true
			c.add(MemberRenamed, at, was.Pos, m.Pos, "%s (%d) was renamed from %s", m.Name, m.Value, was.Name)
		case len(byValue[m.Value]) > 0 && !(len(byValue[m.Value]) == 1 && isLimit(old, byValue[m.Value][0])):
			c.add(MemberAlias, at, byValue[m.Value][0].Pos, m.Pos, "%s was added with the number of %s (%d)", m.Name, byValue[m.Value][0].Name, m.Value)
		case old.Open && new.Open:
			c.add(MemberAddedOpen, at, noSpan, m.Pos, "%s (%d) was added", m.Name, m.Value)
		default:
			c.add(MemberAdded, at, noSpan, m.Pos, "%s (%d) was added", m.Name, m.Value)
		}
	}
	for _, m := range old.Members {
		if now[m.Name] != nil || renamed[m] {
			continue
		}
		rule := MemberRemoved
		switch {
		case valueNow[m.Value]:
			rule = MemberAliasGone
		case old.Open && new.Open:
			rule = MemberRemovedOpen
		}
		c.add(rule, where+"."+m.Name, m.Pos, noSpan, "%s (%d) was removed", m.Name, m.Value)
	}
}

// isLimit reports whether a member marks the end of its enum's numbers: its name says so,
// and it is larger than all others.
func isLimit(enum *ir.Decl, m *ir.Member) bool {
	words := strings.Split(strings.ToUpper(m.Name), "_")
	named := words[0] == "NUM" || words[0] == "MAX"
	for _, w := range words[len(words)/2:] {
		switch w {
		case "LAST", "MAX", "NUM", "COUNT", "END", "LIMIT", "MAXVALUE", "SENTINEL":
			named = true
		}
	}
	if !named {
		return false
	}
	for _, o := range enum.Members {
		if o != m && o.Value >= m.Value {
			return false
		}
	}
	return len(enum.Members) > 1
}
