package plan

import "github.com/rpcrdma/rpcrdma/cmd/internal/ir"

// markCompact marks the types whose code is kept small: those of which a call has a few values at
// most, because procedures of the unit's programs take or return them. Beside the call, the time
// for a value is short (ADR 0059). It must follow markRepeated.
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
