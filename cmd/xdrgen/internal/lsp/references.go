package lsp

import (
	"cmp"
	"context"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rpcrdma/rpcrdma/cmd/internal/source"
)

// target is a thing, in all units that read its file.
type target struct {
	path  string
	start int
	name  string
}

// targetOf returns a thing as a target. For a declaration that a unit amends, it is the
// included one.
func targetOf(t thing) target {
	at := t.at
	if t.member == nil && t.field == nil && t.version == nil {
		at = t.decl.Original().Pos
	}
	if at.File == nil {
		return target{}
	}
	return target{filepath.FromSlash(at.File.Name), at.Start, t.name()}
}

// references answers textDocument/references: the places in all units that are in the client's
// folders or have an open document, and in their sidecars.
func (s *state) references(q query) (any, error) {
	n, ok := q.analysis.at(q.view.file, q.offset)
	if !ok {
		return nil, nil
	}
	of, c, search := targetOf(n.thing), s.checker(), s.search()
	uri, encoding, declaration := s.uris(), s.client.encoding, q.params.Context.IncludeDeclaration
	return job(func(ctx context.Context) (any, error) {
		out := []location{}
		for _, p := range search.places(ctx, c, of, declaration) {
			out = append(out, location{uri(p.path), p.text.span(p.start, p.end, encoding)})
		}
		return out, nil
	}), nil
}

// found is a place of a name.
type found struct {
	path       string
	start, end int // in text
	text       *text
}

// places returns the places of a target in all units, in order of path and place.
func (s search) places(ctx context.Context, c checker, of target, declaration bool) []found {
	var out []found
	for _, files := range s.units(ctx, c.files) {
		if !c.files.mention(ctx, files, of) {
			continue
		}
		a := c.check(ctx, files)
		if ctx.Err() != nil {
			return nil
		}
		for at := range a.places(of, declaration) {
			v := a.view(at.File)
			out = append(out, found{v.path(), v.shown(at.Start), v.shown(at.End), v.text})
		}
	}
	order := func(a, b found) int { return cmp.Or(strings.Compare(a.path, b.path), cmp.Compare(a.start, b.start)) }
	slices.SortFunc(out, order)
	return slices.CompactFunc(out, func(a, b found) bool { return order(a, b) == 0 })
}

// places calls yield with the places of a target in a unit and its sidecars.
func (a *analysis) places(of target, declaration bool) func(yield func(source.Span) bool) {
	return func(yield func(source.Span) bool) {
		for _, u := range a.result.Index.Uses {
			if targetOf(thingOf(u)) == of && !yield(u.At) {
				return
			}
		}
		for _, f := range a.result.Files {
			if !strings.HasSuffix(f.Name, ".bind") {
				continue
			}
			for n := range a.names(f) {
				if targetOf(n.thing) == of && !yield(n.at) {
					return
				}
			}
		}
		if f := a.file(of.path); declaration && f != nil {
			yield(source.Span{File: f, Start: of.start, End: of.start + len(of.name)})
		}
	}
}

// mention reports whether the files of a unit, or their sidecars, have the name of a target.
func (f snapshot) mention(ctx context.Context, files []string, of target) bool {
	dir := filepath.Dir(files[0])
	all := append(slices.Clone(files), f.filesIn(dir, ".bind")...)
	for _, path := range all {
		if ctx.Err() != nil {
			return false
		}
		if !f.exists(path) {
			continue
		}
		if b, err := f.ReadFile(path); err == nil && strings.Contains(string(b), of.name) {
			return true
		}
	}
	return false
}
