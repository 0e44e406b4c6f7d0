package plan

import "github.com/rpcrdma/rpcrdma/cmd/internal/ir"

// maxLists limits the lists and arrays at which a scan stops, because types that hold each other
// can have more paths to their lists than there is time to follow.
const maxLists = 64

// Stop is a list or array at which a scan of a message stops, or a value that leads to some.
type Stop struct {
	// Num is the number of the place in the message: before a list; after a union or optional
	// data.
	Num    int
	Path   *Path            // the fields that lead to it
	List   *Step            // the list or array; nil for a value that leads to some
	Elem   *Stop            // of optional data
	Fields map[*Field]*Stop // of a struct or union: the fields that lead to some
}

// Path is the fields that lead to a value. The path of the message itself is nil.
type Path struct {
	Up    *Path
	Field *Field
}

// Stops holds the places of a message, in their order on the wire.
type Stops struct {
	Top   *Stop   // the message; nil if it has no lists or arrays
	Lists []*Stop // the lists and arrays
	Count int     // all places

	none map[*Type]bool // leads nowhere
}

// Stops finds the lists and arrays of message t. It does not look into lists, nor into types that
// contain themselves.
func (t *Type) Stops() *Stops {
	s := &Stops{none: map[*Type]bool{}}
	s.Top = s.typ(t, nil)
	return s
}

func (s *Stops) step(x *Step, at *Path) *Stop {
	if s.full() {
		return nil
	}
	switch u := x.Under(); u.Op {
	case Array, List:
		s.Count++
		stop := &Stop{Num: s.Count, Path: at, List: u}
		s.Lists = append(s.Lists, stop)
		return stop
	case Optional:
		elem := s.step(u.Elem, at)
		if elem == nil {
			return nil
		}
		s.Count++
		return &Stop{Num: s.Count, Path: at, Elem: elem}
	case Struct, Union:
		return s.typ(u.Of, at)
	}
	return nil
}

// full reports whether there are as many lists as there may be.
func (s *Stops) full() bool { return len(s.Lists) == maxLists }

func (s *Stops) typ(t *Type, at *Path) *Stop {
	if t.Recursive || s.none[t] {
		return nil
	}
	if t.Op == Typedef {
		return s.step(t.Body, at)
	}
	fields := map[*Field]*Stop{}
	field := func(f *Field) {
		if stop := s.step(f.Step, &Path{at, f}); stop != nil {
			fields[f] = stop
		}
	}
	for _, f := range t.Fields {
		field(f)
	}
	for _, a := range t.Arms {
		if a.Field != nil && !a.Dead {
			field(a.Field)
		}
	}
	if len(fields) == 0 {
		s.none[t] = !s.full()
		return nil
	}
	stop := &Stop{Path: at, Fields: fields}
	if t.Op == Union {
		s.Count++
		stop.Num = s.Count
	}
	return stop
}

// Messages returns the types of whole messages: the types that no other type holds, and those that
// a procedure takes or returns. Lists by the name of their node are parts of messages.
func (p *Plan) Messages() []*Type {
	whole := map[*ir.Decl]bool{}
	for _, d := range p.unit.Decls {
		if d.Program == nil {
			continue
		}
		for _, v := range d.Program.Versions {
			for _, c := range v.Procs {
				for _, a := range c.Args {
					whole[a.Type.Ref] = true
				}
				if c.Result != nil {
					whole[c.Result.Ref] = true
				}
			}
		}
	}
	var out []*Type
	for _, t := range p.Types {
		if !whole[t.Decl] && (t.uses.count > 0 || t.Node || t.Decl.IsList()) {
			continue
		}
		if t.View || t.Op == Typedef && !t.Transparent && !t.Alias {
			out = append(out, t)
		}
	}
	return out
}
