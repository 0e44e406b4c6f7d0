package gogen

import (
	"maps"
	"slices"

	"github.com/dave/jennifer/jen"

	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/ir"
)

// scan is the scan of message d: a method for each list that iterates over it
// and goes on to the next place, a method that passes places nobody asks for, and
// the end.
type scan struct {
	g       *gen
	d       *ir.Decl
	of      string // the message's name
	name    string // the scan's
	maker   string // the function that begins it
	lists   []*spot
	methods map[*spot]string // theirs
	end     int              // the place behind the message

	code  map[int][]jen.Code // methods, by place
	cases map[int][]jen.Code // what method pass does at a place
}

// follow is what stands behind a value in the message: another place, or code that
// goes on to one.
type follow struct {
	at   int
	code func(p *passer)
}

// scan writes the scan of message d, whose lists s has found below top.
func (g *gen) scan(d *ir.Decl, top *spot, s *spots) *scan {
	w := &scan{
		g: g, d: d, of: g.names.decl[d], lists: s.found, end: s.nums + 1,
		methods: map[*spot]string{}, code: map[int][]jen.Code{}, cases: map[int][]jen.Code{},
	}
	w.name, w.maker = g.names.fresh(w.of+"Scan"), g.names.fresh("Scan"+w.of)
	used := map[string]bool{"Err": true, "End": true}
	for _, l := range w.lists {
		name := l.name
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
	w.place(0, "front", w.decl(d, top, follow{at: w.end}))
	for _, num := range slices.Sorted(maps.Keys(w.code)) {
		g.v.Add(w.code[num]...)
	}
	w.passes()
	w.ends()
	return w
}

// begin writes the type and how it is made.
func (w *scan) begin() {
	v := w.g.v
	v.Commentf("// %s reads the lists of %s in one pass, in their order on the wire, and", w.name, w.of)
	v.Comment("// checks the bytes that it passes. If they are invalid, it yields no more elements, and End and")
	v.Comment("// Err return the error. See package xdr.")
	v.Type().Id(w.name).Struct(jen.Id("in").Qual(codecPath, "Scan"))
	v.Commentf("// %s returns a scan of the %s at the front of b.", w.maker, w.of)
	v.Func().Id(w.maker).Params(jen.Id("b").Index().Byte()).Id(w.name).Block(
		jen.Return(jen.Id(w.name).Values(jen.Id("in").Op(":").Qual(codecPath, "Scan").Values(jen.Id("B").Op(":").Id("b")))))
}

// method begins a method of the scan.
func (w *scan) method(name string) *jen.Statement {
	return jen.Func().Params(jen.Id("s").Op("*").Id(w.name)).Id(name)
}

// in is a field of what the scan stands on.
func in(field string) *jen.Statement { return jen.Id("s").Dot("in").Dot(field) }

// stand leaves the scan at offset off, at a place.
func stand(off jen.Code, at int) jen.Code {
	return jen.List(in("Off"), in("At")).Op("=").List(off, jen.Lit(at))
}

// failed leaves a method of a scan where something is wrong.
func failed() []jen.Code { return []jen.Code{in("Fail").Call(), jen.Return()} }

// passes writes the method that passes places.
func (w *scan) passes() {
	var cases []jen.Code
	for _, num := range slices.Sorted(maps.Keys(w.cases)) {
		cases = append(cases, jen.Case(jen.Lit(num)).Block(w.cases[num]...))
	}
	w.g.v.Comment("// pass skips ahead to a place. It reports false if the scan is beyond it, the message has")
	w.g.v.Comment("// another arm, or the input is invalid.")
	w.g.v.Add(w.method("pass").Params(jen.Id("place").Int()).Params(jen.Id("there").Bool()).Block(
		jen.For(in("At").Op("<").Id("place")).Block(jen.Switch(in("At")).Block(cases...)),
		jen.Return(in("At").Op("==").Id("place")),
	))
}

// ends writes the methods with which a scan ends.
func (w *scan) ends() {
	none := func() *jen.Statement { return jen.Parens(jen.Op("*").Id(w.of)).Call(jen.Nil()) }
	w.g.v.Comment("// Err returns an error if the part of the message that s has passed is invalid.")
	w.g.v.Add(w.method("Err").Params().Error().Block(jen.Return(in("Err").Call(none()))))
	w.g.v.Comment("// End checks the rest of the message. It returns the size or the error that CheckXDR returns.")
	w.g.v.Add(w.method("End").Params().Params(jen.Int(), jen.Error()).Block(
		jen.If(in("At").Op("!=").Lit(w.end)).Block(jen.Return(jen.Id("s").Dot("rest").Call())),
		jen.Return(in("Off"), jen.Nil())))
	w.g.v.Comment("// rest is End for a scan that is not at the end of the message.")
	w.g.v.Add(w.method("rest").Params().Params(jen.Int(), jen.Error()).Block(
		jen.If(jen.Id("s").Dot("pass").Call(jen.Lit(w.end))).Block(jen.Return(in("Off"), jen.Nil())),
		jen.Return(none().Dot("CheckXDR").Call(in("B")))))
}

// decl is what passes the part of d that stands before the first place in it, of
// which s knows, and goes on behind d to f.
func (w *scan) decl(d *ir.Decl, s *spot, f follow) follow {
	switch d.Kind {
	case ir.Struct:
		return w.fields(structFields(d), s, f)
	case ir.Union:
		f = w.join(s, f)
		return follow{code: func(p *passer) {
			p.arms(d, func(q *passer, a *ir.Arm) {
				if a.Field == nil {
					w.goOn(q, f)
					return
				}
				w.goOn(q, w.typ(a.Field.Type, s.fields[a.Field], f))
			})
		}}
	}
	return w.typ(d.Type, s, f)
}

// typ is the same of a type; where no list is in it s is nil.
func (w *scan) typ(t *ir.Type, s *spot, f follow) follow {
	if s == nil {
		return follow{code: func(p *passer) {
			p.pass(t)
			w.goOn(p, f)
		}}
	}
	switch u := t.Underlying(); u.Kind {
	case ir.Optional:
		f = w.join(s, f)
		return follow{code: func(p *passer) {
			more := p.presence()
			p.stmt(jen.If(jen.Id(more).Op("!=").Lit(0)).
				Block(p.block(func(q *passer) { w.goOn(q, w.typ(u.Elem, s.elem, f)) })...).
				Else().Block(p.block(func(q *passer) { w.goOn(q, f) })...))
		}}
	case ir.Ref:
		return w.decl(u.Ref, s, f)
	}
	w.list(s, f)
	return follow{at: s.num}
}

// fields is the same of the fields of a struct.
func (w *scan) fields(fs []*ir.Field, s *spot, f follow) follow {
	if len(fs) == 0 {
		return f
	}
	return w.typ(fs[0].Type, s.fields[fs[0]], w.fields(fs[1:], s, f))
}

// join is what stands behind a union or optional data. Several ways lead there, so
// it is a place of its own.
func (w *scan) join(s *spot, f follow) follow {
	if f.code == nil {
		return f
	}
	w.place(s.num, "after"+s.name, f)
	return follow{at: s.num}
}

// goOn goes on to f.
func (w *scan) goOn(p *passer, f follow) {
	if f.code != nil {
		f.code(p)
		return
	}
	p.end()
	p.stmt(stand(jen.Id("off"), f.at))
}

// Up to which cost the code between two places stands where it is used. Beyond, it
// has a method of its own.
const (
	passCost = 12 // in method pass
	listCost = 3  // behind a list, in code that should be inlined
)

// place makes method pass go on from a place to f.
func (w *scan) place(num int, name string, f follow) {
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
func (w *scan) segment(f follow) ([]jen.Code, int) {
	cost := 0
	p := &passer{g: w.g, vars: &local{}, fail: failed, cost: &cost}
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
func (w *scan) own(num int, name string, code []jen.Code) []jen.Code {
	w.code[num] = append(w.code[num], w.method(name).Params().Block(code...), jen.Line())
	return []jen.Code{jen.Id("s").Dot(name).Call()}
}
