package sema

import (
	"github.com/rpcrdma/rpcrdma/cmd/internal/diag"
	"github.com/rpcrdma/rpcrdma/cmd/internal/ir"
	"github.com/rpcrdma/rpcrdma/cmd/internal/source"
	"github.com/rpcrdma/rpcrdma/cmd/internal/syntax"
)

// rpcNumber is a program, version or procedure. In C its name is a constant, because rpcgen writes
// a #define for it.
type rpcNumber struct {
	what  string // "procedure", "version" or "program"
	unit  *unit
	at    source.Span
	value syntax.Value
}

// rpcNumbers returns the programs, versions and procedures of the unit by name. Procedures of
// several versions often have the same name.
func (u *unit) rpcNumbers() map[string][]rpcNumber {
	out := map[string][]rpcNumber{}
	add := func(what string, name syntax.Ident, value syntax.Value) {
		out[name.Name] = append(out[name.Name], rpcNumber{what, u, name.Span, value})
	}
	for _, f := range u.files {
		for _, d := range f.Defs {
			if d.Kind != syntax.Program || d.Broken {
				continue
			}
			add("program", d.Name, d.Value)
			for _, v := range d.Versions {
				add("version", v.Name, v.Number)
				for _, p := range v.Procs {
					add("procedure", p.Name, p.Number)
				}
			}
		}
	}
	return out
}

// numbered returns the programs, versions and procedures that a name can mean at a place: the ones
// in the unit whose text it is, or else in all units that this one includes, or in the unit that
// its sidecar chooses.
func (u *unit) numbered(name string, at source.Span) []rpcNumber {
	home := u.home(at)
	var own, all, chosen []rpcNumber
	for _, n := range home.numbers[name] {
		if home.home(n.at) == home {
			own = append(own, n)
		}
	}
	if len(own) > 0 {
		return own
	}
	from := home.side.from[name].Text
	for _, i := range append(home.imports[:len(home.imports):len(home.imports)], home) {
		all = append(all, i.numbers[name]...)
		if i.name == from {
			chosen = append(chosen, i.numbers[name]...)
		}
	}
	if len(chosen) > 0 {
		return chosen
	}
	return all
}

// numberName is the name of a program, version or procedure of a unit.
type numberName struct {
	owner *unit
	name  string
}

// evalNumber computes the value of a program, version or procedure name that is used as a constant.
// RFC 4506 §6.4 (2) has no such constants, so evalNumber warns once for each name. If several have
// the name, all must have the same number.
func (e *evaluator) evalNumber(v syntax.Value) (constant, bool) {
	all := e.u.numbered(v.Text, v.Span)
	first := all[0]
	counting := numberName{first.unit, v.Text}
	if e.counting[counting] {
		e.report(diag.New(diag.ConstCycle, v.Span, "the number of %s %s is defined by itself", first.what, v.Text).With(first.at, "declared here"))
		return constant{}, false
	}
	e.counting[counting] = true
	defer delete(e.counting, counting)
	var value ir.Value
	for i, n := range all {
		k, ok := e.in(n.unit).eval(n.value)
		switch {
		case !ok:
			return constant{}, false
		case i == 0:
			value = k.Value
		case show(k.Value) != show(value):
			d := diag.New(diag.NotAConst, v.Span, "%s stands for two numbers, %s and %s", v.Text, show(value), show(k.Value)).
				With(first.at, "the first is declared here").With(n.at, "the second is declared here")
			if n.unit != first.unit {
				d = d.Helpf("add to the sidecar %s the line that says which one is meant: \"from %s %s\", or \"from %s %[3]s\"", e.u.sidecar(v.Span.File), first.unit.name, v.Text, n.unit.name)
			}
			e.report(d)
			return constant{}, false
		}
	}
	if e.first(e.u, v.Text) {
		e.report(diag.New(diag.NumberAsConst, v.Span, "%s is a %s, read as the constant %s", v.Text, first.what, show(value)).
			With(first.at, "declared here").Helpf("write %s, or declare a constant for both places", show(value)))
	}
	value.Text = v.Text
	return constant{Value: value}, true
}
