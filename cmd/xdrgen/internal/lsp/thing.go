package lsp

import (
	"strings"

	"github.com/rpcrdma/rpcrdma/cmd/internal/ir"
	"github.com/rpcrdma/rpcrdma/cmd/internal/sema"
	"github.com/rpcrdma/rpcrdma/cmd/internal/source"
)

// thing is a declaration, or a part of one, that a name stands for.
type thing struct {
	at      source.Span // the name where it is declared
	decl    *ir.Decl    // itself, or the declaration with the part
	member  *ir.Member
	field   *ir.Field // also an arm, the discriminant or an argument
	version *ir.Version
	proc    *ir.Proc
}

// named is a place with a name, and the thing that the name stands for there.
type named struct {
	at source.Span
	thing
}

// of returns a declaration, or the member of an enum, as a thing.
func of(d *ir.Decl, m *ir.Member) thing {
	if m != nil {
		return thing{at: m.Pos, decl: d, member: m}
	}
	return thing{at: d.Pos, decl: d}
}

// thingOf returns the thing that a name is used for.
func thingOf(u sema.Use) thing { return of(u.Decl, u.Member) }

// things calls yield with each named thing that a declaration is or has, until yield returns
// false.
func things(d *ir.Decl, yield func(thing) bool) {
	if !d.Anon && !yield(of(d, nil)) {
		return
	}
	for _, m := range d.Members {
		if !yield(of(d, m)) {
			return
		}
	}
	for f := range d.AllFields() {
		if !yield(thing{at: f.Pos, decl: d, field: f}) {
			return
		}
	}
	if d.Program == nil {
		return
	}
	for _, v := range d.Program.Versions {
		if !yield(thing{at: v.Pos, decl: d, version: v}) {
			return
		}
		for _, p := range v.Procs {
			if !yield(thing{at: p.Pos, decl: d, version: v, proc: p}) {
				return
			}
			for _, f := range p.Args {
				if !yield(thing{at: f.Pos, decl: d, version: v, proc: p, field: f}) {
					return
				}
			}
		}
	}
}

// name returns the XDR name of the thing.
func (t thing) name() string {
	switch {
	case t.member != nil:
		return t.member.Name
	case t.field != nil:
		return t.field.Name
	case t.proc != nil:
		return t.proc.Name
	case t.version != nil:
		return t.version.Name
	}
	return t.decl.Name
}

// comment returns the comment of the thing.
func (t thing) comment() []string {
	doc, tail := t.decl.Doc, t.decl.Tail
	switch {
	case t.member != nil:
		doc, tail = t.member.Doc, t.member.Tail
	case t.field != nil:
		doc, tail = t.field.Doc, t.field.Tail
	case t.proc != nil:
		doc, tail = t.proc.Doc, t.proc.Tail
	case t.version != nil:
		doc, tail = t.version.Doc, ""
	}
	if tail == "" {
		return doc
	}
	return append(doc[:len(doc):len(doc)], tail)
}

// at returns the name at an offset of a file, or just before it.
func (a *analysis) at(f *source.File, offset int) (named, bool) {
	within := func(at source.Span) bool { return at.File == f && at.Start <= offset && offset <= at.End }
	for _, u := range a.result.Index.Uses {
		if within(u.At) {
			return named{u.At, thingOf(u)}, true
		}
	}
	var found named
	for _, d := range a.result.Index.Decls {
		things(d, func(t thing) bool {
			if within(t.at) && t.at.End > t.at.Start && t.at.Text() == t.name() {
				found = named{t.at, t}
			}
			return found.decl == nil
		})
		if found.decl != nil {
			return found, true
		}
	}
	if strings.HasSuffix(f.Name, ".bind") {
		return a.inSidecar(f, offset)
	}
	return named{}, false
}
