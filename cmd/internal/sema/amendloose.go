package sema

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/rpcrdma/rpcrdma/cmd/internal/diag"
	"github.com/rpcrdma/rpcrdma/cmd/internal/ir"
	"github.com/rpcrdma/rpcrdma/cmd/internal/source"
	"github.com/rpcrdma/rpcrdma/cmd/internal/syntax"
)

// This file finds the types that loose members and arms belong to. In this order: the last comment
// above that has the name of a type that the sidecar amends, unless it has several of that kind;
// the only such type of that kind; for arms, the only such union whose discriminant has the first
// label; or else, of these or all such unions, the only one whose types of arms end alike.

// piece is one loose member or arm.
type piece struct {
	member *syntax.Member
	arm    *syntax.Arm
	above  [][]string
}

func (p piece) span() source.Span {
	if p.member != nil {
		return p.member.Name.Span
	}
	return p.arm.Span
}

func (p piece) def() *syntax.Def {
	if p.member != nil {
		return &syntax.Def{Kind: syntax.Enum, Span: p.span(), Members: []*syntax.Member{p.member}}
	}
	return &syntax.Def{Kind: syntax.Union, Span: p.span(), Arms: []*syntax.Arm{p.arm}}
}

// loose takes the loose lines of the unit's files.
func (a *amender) loose() {
	byKind := map[ir.DeclKind]*choice{ir.Enum: newChoice(), ir.Union: newChoice()}
	for name, s := range a.root {
		if ch := a.u.amended.changes[name]; ch != nil && !ch.line.Replace && byKind[s.decl.Kind] != nil {
			byKind[s.decl.Kind].put(name)
		}
	}
	for _, c := range byKind {
		slices.Sort(c.names)
	}
	others := map[ir.DeclKind]*choice{ir.Enum: newChoice(), ir.Union: newChoice()}
	for _, b := range a.bases {
		for _, d := range b.decls {
			if c := others[d.Kind]; c != nil && !d.Inner && !a.u.amended.named[d.Name] && !plainWord(d.Name) {
				c.put(d.Name)
			}
		}
	}
	for _, f := range a.u.files {
		for _, l := range f.Loose {
			kind := declKind(l.Def.Kind)
			a.run(l, byKind[kind], others[kind])
		}
	}
}

// plainWord reports whether a name can be a word of prose: it has small letters alone.
func plainWord(name string) bool {
	return strings.IndexFunc(name, func(r rune) bool { return r < 'a' || r > 'z' }) < 0
}

// choice is the types that loose lines can belong to, sorted by name.
type choice struct {
	names []string
	set   map[string]bool
}

func newChoice() *choice { return &choice{set: map[string]bool{}} }

func (c *choice) put(name string) {
	c.names = append(c.names, name)
	c.set[name] = true
}

// lastOf returns the name of the type that the last comment with such a name has, or "". several
// reports that this comment has more than one, so that it does not say which is meant.
func (c *choice) lastOf(comments [][]string) (name string, several bool) {
	for _, words := range slices.Backward(comments) {
		for _, w := range words {
			if c.set[w] && name != w {
				name, several = w, name != ""
			}
			if several {
				return "", true
			}
		}
		if name != "" {
			return name, false
		}
	}
	return "", false
}

// run takes a run of loose members or arms. others are included types that the sidecar does not
// amend.
func (a *amender) run(l *syntax.Loose, types, others *choice) {
	kind := declKind(l.Def.Kind)
	var pieces []piece
	for i, m := range l.Def.Members {
		pieces = append(pieces, piece{member: m, above: l.Above[i]})
	}
	for i, m := range l.Def.Arms {
		pieces = append(pieces, piece{arm: m, above: l.Above[i]})
	}
	g := &guesser{a: a}
	named, other, guessed := "", "", ""
	var open []piece                  // that no type is found for
	elsewhere := map[string][]piece{} // by a type that the sidecar does not amend
	for _, p := range pieces {
		name, several := types.lastOf(p.above)
		switch another, _ := others.lastOf(p.above); {
		case name != "":
			named, other = name, ""
			p.withoutDoc()
		case several:
			named, other = "", ""
		case another != "":
			named, other = "", another
		}
		switch to := named; {
		case other != "":
			elsewhere[other] = append(elsewhere[other], p)
		case to != "":
			a.take(to, p)
		case len(types.names) == 1:
			a.take(types.names[0], p)
		default:
			var certain bool
			if to, certain = g.byLabel(p, types.names); certain {
				a.take(to, p)
				continue
			}
			if to = g.guess(p); to == "" {
				open = append(open, p)
				continue
			}
			if to != guessed {
				a.guessed(to, p)
			}
			guessed = to
			a.take(to, p)
		}
	}
	faulty := l.Def.Broken || len(a.line) < len(a.u.side.bind.Amends) // which was reported
	if len(open) > 0 && !faulty {
		a.which(open, types.names)
	}
	for _, name := range slices.Sorted(maps.Keys(elsewhere)) {
		if open = append(open, elsewhere[name]...); !faulty {
			a.notAmended(name, elsewhere[name])
		}
	}
	a.open[kind] = a.open[kind] || len(open) > 0
	for _, p := range open {
		if p.member != nil { // one finding is enough
			a.u.undeclared.reported[p.member.Name.Name] = true
		}
	}
}

func (a *amender) take(name string, p piece) {
	ch := a.u.amended.changes[name]
	ch.adds = append(ch.adds, p.def())
}

// withoutDoc removes the comment that names the type: it does not describe the line.
func (p piece) withoutDoc() {
	if p.member != nil {
		p.member.Doc = nil
	}
}

// guesser finds the union of an arm by how the names of types end.
type guesser struct {
	a          *amender
	candidates []string
	last       string
	has        map[string]bool   // union and label of the arms so far
	ends       map[string]string // that the types of unions have
}

// byLabel takes the unions whose discriminant has the first label of an arm as the candidates, or
// all unions if no discriminant has it. It returns the union, and true, if there is one such union.
func (g *guesser) byLabel(p piece, unions []string) (string, bool) {
	g.candidates = unions
	if p.arm == nil || len(p.arm.Labels) == 0 {
		return "", false
	}
	enum := g.a.member(p.arm.Labels[0].Text)
	if enum == nil {
		return "", false
	}
	var by []string
	for _, name := range unions {
		if d := g.a.root[name].decl; switchesOn(d, enum) {
			by = append(by, name)
		}
	}
	if len(by) > 0 {
		g.candidates = by
	}
	if len(by) != 1 {
		return "", false
	}
	g.put(by[0], p)
	return by[0], true
}

// switchesOn reports whether the discriminant of a union is an enum, or a copy.
func switchesOn(d, enum *ir.Decl) bool {
	if d.Disc == nil || d.Disc.Type == nil {
		return false
	}
	under := underlying(d.Disc.Type)
	return under != nil && under.Kind == ir.Ref && under.Ref.Original() == enum.Original()
}

// put enters that an arm belongs to a union.
func (g *guesser) put(to string, p piece) {
	if g.has == nil {
		g.has = map[string]bool{}
	}
	g.last = to
	for _, v := range p.arm.Labels {
		g.has[to+" "+v.Text] = true
	}
}

// guess returns the union of an arm, or "".
func (g *guesser) guess(p piece) string {
	if p.arm == nil || len(g.candidates) == 0 || len(p.arm.Labels) == 0 {
		return ""
	}
	ends := map[string]string{}
	for _, name := range g.candidates {
		ends[name] = g.end(name)
	}
	to := ""
	if len(p.arm.Decls) == 1 && p.arm.Decls[0].Type.Kind == syntax.Named {
		to = onlyEnd(ends, p.arm.Decls[0].Type.Name)
	} else if label := p.arm.Labels[0].Text; g.last != "" && slices.Contains(g.candidates, g.last) && !g.has[g.last+" "+label] {
		to = g.last // an arm without data stays with the one before it
	}
	if to != "" {
		g.put(to, p)
	}
	return to
}

// end returns the end that the types of a union's arms have in common, which is computed once.
func (g *guesser) end(name string) string {
	if g.ends == nil {
		g.ends = map[string]string{}
	}
	end, ok := g.ends[name]
	if !ok {
		end = commonEnd(g.a.root[name].decl)
		g.ends[name] = end
	}
	return end
}

// onlyEnd returns the only one of some names whose end a text has, or "".
func onlyEnd(ends map[string]string, text string) string {
	to := ""
	for name, end := range ends {
		if end != "" && strings.HasSuffix(text, end) {
			if to != "" {
				return ""
			}
			to = name
		}
	}
	return to
}

// minEnd is the least number of letters that the names of types have in common at their end.
const minEnd = 3

// commonEnd returns the letters that all type names in a union end with, or "".
func commonEnd(d *ir.Decl) string {
	end, n := "", 0
	for _, a := range d.Arms {
		if a.Field == nil || a.Field.Type == nil || a.Field.Type.Ref == nil {
			continue
		}
		name := a.Field.Type.Ref.Name
		if n++; n == 1 {
			end = name
			continue
		}
		for !strings.HasSuffix(name, end) {
			end = end[1:]
		}
	}
	if n < 2 || len(end) < minEnd {
		return ""
	}
	return end
}

// guessed warns of lines whose type is guessed, and proposes the comment that names it.
func (a *amender) guessed(name string, p piece) {
	at := p.span()
	d := diag.New(diag.AmendGuess, at, "the arms from here are taken to belong to union %s, since their types end with %s", name, commonEnd(a.root[name].decl)).
		With(a.root[name].span, "declared here").Helpf("write a comment above them: /* In %s: */", name)
	if line, ok := lineStart(at); ok {
		d = d.Replace(line, "/* In "+name+": */\n")
	}
	a.report(d)
}

// lineStart returns the empty span at the start of a place's line, if nothing precedes the place.
func lineStart(at source.Span) (source.Span, bool) {
	start := bytes.LastIndexByte(at.File.Text[:at.Start], '\n') + 1
	return source.Span{File: at.File, Start: start, End: start}, len(bytes.TrimSpace(at.File.Text[start:at.Start])) == 0
}

// notAmended reports lines whose comment names a type that the sidecar does not amend.
func (a *amender) notAmended(name string, lines []piece) {
	s := a.u.lookup(name)
	d := diag.New(diag.AmendWhich, lines[0].span(), "the comment above says that this line adds to %s %s, which the sidecar does not amend", kindName(s.decl.Kind), name).
		With(s.span, "declared here").
		Helpf("add to the sidecar %s the line \"amend %s\"; or name in the comment the type that is meant", a.u.sidecar(lines[0].span().File), name)
	a.report(a.withLines(d, []string{name}))
}

// which reports lines that no type was found for, and proposes types.
func (a *amender) which(open []piece, candidates []string) {
	first := open[0]
	what, into, kind := "member", "an enum", ir.Enum
	if first.arm != nil {
		what, into, kind = "arm", "a union", ir.Union
	}
	text := fmt.Sprintf("this line adds a %s to %s of an included unit: which one?", what, into)
	if what == "arm" {
		text = strings.Replace(text, "a arm", "an arm", 1)
	}
	switch {
	case len(a.u.imports) == 0:
		text = fmt.Sprintf("this line is in no %s", strings.TrimPrefix(strings.TrimPrefix(into, "an "), "a "))
	case len(open) > 1:
		text = fmt.Sprintf("these %d lines add %ss to %s of an included unit: which one?", len(open), what, into)
	}
	d := diag.New(diag.AmendWhich, first.span(), "%s", text)
	if len(candidates) > 0 {
		d = d.Helpf("write a comment above them with the name of the type, one of %s: /* In %s: */", strings.Join(shortList(candidates), ", "), candidates[0])
		if line, ok := lineStart(first.span()); ok && len(candidates) == 1 {
			d = d.Replace(line, "/* In "+candidates[0]+": */\n")
		}
		a.report(d)
		return
	}
	other := "if it is a constant, write const " + first.span().Text() + " = VALUE;"
	if first.arm != nil {
		other = "if it belongs to a union above, remove an extra } there"
	} else if v := first.member.Value; v != nil {
		other = fmt.Sprintf("if it is a constant, write const %s = %s;", first.member.Name.Name, v.Text)
	}
	proposals := []string(nil)
	if a.advice.may() {
		proposals = a.propose(open, kind)
	}
	sidecar := a.u.sidecar(first.span().File)
	switch {
	case len(proposals) > 0:
		d = d.Helpf("add to the sidecar %s the line \"amend %s\"", sidecar, strings.Join(proposals, "\" and the line \"amend "))
		d = a.withLines(d, proposals)
	case len(a.u.imports) == 0:
		d = d.Helpf("to add it to %s of another unit, include the file that declares it, #include \"UNIT/FILE.x\", and add to the sidecar %s a line \"amend NAME\"", into, sidecar)
	default:
		d = d.Helpf("add to the sidecar %s a line \"amend NAME\" with the name of the type", sidecar)
	}
	a.report(d.Note("%s", other))
}

// withLines adds lines to the sidecar as the fix of a finding, if there is a sidecar. Each line is
// in one fix only.
func (a *amender) withLines(d diag.Diagnostic, names []string) diag.Diagnostic {
	if a.side == nil {
		return d
	}
	text := ""
	for _, name := range names {
		if !a.fixed[name] {
			text += "amend " + name + "\n"
		}
		a.fixed[name] = true
	}
	if text == "" {
		return d
	}
	end := len(a.side.Text)
	if end > 0 && a.side.Text[end-1] != '\n' {
		text = "\n" + text
	}
	return d.Replace(source.Span{File: a.side, Start: end, End: end}, text)
}

// shortList returns at most four names.
func shortList(names []string) []string { return names[:min(len(names), 4)] }

// propose returns the types that loose lines may belong to.
func (a *amender) propose(open []piece, kind ir.DeclKind) []string {
	seen := map[string]bool{}
	var decls []*ir.Decl
	for _, b := range slices.Backward(a.bases) {
		for _, d := range b.decls {
			if d.Kind == kind && !d.Inner && !seen[d.Name] {
				seen[d.Name] = true
				decls = append(decls, d)
			}
		}
	}
	if kind == ir.Enum {
		if len(decls) == 1 {
			return []string{decls[0].Name}
		}
		if best := likeMembers(decls, open[0].member.Name.Name); best != nil {
			return []string{best.Name}
		}
		return nil
	}
	return a.proposeUnions(decls, open)
}

// likeMembers returns the enum with a member whose name begins most like a name, up to an
// underscore, or nil.
func likeMembers(enums []*ir.Decl, name string) *ir.Decl {
	var best *ir.Decl
	score := 0
	for _, d := range enums {
		for _, m := range d.Members {
			n := 0
			for n < len(m.Name) && n < len(name) && m.Name[n] == name[n] {
				n++
			}
			if n = strings.LastIndexByte(name[:n], '_') + 1; n > score {
				best, score = d, n
			}
		}
	}
	return best
}

// proposeUnions returns the unions that arms may belong to: those whose discriminant is the enum
// of the first label, and of these, if there are several, those whose types end like the arms'.
func (a *amender) proposeUnions(unions []*ir.Decl, open []piece) []string {
	if len(open[0].arm.Labels) == 0 {
		return nil
	}
	enum := a.enumOf(open[0].arm.Labels[0].Text)
	if enum == nil {
		return nil
	}
	ends := map[string]string{}
	for _, d := range unions {
		if switchesOn(d, enum) {
			ends[d.Name] = commonEnd(d)
		}
	}
	found := map[string]bool{}
	for _, p := range open {
		if len(p.arm.Decls) == 1 && p.arm.Decls[0].Type.Kind == syntax.Named {
			if to := onlyEnd(ends, p.arm.Decls[0].Type.Name); to != "" {
				found[to] = true
			}
		}
	}
	if len(found) == 0 && len(ends) <= maxProposed {
		for name := range ends {
			found[name] = true
		}
	}
	var out []string
	for name := range found {
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}

// maxProposed is the number of unions above which none is proposed.
const maxProposed = 4

// member returns the enum that a label is a member of, with the additions so far, or nil.
func (a *amender) member(label string) *ir.Decl {
	if s := a.u.lookup(label); s != nil && s.member != nil {
		return s.decl
	}
	for name, ch := range a.u.amended.changes {
		for _, d := range ch.adds {
			for _, m := range d.Members {
				if m.Name.Name == label {
					return a.root[name].decl
				}
			}
		}
	}
	return nil
}

// enumOf returns the enum that a label is a member of, or would be by its name.
func (a *amender) enumOf(label string) *ir.Decl {
	if d := a.member(label); d != nil {
		return d
	}
	var enums []*ir.Decl
	for _, b := range slices.Backward(a.bases) {
		for _, d := range b.decls {
			if d.Kind == ir.Enum && d.Of == nil {
				enums = append(enums, d)
			}
		}
	}
	return likeMembers(enums, label)
}
