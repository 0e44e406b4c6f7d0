package sema

import (
	"slices"
	"strings"

	"github.com/rpcrdma/rpcrdma/cmd/internal/diag"
	"github.com/rpcrdma/rpcrdma/cmd/internal/source"
	"github.com/rpcrdma/rpcrdma/cmd/internal/syntax"
)

// This file finds declarations that repeat the members, cases or procedures of the declaration that
// they add to: the document has the whole type, and the sidecar says amend.

// parts returns the members, cases and procedures of a definition by name, with their places.
func parts(d *syntax.Def) map[string]source.Span {
	out := map[string]source.Span{}
	for _, m := range d.Members {
		out[m.Name.Name] = m.Name.Span
	}
	for _, a := range d.Arms {
		for _, l := range a.Labels {
			out[l.Text] = l.Span
		}
	}
	for _, v := range d.Versions {
		for _, p := range v.Procs {
			out[v.Name.Name+"."+p.Name.Name] = p.Name.Span
		}
	}
	return out
}

// repeated returns the names of the parts that two definitions have, in the order of the first one.
func repeated(d, to *syntax.Def) []string {
	have, own := parts(to), parts(d)
	var names []string
	for name := range own {
		if _, ok := have[name]; ok {
			names = append(names, name)
		}
	}
	slices.SortFunc(names, func(a, b string) int { return own[a].Start - own[b].Start })
	return names
}

// additions returns the definition without the parts that the included declaration has. It reports
// these, once.
func (a *amender) additions(ch *change, d *syntax.Def) *syntax.Def {
	root := a.root[d.Name.Name]
	names := repeated(d, root.def)
	if len(names) == 0 {
		return d
	}
	own, have := parts(d), parts(root.def)
	word := map[syntax.DefKind]string{syntax.Enum: "member", syntax.Union: "case", syntax.Program: "procedure"}[d.Kind]
	what := word + " " + names[0]
	if n := len(names); n > 1 {
		what = word + "s " + strings.Join(names[:min(n, maxNamed)], ", ")
		if n > maxNamed {
			what += ", ..."
		}
	}
	r := diag.New(diag.AmendConflict, own[names[0]], "%s %s has the %s already", kindName(root.decl.Kind), root.name, what).With(have[names[0]], "declared here")
	if len(names) == len(have) { // nothing is left out
		at := source.Span{File: ch.line.Pos.File, Start: ch.line.Pos.Start, End: ch.line.Pos.Start + len("amend")}
		r = r.Helpf("this is the whole %s: write replace %s in the sidecar", kindName(root.decl.Kind), root.name)
		if len(ch.line.Consts) == 0 {
			r = r.Replace(at, "replace")
		}
	} else {
		r = r.Helpf("remove the parts that are there; or, if this is the whole %s, write replace %s in the sidecar", kindName(root.decl.Kind), root.name)
	}
	a.report(r)
	return without(d, have)
}

// maxNamed limits how many parts a finding names.
const maxNamed = 4

// without returns the definition without some parts.
func without(d *syntax.Def, have map[string]source.Span) *syntax.Def {
	has := func(name string) bool {
		_, ok := have[name]
		return ok
	}
	own := *d
	own.Members = slices.DeleteFunc(slices.Clone(d.Members), func(m *syntax.Member) bool { return has(m.Name.Name) })
	own.Arms = nil
	for _, x := range d.Arms {
		arm := *x
		arm.Labels = slices.DeleteFunc(slices.Clone(x.Labels), func(l syntax.Value) bool { return has(l.Text) })
		if len(arm.Labels) > 0 || len(x.Labels) == 0 {
			own.Arms = append(own.Arms, &arm)
		}
	}
	own.Versions = nil
	for _, x := range d.Versions {
		v := *x
		v.Procs = slices.DeleteFunc(slices.Clone(x.Procs), func(p *syntax.Proc) bool { return has(x.Name.Name + "." + p.Name.Name) })
		own.Versions = append(own.Versions, &v)
	}
	return &own
}
