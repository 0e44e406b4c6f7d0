package goview

import (
	"maps"
	"slices"

	"github.com/dave/jennifer/jen"

	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/gogen/goexpr"
	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/plan"
)

// Scan writes the scan of a message: a method for each list, which iterates over it and goes on to
// the next place, a method that passes places that are not wanted, and the end.
type Scan struct {
	views
	of      string // the message's name
	name    string // the scan's name
	Maker   string // the function that begins it
	lists   []*plan.Stop
	methods map[*plan.Stop]string // their names
	end     int                   // the place after the message

	code  map[int][]jen.Code // methods, by place
	cases map[int][]jen.Code // the code of method pass at a place
}

// follow is the code after a value in the message: another place, or code that goes on to one.
type follow struct {
	at   int
	code func(p *passer)
}

// WriteScan writes the scan of message t, which has stops.
func WriteScan(p *goexpr.Package, out *jen.File, t *plan.Type, stops *plan.Stops) *Scan {
	w := &Scan{
		views: views{p, out}, of: p.Names.Decl(t.Decl), lists: stops.Lists, end: stops.Count + 1,
		methods: map[*plan.Stop]string{}, code: map[int][]jen.Code{}, cases: map[int][]jen.Code{},
	}
	w.name, w.Maker = p.Names.Fresh(w.of+"Scan"), p.Names.Fresh("Scan"+w.of)
	used := map[string]bool{"Err": true, "End": true}
	for _, l := range w.lists {
		name := w.path(l, "")
		if name == "" {
			name = "All" // the message itself is a list
		}
		for used[name] {
			name += "_"
		}
		used[name] = true
		w.methods[l] = name
	}
	w.begin()
	w.place(0, "front", w.typ(t, stops.Top, follow{at: w.end}))
	for _, num := range slices.Sorted(maps.Keys(w.code)) {
		out.Add(w.code[num]...)
	}
	w.passes()
	w.ends()
	return w
}

// ScannedList is a list that a scan reads.
type ScannedList struct {
	Path   string // the names of the fields that lead to it, each after a dot
	Method string // the method that iterates over it
}

// Lists returns the lists in their order on the wire.
func (w *Scan) Lists() []ScannedList {
	var out []ScannedList
	for _, l := range w.lists {
		out = append(out, ScannedList{w.path(l, "."), w.methods[l]})
	}
	return out
}

// path is the names of the fields that lead to a place, each after sep.
func (w *Scan) path(s *plan.Stop, sep string) string {
	out := ""
	for at := s.Path; at != nil; at = at.Up {
		out = sep + w.pkg.Names.Field(at.Field.Field) + out
	}
	return out
}

// begin writes the type and the function that makes it.
func (w *Scan) begin() {
	v := w.out
	v.Commentf("// %s reads the lists of %s in one pass, in their order on the wire, and", w.name, w.of)
	v.Comment("// checks the bytes that it passes. If they are invalid, it yields no more elements, and End and")
	v.Comment("// Err return the error. See package xdr.")
	v.Type().Id(w.name).Struct(jen.Id("in").Qual(goexpr.Codec, "Scan"))
	v.Commentf("// %s returns a scan of the %s at the front of b.", w.Maker, w.of)
	v.Func().Id(w.Maker).Params(jen.Id("b").Index().Byte()).Id(w.name).Block(
		jen.Return(jen.Id(w.name).Values(jen.Id("in").Op(":").Qual(goexpr.Codec, "Scan").Values(jen.Id("B").Op(":").Id("b")))))
}

// method begins a method of the scan.
func (w *Scan) method(name string) *jen.Statement {
	return jen.Func().Params(jen.Id("s").Op("*").Id(w.name)).Id(name)
}

// in is a field of the state of the scan.
func in(field string) *jen.Statement { return jen.Id("s").Dot("in").Dot(field) }

// stand moves the scan to offset off and a place.
func stand(off jen.Code, at int) jen.Code {
	return jen.List(in("Off"), in("At")).Op("=").List(off, jen.Lit(at))
}

// failed leaves a method of a scan if the input is invalid.
func failed() []jen.Code { return []jen.Code{in("Fail").Call(), jen.Return()} }

// passes writes the method that passes places.
func (w *Scan) passes() {
	var cases []jen.Code
	for _, num := range slices.Sorted(maps.Keys(w.cases)) {
		cases = append(cases, jen.Case(jen.Lit(num)).Block(w.cases[num]...))
	}
	w.out.Comment("// pass skips ahead to a place. It reports false if the scan is beyond it, the message has")
	w.out.Comment("// another arm, or the input is invalid.")
	w.out.Add(w.method("pass").Params(jen.Id("place").Int()).Params(jen.Id("there").Bool()).Block(
		jen.For(in("At").Op("<").Id("place")).Block(jen.Switch(in("At")).Block(cases...)),
		jen.Return(in("At").Op("==").Id("place")),
	))
}

// ends writes the methods with which a scan ends.
func (w *Scan) ends() {
	none := func() *jen.Statement { return jen.Parens(jen.Op("*").Id(w.of)).Call(jen.Nil()) }
	w.out.Comment("// Err returns an error if the part of the message that s has passed is invalid.")
	w.out.Add(w.method("Err").Params().Error().Block(jen.Return(in("Err").Call(none()))))
	w.out.Comment("// End checks the rest of the message. It returns the size or the error that CheckXDR returns.")
	w.out.Add(w.method("End").Params().Params(jen.Int(), jen.Error()).Block(
		jen.If(in("At").Op("!=").Lit(w.end)).Block(jen.Return(jen.Id("s").Dot("rest").Call())),
		jen.Return(in("Off"), jen.Nil())))
	w.out.Comment("// rest is End for a scan that is not at the end of the message.")
	w.out.Add(w.method("rest").Params().Params(jen.Int(), jen.Error()).Block(
		jen.If(jen.Id("s").Dot("pass").Call(jen.Lit(w.end))).Block(jen.Return(in("Off"), jen.Nil())),
		jen.Return(none().Dot("CheckXDR").Call(in("B")))))
}

// typ returns code that skips from the start of t to its first place (recorded in s), or past t to
// f.
func (w *Scan) typ(t *plan.Type, s *plan.Stop, f follow) follow {
	switch t.Op {
	case plan.Struct:
		return w.fields(t.Fields, s, f)
	case plan.Union:
		f = w.join(s, f)
		return follow{code: func(p *passer) {
			p.arms(t, func(q *passer, a *plan.Arm) {
				if a.Field == nil {
					w.goOn(q, f)
					return
				}
				w.goOn(q, w.step(a.Field.Step, s.Fields[a.Field], f))
			})
		}}
	}
	return w.step(t.Body, s, f)
}

// step is typ for a step. If it has no list in it, s is nil.
func (w *Scan) step(x *plan.Step, s *plan.Stop, f follow) follow {
	if s == nil {
		return follow{code: func(p *passer) {
			p.pass(x)
			w.goOn(p, f)
		}}
	}
	switch u := x.Under(); u.Op {
	case plan.Optional:
		f = w.join(s, f)
		return follow{code: func(p *passer) {
			more := p.presence()
			p.stmt(jen.If(jen.Id(more).Op("!=").Lit(0)).
				Block(p.block(func(q *passer) { w.goOn(q, w.step(u.Elem, s.Elem, f)) })...).
				Else().Block(p.block(func(q *passer) { w.goOn(q, f) })...))
		}}
	case plan.Struct, plan.Union:
		return w.typ(u.Of, s, f)
	}
	w.list(s, f)
	return follow{at: s.Num}
}

// fields is typ for the fields of a struct.
func (w *Scan) fields(fs []*plan.Field, s *plan.Stop, f follow) follow {
	if len(fs) == 0 {
		return f
	}
	return w.step(fs[0].Step, s.Fields[fs[0]], w.fields(fs[1:], s, f))
}

// join is the code after a union or optional data. Several ways lead there, so it is a place of its
// own.
func (w *Scan) join(s *plan.Stop, f follow) follow {
	if f.code == nil {
		return f
	}
	w.place(s.Num, "after"+w.path(s, ""), f)
	return follow{at: s.Num}
}

// goOn goes on to f.
func (w *Scan) goOn(p *passer, f follow) {
	if f.code != nil {
		f.code(p)
		return
	}
	p.end()
	p.stmt(stand(jen.Id("off"), f.at))
}

// The largest costs of code between two places that is written where it is used. Beyond, it has a
// method of its own.
const (
	passCost = 12 // in method pass
	listCost = 3  // after a list, in code that should be inlined
)

// place makes method pass go on from a place to f.
func (w *Scan) place(num int, name string, f follow) {
	if f.code == nil {
		w.cases[num] = []jen.Code{in("At").Op("=").Lit(f.at)}
		return
	}
	code, cost := w.segment(f)
	code = append([]jen.Code{scanVars(cost)}, code...)
	if cost > passCost {
		code = w.own(num, name, code)
	}
	w.cases[num] = code
}

// segment is the code that goes on to f, and its cost.
func (w *Scan) segment(f follow) ([]jen.Code, int) {
	cost := 0
	p := &passer{pkg: w.pkg, fn: &goexpr.Function{}, fail: failed, cost: &cost}
	w.goOn(p, f)
	return p.code, cost
}

// scanVars makes the variables that code between places works with.
func scanVars(cost int) jen.Code {
	if cost == 0 { // nothing but items without bytes
		return jen.Id("off").Op(":=").Add(in("Off"))
	}
	return jen.List(jen.Id("b"), jen.Id("off")).Op(":=").List(in("B"), in("Off"))
}

// own gives code a method of its own, and returns its call.
func (w *Scan) own(num int, name string, code []jen.Code) []jen.Code {
	w.code[num] = append(w.code[num], w.method(name).Params().Block(code...), jen.Line())
	return []jen.Code{jen.Id("s").Dot(name).Call()}
}
