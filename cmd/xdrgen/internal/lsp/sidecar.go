package lsp

import (
	"iter"
	"slices"
	"strings"

	"github.com/rpcrdma/rpcrdma/cmd/internal/ir"
	"github.com/rpcrdma/rpcrdma/cmd/internal/source"
)

// statement is a line of a sidecar as words with their places.
type statement []source.Span

// statements returns the lines of a sidecar that have words.
func statements(f *source.File) iter.Seq[statement] {
	return func(yield func(statement) bool) {
		start := 0
		for line := range strings.Lines(string(f.Text)) {
			var words statement
			at := start
			for word := range strings.FieldsSeq(line) {
				at += strings.Index(line[at-start:], word)
				if word[0] == '#' {
					break
				}
				words = append(words, source.Span{File: f, Start: at, End: at + len(word)})
				at += len(word)
			}
			start += len(line)
			if len(words) > 0 && !yield(words) {
				return
			}
		}
	}
}

// names returns the names of a unit's sidecar, part by part of words such as STRUCT.FIELD.
func (a *analysis) names(f *source.File) iter.Seq[named] {
	return func(yield func(named) bool) {
		for line := range statements(f) {
			var last thing // what the word before stands for
			for _, word := range line[1:] {
				parts := a.parts(word, last)
				for _, n := range parts {
					if !yield(n) {
						return
					}
				}
				if len(parts) > 0 {
					last = parts[len(parts)-1].thing
				}
			}
		}
	}
}

// parts returns what the parts of a word stand for. Its first part is a declared name, or the name
// of something in last.
func (a *analysis) parts(word source.Span, last thing) []named {
	var out []named
	start := word.Start
	for i, part := range strings.Split(word.Text(), ".") {
		t, ok := thing{}, false
		if i == 0 {
			if t, ok = a.declared(part); !ok {
				t, ok = last.part(part)
			}
		} else if len(out) == i {
			t, ok = out[i-1].part(part)
		}
		at := source.Span{File: word.File, Start: start, End: start + len(part)}
		if start = at.End + 1; ok {
			out = append(out, named{at, t})
		}
	}
	return out
}

// declared returns the declaration, or the member of an enum, that has a name: the unit's own
// before another unit's.
func (a *analysis) declared(name string) (thing, bool) {
	for _, d := range a.result.Index.Decls {
		if d.Name == name && !d.Anon {
			return of(d, nil), true
		}
		if i := slices.IndexFunc(d.Members, func(m *ir.Member) bool { return m.Name == name }); i >= 0 {
			return of(d, d.Members[i]), true
		}
	}
	return thing{}, false
}

// part returns what a name stands for after the name of t and a dot: a field, also in a
// field's type, a member, a version, or a procedure.
func (t thing) part(name string) (thing, bool) {
	if t.decl == nil {
		return thing{}, false
	}
	from := []*ir.Decl{t.decl}
	switch {
	case t.field != nil:
		from = []*ir.Decl{declOf(t.field.Type)}
	case t.proc != nil: // a path in the arguments or the result
		from = []*ir.Decl{declOf(t.proc.Result)}
		for _, f := range t.proc.Args {
			from = append(from, declOf(f.Type))
		}
	}
	var found thing
	for _, d := range from {
		if d == nil {
			continue
		}
		things(d, func(p thing) bool {
			if p.name() == name && (p.field != nil || p.member != nil || p.proc != nil && p.version == t.version || p.version != nil && p.proc == nil) {
				found = p
			}
			return found.decl == nil
		})
	}
	return found, found.decl != nil
}

// declOf returns the declaration with the fields that a value of a type has, or nil.
func declOf(t *ir.Type) *ir.Decl {
	for t != nil {
		if t.Ref == nil {
			t = t.Elem
			continue
		}
		if t.Ref.Kind != ir.Typedef {
			return t.Ref
		}
		t = t.Ref.Type
	}
	return nil
}

// inSidecar returns the name at an offset of a sidecar.
func (a *analysis) inSidecar(f *source.File, offset int) (named, bool) {
	for n := range a.names(f) {
		if n.at.Start <= offset && offset <= n.at.End {
			return n, true
		}
	}
	return named{}, false
}
