package lint

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/diag"
	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/ir"
	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/source"
)

// Options says what to look for.
type Options struct {
	Advice  bool          // also what is style
	Disable map[Rule]bool // rules that are not wanted
	Costs   Costs         // what values take in memory; nil where that is not known
}

// Costs tells what values of a unit take in memory, once decoded.
type Costs interface {
	Amplification(*ir.Decl) int // bytes in memory for one on the wire, at most; 0 for none
	Memory(*ir.Type) int        // bytes of a value itself, or of an element of a list
}

// ParseRules reads names of rules.
func ParseRules(names []string) (map[Rule]bool, error) {
	out := map[Rule]bool{}
	for _, n := range names {
		r, ok := ruleNamed(n)
		if !ok {
			hint := "the name of a rule"
			if near, found := nearest(n); found {
				hint = near
			}
			return nil, fmt.Errorf("found %s, expected %s", diag.Quote(n), hint)
		}
		out[r] = true
	}
	return out, nil
}

// Check returns the findings on a unit that has no errors, in order of their
// places. files are those of the unit, for the comments that let findings
// pass. All findings have the severity Warning.
func Check(u *ir.Unit, b *ir.Bind, files []*source.File, o Options) []diag.Diagnostic {
	if b == nil {
		b = &ir.Bind{}
	}
	l := &linter{
		unit: u, bind: b, o: o, reach: reachable(u, b), costs: o.Costs,
		byLine: map[lineOf][]*ignore{}, files: map[*source.File]bool{},
	}
	for _, f := range files {
		for _, i := range findIgnores(f) {
			l.ignores = append(l.ignores, i)
			l.byLine[lineOf{f, i.line}] = append(l.byLine[lineOf{f, i.line}], i)
		}
		l.files[f] = true
	}
	l.badIgnores()
	for _, d := range u.Decls {
		l.cost(d)
		l.unions(d)
		l.enums(d)
		l.bools(d)
		l.programs(d)
	}
	l.names()
	l.prefixes()
	l.magic()
	l.unused()
	l.staleIgnores()
	diag.Sort(l.out, files)
	return l.out
}

type linter struct {
	unit    *ir.Unit
	bind    *ir.Bind
	o       Options
	reach   map[*ir.Decl]step // declarations that messages hold, and how they are reached
	costs   Costs
	ignores []*ignore
	byLine  map[lineOf][]*ignore
	files   map[*source.File]bool
	out     []diag.Diagnostic
}

// on reports whether a rule is looked for.
func (l *linter) on(r Rule) bool {
	return !l.o.Disable[r] && (l.o.Advice || r.Info().Level == Warning)
}

// finding makes a finding within a declaration.
func finding(r Rule, at source.Span, format string, args ...any) diag.Diagnostic {
	i := r.Info()
	return diag.Diagnostic{
		Own:      &diag.Info{Code: i.Code, Name: i.Name, Severity: diag.Warning, Section: i.Section, Fix: i.Fix},
		Severity: diag.Warning, Span: at, Message: fmt.Sprintf(format, args...), Notes: []string{i.Reason},
	}
}

// report records a finding within declaration d, unless it is not wanted, a
// comment lets it pass, or it is about what the compiler itself declares.
func (l *linter) report(r Rule, d *ir.Decl, f diag.Diagnostic) {
	if !l.on(r) {
		return
	}
	var owner source.Span
	if d != nil {
		owner = d.Pos
	}
	if !l.files[f.Span.File] || l.ignored(r, f.Span) || l.ignored(r, owner) {
		return
	}
	l.out = append(l.out, f)
}

// fields calls visit with each field of a struct and each arm of a union.
func fields(d *ir.Decl, visit func(f *ir.Field)) {
	for _, f := range d.Fields {
		visit(f)
	}
	for _, a := range d.Arms {
		if a.Field != nil {
			visit(a.Field)
		}
	}
}

// types calls visit with each type that a declaration writes, from the outside
// to the inside, and with the name of what has it.
func types(d *ir.Decl, visit func(t *ir.Type, name string)) {
	walk := func(t *ir.Type, name string) {
		for ; t != nil; t = t.Elem {
			visit(t, name)
		}
	}
	walk(d.Type, d.Name)
	fields(d, func(f *ir.Field) { walk(f.Type, d.Name+"."+f.Name) })
	if d.Kind != ir.Program {
		return
	}
	for _, v := range d.Program.Versions {
		for _, p := range v.Procs {
			for _, a := range p.Args {
				walk(a.Type, "argument of "+p.Name)
			}
			walk(p.Result, "result of "+p.Name)
		}
	}
}

// step is how a declaration is reached: from another, or from the argument or
// result or code point that way names. Neither is set where it is a message.
type step struct {
	from *ir.Decl
	way  string
}

// reachable returns the declarations that messages hold, each with the last
// step to it from a procedure or a code point. In a unit with neither, every
// type is a message of its own.
func reachable(u *ir.Unit, b *ir.Bind) map[*ir.Decl]step {
	out := map[*ir.Decl]step{}
	var queue []*ir.Decl
	push := func(d *ir.Decl, s step) {
		if _, seen := out[d]; d != nil && !seen {
			out[d] = s
			queue = append(queue, d)
		}
	}
	for _, d := range u.Decls {
		if d.Kind != ir.Program {
			continue
		}
		out[d] = step{}
		types(d, func(t *ir.Type, name string) { push(t.Ref, step{way: name}) })
	}
	for _, c := range b.Codes {
		push(c.Decl, step{way: c.Space + " " + c.Const})
	}
	if len(queue) == 0 {
		for _, d := range u.Decls {
			push(d, step{})
		}
	}
	for len(queue) > 0 {
		d := queue[0]
		queue = queue[1:]
		if d.Disc != nil {
			push(d.Disc.Type.Ref, step{from: d})
		}
		types(d, func(t *ir.Type, _ string) { push(t.Ref, step{from: d}) })
	}
	return out
}

// maxWay limits how many types a way names.
const maxWay = 6

// via adds the shortest way from a procedure or code point to a finding.
func (l *linter) via(f diag.Diagnostic, d *ir.Decl) diag.Diagnostic {
	var through []string
	s := l.reach[d]
	for ; s.from != nil; s = l.reach[s.from] {
		through = append(through, s.from.Name)
	}
	if s.way == "" {
		return f
	}
	if len(through) == 0 {
		return f.Note("reached from the %s", s.way)
	}
	slices.Reverse(through)
	if len(through) > maxWay {
		through = append(through[:maxWay], "...")
	}
	return f.Note("reached from the %s through %s", s.way, strings.Join(through, ", "))
}
