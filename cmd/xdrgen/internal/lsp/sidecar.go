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

// part returns the thing that a name stands for after the name of t and a dot.
func (t thing) part(name string) (thing, bool) {
	for _, p := range t.all() {
		if p.name() == name {
			return p, true
		}
	}
	return thing{}, false
}

// all returns the things whose names can follow the name of t and a dot: fields, also in a field's
// type, members, versions, procedures, and the fields of a procedure's arguments and result.
func (t thing) all() []thing {
	if t.decl == nil {
		return nil
	}
	from := []*ir.Decl{t.decl}
	switch {
	case t.field != nil:
		from = []*ir.Decl{declOf(t.field.Type)}
	case t.proc != nil:
		from = []*ir.Decl{declOf(t.proc.Result)}
		for _, f := range t.proc.Args {
			from = append(from, declOf(f.Type))
		}
	}
	var out []thing
	for _, d := range from {
		if d == nil {
			continue
		}
		things(d, func(p thing) bool {
			switch {
			case p.field != nil && p.proc == nil, p.member != nil,
				p.proc != nil && p.field == nil && t.proc == nil && p.version == t.version,
				p.version != nil && p.proc == nil && t.version == nil:
				out = append(out, p)
			}
			return true
		})
	}
	return out
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
