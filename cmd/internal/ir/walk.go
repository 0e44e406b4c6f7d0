package ir

import (
	"iter"
	"slices"
)

// Use is a type written in a declaration.
type Use struct {
	Type  *Type
	Field *Field // field, discriminant, arm or argument that has it; nil for a typedef or a result
	Proc  *Proc  // procedure whose argument or result has it, or nil
}

// Types returns all types written in a declaration. The type of the elements follows that of
// an array or of optional data.
func (d *Decl) Types() iter.Seq[Use] {
	return func(yield func(Use) bool) {
		for outer := range d.outerTypes {
			for u := outer; u.Type != nil; u.Type = u.Type.Elem {
				if !yield(u) {
					return
				}
			}
		}
	}
}

// outerTypes yields the types of a declaration without the types of elements.
func (d *Decl) outerTypes(yield func(Use) bool) {
	if !yield(Use{Type: d.Type}) {
		return
	}
	for f := range d.AllFields() {
		if !yield(Use{Type: f.Type, Field: f}) {
			return
		}
	}
	if d.Program == nil {
		return
	}
	for _, v := range d.Program.Versions {
		for _, p := range v.Procs {
			for _, a := range p.Args {
				if !yield(Use{Type: a.Type, Field: a, Proc: p}) {
					return
				}
			}
			if !yield(Use{Type: p.Result, Proc: p}) {
				return
			}
		}
	}
}

// AllFields returns the fields of a struct, or the discriminant and the arms of a union.
func (d *Decl) AllFields() iter.Seq[*Field] {
	return func(yield func(*Field) bool) {
		for _, f := range d.Fields {
			if !yield(f) {
				return
			}
		}
		if d.Disc != nil && !yield(d.Disc) {
			return
		}
		for _, a := range d.Arms {
			if a.Field != nil && !yield(a.Field) {
				return
			}
		}
	}
}

// AllDecls returns the declarations of a unit and its imports. If one is a copy of another, with
// additions, the other is left out.
func (u *Unit) AllDecls() []*Decl {
	out := u.Decls[:len(u.Decls):len(u.Decls)]
	for _, i := range u.Imports {
		out = append(out, i.Decls...)
	}
	last := map[*Decl]*Decl{} // the last copy by its original; the unit's own copies come last
	for i := range out {
		if d := out[(i+len(u.Decls))%len(out)]; d.Of != nil {
			last[d.Original()] = d
		}
	}
	if len(last) == 0 {
		return out
	}
	return slices.DeleteFunc(slices.Clone(out), func(d *Decl) bool {
		by := last[d.Original()]
		return by != nil && by != d
	})
}

// Original returns the declaration that d is a copy of, or d.
func (d *Decl) Original() *Decl {
	for d.Of != nil {
		d = d.Of
	}
	return d
}
