package plan

import "github.com/rpcrdma/rpcrdma/cmd/internal/ir"

// addSites adds the placement sites of a sidecar: of an import, or of the unit itself if imp is
// nil. The unit that declares a type declares its sites.
func (m *maker) addSites(b *ir.Bind, imp *ir.Import) {
	if b == nil {
		return
	}
	for _, x := range b.DDP {
		if x.Field != nil && (x.Owner.Import == nil || x.Owner.Import == imp) {
			m.sites[x.Field] = &Site{x.Owner, x.Field}
		}
	}
}

// markReducible marks every type that has a placement site in it.
func (m *maker) markReducible() {
	var todo []*Type
	mark := func(t *Type) {
		if !t.Reducible {
			t.Reducible = true
			todo = append(todo, t)
		}
	}
	for _, s := range m.sites {
		if t := m.of[s.Owner]; t != nil {
			mark(t)
		}
	}
	for len(todo) > 0 {
		t := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		for _, user := range t.uses.by {
			mark(user)
		}
	}
}

// Reducible reports whether a value has a placement site in it, not counting itself.
func (s *Step) Reducible() bool {
	for s.Op == Loop || s.Op == Array || s.Op == Optional {
		s = s.Elem
	}
	return s.Of != nil && s.Of.Reducible
}
