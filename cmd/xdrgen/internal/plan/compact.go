package plan

import "github.com/rpcrdma/rpcrdma/cmd/internal/ir"

// markCompact marks the types whose code is kept small: types that procedures of the unit's
// programs take or return, and the types in them, unless a message may hold many of their values. A
// call has a few such values at most, so the time for one is short compared with the call
// (ADR 0059). It must follow markRepeated.
func (m *maker) markCompact(decls []*ir.Decl) {
	own := map[*Type]bool{}
	for _, d := range decls {
		if t := m.of[d]; t != nil {
			own[t] = true
		}
	}
	for _, d := range decls {
		if d.Program == nil {
			continue
		}
		for u := range d.Types() {
			if u.Type.Ref != nil {
				m.of[u.Type.Ref].markCompact(own)
			}
		}
	}
}

// markCompact marks t and the types in it, unless a message may hold many of them.
func (t *Type) markCompact(own map[*Type]bool) {
	if !own[t] || t.Repeated || t.Compact {
		return
	}
	t.Compact = true
	for s := range t.parts {
		for ; s != nil; s = s.Elem {
			if s.Of != nil {
				s.Of.markCompact(own)
			}
		}
	}
}
