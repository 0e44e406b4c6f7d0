package gonames

import (
	"cmp"
	"go/token"
	"slices"
	"strings"

	"github.com/rpcrdma/rpcrdma/cmd/internal/diag"
	"github.com/rpcrdma/rpcrdma/cmd/internal/ir"
	"github.com/rpcrdma/rpcrdma/cmd/internal/source"
	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/plan"
)

// Names holds the Go names of a unit (D3): prefixes of the sidecar are dropped, enumerators are
// qualified by their enum, renames are final.
type Names struct {
	decl   map[*ir.Decl]string
	member map[*ir.Member]string
	field  map[*ir.Field]string
	vers   map[*ir.Version]string
	proc   map[*ir.Proc]string
	method map[*ir.Proc]string // of stubs
	stub   map[*ir.Version]*Stubs
	view   map[*ir.Decl]string
	site   map[*ir.Field]string
	used   map[string]bool       // of the scope added last: the unit's own
	all    map[string][]*ir.Decl // of the imports so far, by XDR name
	why    map[any]string        // reasons for other names than the rules give
}

func New() *Names {
	return &Names{
		decl: map[*ir.Decl]string{}, member: map[*ir.Member]string{},
		field: map[*ir.Field]string{}, view: map[*ir.Decl]string{}, site: map[*ir.Field]string{},
		vers: map[*ir.Version]string{}, proc: map[*ir.Proc]string{}, method: map[*ir.Proc]string{},
		stub: map[*ir.Version]*Stubs{},
		all:  map[string][]*ir.Decl{},
		why:  map[any]string{},
	}
}

// Decl returns the name of a declaration in the unit or its imports, without the package.
func (n *Names) Decl(d *ir.Decl) string { return n.decl[d] }

// View returns the name of a declaration's view, or "" if there is no view.
func (n *Names) View(d *ir.Decl) string { return n.view[d] }

// Site returns the name of the constant for a placement site, without the package.
func (n *Names) Site(f *ir.Field) string { return n.site[f] }

// Member returns the name of an enumerator.
func (n *Names) Member(m *ir.Member) string { return n.member[m] }

// Field returns the name of a field, an arm or a discriminant.
func (n *Names) Field(f *ir.Field) string { return n.field[f] }

// Version returns the name of the constant for the number of a version.
func (n *Names) Version(v *ir.Version) string { return n.vers[v] }

// Proc returns the name of the constant for the number of a procedure.
func (n *Names) Proc(p *ir.Proc) string { return n.proc[p] }

// Method returns the name of a procedure's method in stubs.
func (n *Names) Method(p *ir.Proc) string { return n.method[p] }

// Stubs returns the names of the stubs for a version.
func (n *Names) Stubs(v *ir.Version) *Stubs { return n.stub[v] }

// explain records why a declaration, or a part of one, has its name.
func (n *Names) explain(part any, renamed, met bool) {
	switch {
	case renamed:
		n.why[part] = WhyRename
	case met:
		n.why[part] = WhyCollision
	}
}

// Fresh makes a name that is not used yet. The document's names are used before all others.
func (n *Names) Fresh(name string) string {
	for n.used[name] {
		name += "_"
	}
	n.used[name] = true
	return name
}

// taken are the names that a generated package may declare in addition to the document's names.
var taken = map[string]bool{"Extension": true, "DDPBindings": true}

// methods are the method names of generated types. No field may have one of these names.
var methods = map[string]bool{
	"EncodeXDR": true, "DecodeXDR": true, "XDRSize": true, "ReducedXDRSize": true, "AppendBinary": true,
	"MarshalBinary": true, "UnmarshalBinary": true, "PutXDR": true, "GetXDR": true,
	"ResetXDR": true, "CheckXDR": true, "SkipXDR": true, "XDRMaxSize": true, "String": true, "Valid": true,
	"Clone": true, "Equal": true, "EncodeTo": true, "DecodeFrom": true,
	"MarshalJSON": true, "UnmarshalJSON": true, "XDREnum": true,
}

// Add names the declarations of one scope: of the unit itself, or of an import. If own is set, it
// reports clashes.
func (n *Names) Add(decls []*ir.Decl, b *ir.Bind, own bool) []diag.Diagnostic {
	if b == nil {
		b = &ir.Bind{}
	}
	r := renamer{
		renames: map[string]string{}, prefixes: map[string]bool{}, given: map[string]bool{},
		used: map[string]source.Span{}, tops: map[string]bool{}, own: own,
	}
	r.read(b)
	n.inherit(&r, decls)
	for _, d := range decls {
		usual := r.typeNames(d.Name)
		switch d.Kind {
		case ir.Const:
			usual = []string{r.top(d.Name), r.second(d.Name)}
		case ir.Program:
			usual = []string{r.program(d.Name), r.second(d.Name)}
		}
		for _, g := range usual {
			r.tops[g] = true
		}
	}
	// Types come first: if a constant and a type have the same name, the constant takes another.
	// Of the types, those come first that are spelled as in Go, and then those without a second
	// choice.
	for rank := range 3 {
		for _, d := range decls {
			names := r.typeNames(d.Name)
			if d.Kind == ir.Const || d.Kind == ir.Program || typeRank(d.Name, names) != rank {
				continue
			}
			n.claim(&r, d, names...)
			n.addFields(&r, d)
		}
	}
	for _, d := range decls {
		if d.Kind == ir.Enum {
			names, met := r.enumerators(d, n.decl[d])
			for i, m := range d.Members {
				renamed := r.member(d, m) != ""
				second := ""
				if !renamed {
					second = r.second(m.Name)
				}
				n.member[m] = r.claim(m.Name, m.Pos, renamed, names[i], second)
				n.explain(m, renamed, met || n.member[m] != names[i])
			}
		}
	}
	for _, d := range decls {
		switch d.Kind {
		case ir.Const:
			n.claim(&r, d, r.top(d.Name), r.second(d.Name))
		case ir.Program:
			n.claim(&r, d, r.program(d.Name), r.second(d.Name))
		}
	}
	n.addProcs(&r, decls)
	n.addStubs(&r, decls)
	n.used = map[string]bool{}
	for name := range r.used {
		n.used[name] = true
	}
	for _, d := range decls {
		switch usual := n.decl[d] + "List"; {
		case d.List == nil:
		case d.List.Single && strings.HasSuffix(n.decl[d], "List"): // which no element has
			n.decl[d.List.Whole] = n.decl[d]
			n.why[d.List.Whole] = n.why[d]
		default:
			n.decl[d.List.Whole] = n.Fresh(usual)
			n.explain(d.List.Whole, false, n.decl[d.List.Whole] != usual)
		}
	}
	for _, d := range decls {
		if plan.HasView(d) {
			n.view[d] = n.Fresh(n.decl[d] + "View")
		}
	}
	for _, x := range b.DDP {
		if x.Field != nil && n.site[x.Field] == "" && n.decl[x.Owner] != "" {
			n.site[x.Field] = n.Fresh("Site" + n.decl[x.Owner] + n.field[x.Field])
		}
	}
	if !own {
		for _, d := range decls {
			n.all[d.Name] = append(n.all[d.Name], d)
		}
	}
	return r.diags
}

// typeRank returns when a type with these Go names takes one: 0 for the first.
func typeRank(xdr string, names []string) int {
	switch {
	case names[0] == xdr:
		return 0
	case len(names) == 1:
		return 1
	}
	return 2
}

// claim names a declaration: the first name that is free.
func (n *Names) claim(r *renamer, d *ir.Decl, names ...string) {
	renamed := r.rename(d.Name) != ""
	n.decl[d] = r.claim(d.Name, d.Pos, renamed, names...)
	n.explain(d, renamed, n.decl[d] != names[0])
}

func (n *Names) addFields(r *renamer, d *ir.Decl) {
	var fields []*ir.Field
	seen := map[*ir.Field]bool{}
	add := func(f *ir.Field) {
		if f != nil && n.field[f] == "" && !seen[f] {
			seen[f] = true
			fields = append(fields, f)
		}
	}
	add(d.Disc)
	for _, f := range d.Fields {
		add(f)
	}
	for _, a := range d.Arms {
		add(a.Field)
	}
	used, given, spelled := map[string]source.Span{}, map[string]bool{}, map[string]bool{}
	names := r.fields(d, fields)
	for i, f := range fields {
		given[r.rename(d.Name+"."+f.Name)] = true
		spelled[f.Name] = spelled[f.Name] || f.Name == names[i]
	}
	free := func(g string) bool { return !methods[g] && !used[g].Valid() && !given[g] && !spelled[g] }
	for i, g := range names {
		f, met := fields[i], false
		if r.rename(d.Name+"."+f.Name) == "" {
			met = methods[g] || !given[g] && (used[g].Valid() || spelled[g] && f.Name != g)
		}
		for first := true; met && (first || !free(g)); first = false { // string_ and String
			g += "_"
		}
		if methods[g] {
			r.clash(f.Name, d.Name+"."+f.Name, g, source.Span{}, f.Pos)
		}
		if first, dup := used[g]; dup {
			r.clash(f.Name, d.Name+"."+f.Name, g, first, f.Pos)
		}
		used[g] = f.Pos
		n.field[f] = g
		n.explain(f, r.rename(d.Name+"."+f.Name) != "", met)
	}
}

type renamer struct {
	renames  map[string]string // of the sidecar: XDR name to Go name
	prefixes map[string]bool   // of the sidecar
	lengths  []int             // of the prefixes, longest first
	given    map[string]bool   // Go names at package level that renames gave

	used  map[string]source.Span
	tops  map[string]bool // Go names that declarations would have
	own   bool
	diags []diag.Diagnostic
}

// claim takes the first of some Go names at package level that is free. Empty names do not count.
func (r *renamer) claim(xdr string, pos source.Span, renamed bool, names ...string) string {
	g := names[0]
	for _, other := range names[1:] {
		if other != "" && r.has(g) {
			g = other
		}
	}
	return r.take(xdr, xdr, g, names[0], pos, renamed)
}

// take takes name g for the declaration or part with that key in the sidecar. If g is taken, it
// adds underscores to the usual name. A name that a rename gives stays, and no other takes it.
func (r *renamer) take(xdr, key, g, usual string, pos source.Span, renamed bool) string {
	switch {
	case r.has(g) && (renamed || r.given[g]):
		r.clash(xdr, key, g, r.used[g], pos)
	case r.has(g):
		g = r.apart(usual)
	}
	r.used[g] = pos
	r.given[g] = r.given[g] || renamed
	return g
}

// apart returns a name with underscores that is free, and is the usual one for nothing else.
func (r *renamer) apart(g string) string {
	for g += "_"; r.has(g) || r.tops[g]; {
		g += "_"
	}
	return g
}

func (r *renamer) has(g string) bool {
	_, used := r.used[g]
	return used || taken[g]
}

// clash reports two names that are equal in Go, and proposes the rename.
func (r *renamer) clash(xdr, key, g string, first, pos source.Span) {
	if !r.own {
		return
	}
	d := diag.New(diag.GoName, pos, "%s becomes %s in Go, which is taken", xdr, g)
	if first.Valid() {
		d = d.With(first, "taken here")
	} else {
		d = d.Note("generated code has a declaration or a method of this name")
	}
	free := g + "X"
	for r.has(free) || r.tops[free] {
		free += "X"
	}
	r.diags = append(r.diags, d.Helpf("use the flag -rename %s=%s, or for good the line \"rename %s %s\" in the sidecar, with this name or another", key, free, key, free))
}

// read reads the renames and prefixes of a sidecar. If one name has two renames, the first counts.
func (r *renamer) read(b *ir.Bind) {
	for _, x := range b.Renames {
		if r.renames[x.XDR] == "" {
			r.renames[x.XDR] = x.GoName
		}
	}
	for _, p := range b.Prefixes {
		r.prefixes[p.Text] = true
		r.lengths = append(r.lengths, len(p.Text))
	}
	slices.Sort(r.lengths)
	r.lengths = slices.Compact(r.lengths)
	slices.Reverse(r.lengths)
}

func (r *renamer) rename(xdr string) string { return r.renames[xdr] }

// top is the Go name of a declaration, without prefixes.
func (r *renamer) top(xdr string) string {
	if g := r.rename(xdr); g != "" {
		return g
	}
	return Camel(r.strip(xdr))
}

// fields returns the Go names of the fields or arms of d: without the word at the front that all
// have as a substitute for a scope (csa_flags of CREATE_SESSION4args).
func (r *renamer) fields(d *ir.Decl, fields []*ir.Field) []string {
	names := make([]string, len(fields))
	for i, f := range fields {
		names[i] = r.strip(f.Name)
	}
	for i, ws := range scoped(d.Name, names) {
		if names[i] = r.rename(d.Name + "." + fields[i].Name); names[i] == "" {
			names[i] = camelWords(ws)
		}
	}
	return names
}

// enumerators returns the Go names of an enum's members: the enum's name, then the member's name
// without the words that repeat it. met reports that some words stay because a name without them is
// taken.
func (r *renamer) enumerators(d *ir.Decl, enum string) (names []string, met bool) {
	names = make([]string, len(d.Members))
	for i, m := range d.Members {
		names[i] = r.strip(m.Name)
	}
	short, met := own(r.called(d.Name), names, func(ws []string) bool { return r.has(enum + camelWords(ws)) })
	for i, ws := range short {
		if names[i] = r.member(d, d.Members[i]); names[i] == "" {
			names[i] = enum + camelWords(ws)
		}
	}
	return names, met
}

// member returns the sidecar's name of an enumerator, which may be given with its enum, or "".
func (r *renamer) member(d *ir.Decl, m *ir.Member) string {
	return cmp.Or(r.rename(d.Name+"."+m.Name), r.rename(m.Name))
}

// typeNames returns the Go names of a type in the order of preference. The T of C's foo_t is there
// where Foo is the name of another type.
func (r *renamer) typeNames(xdr string) []string {
	usual := r.top(xdr)
	if bare, t := strings.CutSuffix(r.strip(xdr), "_t"); t && r.rename(xdr) == "" && strings.Trim(bare, "_") != "" {
		return []string{Camel(bare), usual}
	}
	if second := r.second(xdr); second != "" {
		return []string{usual, second}
	}
	return []string{usual}
}

// called returns the words of a name in Go: the name in the sidecar, or the XDR name without
// prefix.
func (r *renamer) called(xdr string) string {
	if g := r.rename(xdr); g != "" {
		return g
	}
	return r.strip(xdr)
}

// second returns the name to take if the usual one is taken, or "": the spelling in the document if
// Go would export it (FATTR4_TYPE where there is fattr4_type), or an underscore at the end instead
// of at the front (struct _quad where there is typedef quad).
func (r *renamer) second(xdr string) string {
	switch {
	case r.rename(xdr) != "":
		return ""
	case token.IsExported(xdr):
		return xdr
	case strings.HasPrefix(xdr, "_"):
		return r.top(xdr) + "_"
	}
	return ""
}

// strip drops the longest listed prefix that leaves a name.
func (r *renamer) strip(xdr string) string {
	for _, n := range r.lengths {
		if n <= len(xdr) && r.prefixes[xdr[:n]] && strings.Trim(xdr[n:], "_") != "" {
			return xdr[n:]
		}
	}
	return xdr
}
