package compat

// additions are the rules of the changes that RFC 8178 section 4.2 allows to an extension: further
// numbers of an enum, further cases of a union without a default, and declarations for these. The
// section allows no further procedures in NFSv4; RFC 5531 does in other programs.
var additions = map[Rule]bool{
	DeclAdded: true, MemberAdded: true, MemberAddedOpen: true, MemberAlias: true, ArmAdded: true,
	VersionAdded: true, ProcAdded: true, CodeAdded: true,
}

// Pure reports whether a change is a pure extension: all that an old peer could send or receive has
// the bytes and the meaning that it had. A change of Go names alone is pure too.
func (c Change) Pure() bool {
	if additions[c.Rule] {
		return true
	}
	return c.Rule != ArmOfDefault && c.Effects.Wire == OK && c.Effects.Extension() == OK
}
