package lint

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rpcrdma/rpcrdma/cmd/internal/diag"
	"github.com/rpcrdma/rpcrdma/cmd/internal/ir"
	"github.com/rpcrdma/rpcrdma/cmd/internal/source"
)

// Options selects what Check reports.
type Options struct {
	Advice  bool          // report style too
	Disable map[Rule]bool // rules to leave out
	Costs   Costs         // memory costs of values; nil if they are not known
}

// Costs returns the memory that decoded values of a unit take.
type Costs interface {
	// Amplification returns the most bytes of memory that a value holds per byte on the wire.
	// It returns 0 if all values have the same size, or if no limit is known.
	Amplification(*ir.Decl) int
	// Memory returns the bytes of a value itself, or of an element of a list.
	Memory(*ir.Type) int
}

// ParseRules returns the rules with the given names.
func ParseRules(names []string) (map[Rule]bool, error) {
	out := map[Rule]bool{}
	for _, n := range names {
		r, ok := ruleNamed(n)
		if !ok {
			hint := "the name of a lint rule"
			if near, found := nearest(n); found {
				hint = near
			}
			return nil, fmt.Errorf("found %s, expected %s", diag.Quote(n), hint)
		}
		out[r] = true
	}
	return out, nil
}

// Check returns the findings on a unit without errors, in order of position. files are
// the files of the unit, whose comments can suppress findings. All findings have the
// severity Warning.
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
	for _, i := range u.Imports {
		for _, d := range i.Decls { // the unit can have copies, with the places of the originals
			l.files[d.Pos.File] = false
		}
	}
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

// linter is the state of one Check.
type linter struct {
	unit    *ir.Unit
	bind    *ir.Bind
	o       Options
	reach   map[*ir.Decl]step // declarations that messages use, each with a way to it
	costs   Costs
	ignores []*ignore
	byLine  map[lineOf][]*ignore
	files   map[*source.File]bool
	out     []diag.Diagnostic
}

// on reports whether a rule is enabled.
func (l *linter) on(r Rule) bool {
	return !l.o.Disable[r] && (l.o.Advice || r.Info().Level == Warning)
}

// finding returns a finding of rule r.
func finding(r Rule, at source.Span, format string, args ...any) diag.Diagnostic {
	i := r.Info()
	return diag.Diagnostic{
		Own:      &diag.Info{Code: i.Code, Name: i.Name, Severity: diag.Warning, Section: i.Section, Fix: i.Fix},
		Severity: diag.Warning, Span: at, Message: fmt.Sprintf(format, args...), Notes: []string{i.Reason},
	}
}

// report records a finding within declaration d, which may be nil. It drops findings of
// disabled rules, findings that a comment suppresses, and findings about declarations that
// the compiler itself adds.
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

// place returns the words for a type written in d: the name of its field, or the argument or
// result.
func place(d *ir.Decl, u ir.Use) string {
	switch {
	case u.Proc != nil && u.Field != nil:
		return "argument of " + u.Proc.Name
	case u.Proc != nil:
		return "result of " + u.Proc.Name
	case u.Field != nil:
		return d.Name + "." + u.Field.Name
	}
	return d.Name
}

// step is the last step of a way from a message to a declaration. Both fields are empty if
// the declaration is a message itself.
type step struct {
	from *ir.Decl // declaration that uses it
	way  string   // argument, result or code point that uses it
}

// reachable returns the declarations that messages use, each with the last step of a
// shortest way to it from a procedure or code point. In a unit with neither, every type is
// taken for a message.
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
		for u := range d.Types() {
			push(u.Type.Ref, step{way: place(d, u)})
		}
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
		for u := range d.Types() {
			push(u.Type.Ref, step{from: d})
		}
	}
	return out
}

// maxWay limits how many types a note on the way to a declaration names.
const maxWay = 6

// via adds to a finding about d a note with the way from a procedure or code point to d.
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
		return f.Note("used by the %s", s.way)
	}
	slices.Reverse(through)
	if len(through) > maxWay {
		through = append(through[:maxWay], "...")
	}
	return f.Note("used by the %s through %s", s.way, strings.Join(through, ", "))
}
