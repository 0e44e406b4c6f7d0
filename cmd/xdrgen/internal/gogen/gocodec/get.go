package gocodec

import (
	"github.com/dave/jennifer/jen"

	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/gogen/goexpr"
	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/plan"
)

// getter writes decoders: it folds over the steps of a type and keeps the values.
type getter struct{ *reader }

// block runs f on a getter for a nested block and returns its statements.
func (r getter) block(f func(q getter)) []jen.Code {
	return r.reader.block(func(q *reader) { f(getter{q}) })
}

// Get writes the results and the body of the decoder for t: it gets v from b at off.
func Get(p *goexpr.Package, t *plan.Type) *jen.Statement {
	r := getter{newReader(p, t, "d")}
	r.get(t.Whole(), self(p, t))
	return r.body(t, jen.Error())
}

// get writes the decoder for v, a value of step s.
func (r getter) get(s *plan.Step, v value) {
	if s.Call {
		r.call(v.x(), "GetXDR", v)
		return
	}
	switch s.Op {
	case plan.Word, plan.Hyper, plan.Bool, plan.Enum:
		r.scalar(s, v)
	case plan.Bytes:
		r.bytes(s.Len, v)
	case plan.Opaque:
		r.opaque(s, v)
	case plan.Loop:
		if s.InRun {
			v.elems(s.Len, func(e value) { r.get(s.Elem, e) })
			return
		}
		r.flush()
		r.getLoop(s, v, false)
	case plan.Array:
		r.array(s, v, func(q *reader, n string) { getter{q}.getElements(s, n, v) })
	case plan.Optional:
		r.getOptional(s, v)
	case plan.List:
		r.getList(s, v)
	case plan.Typedef:
		if s.Of.Converts {
			r.scalar(s, v)
			return
		}
		r.get(s.Elem, v)
	case plan.Struct:
		r.getFields(s.Of.Fields, v)
	case plan.Union:
		r.getUnion(s.Of, v)
	}
}

func (r getter) getFields(fs []*plan.Field, v value) {
	for _, f := range fs {
		r.get(f.Step, v.field(r.pkg, f))
	}
}

// getLoop reads the elements of v, an array or slice of the right length. known says that their
// bytes are known to be there.
func (r getter) getLoop(s *plan.Step, v value, known bool) {
	if r.numbers(s, v, known) {
		return
	}
	l := newEach(r.fn, s, v)
	body := r.block(func(q getter) {
		q.known = known && s.Elem.InRun
		q.get(s.Elem, l.elem)
	})
	r.stmt(l.loop(body)...)
}

// getElements reads the n elements of an array into a slice.
func (r getter) getElements(s *plan.Step, n string, v value) {
	r.fallible(nil, jen.Qual(goexpr.Codec, "Resize").Call(jen.Id("d"), v.addr(), jen.Int().Call(jen.Id(n)), jen.Lit(s.Elem.Memory()), jen.Id(r.off)), v)
	r.getLoop(s, v, s.Elem.Size.Fixed())
}

// getOptional reads the word that says whether data follows, and then the data. Absent data is left
// empty.
func (r getter) getOptional(s *plan.Step, v value) {
	more := r.presence(v)
	_, inner := optional(s, v)
	present := r.block(func(q getter) {
		if s.Pointer {
			q.fallible(v.x(), jen.Qual(goexpr.Codec, "New").Types(r.pkg.GoType(s.Elem)).Call(jen.Id("d"), jen.Lit(s.Elem.Memory()), jen.Id(r.off)), v)
		} else {
			q.stmt(v.x().Dot("Present").Op("=").True())
		}
		q.get(s.Elem, inner)
	})
	read := jen.If(jen.Id(more).Op("!=").Lit(0)).Block(present...).Else()
	if s.Pointer {
		r.stmt(read.Block(v.x().Op("=").Nil()))
		return
	}
	z := &resetter{pkg: r.pkg, fn: &r.fn.Function}
	z.reset(s.Elem, inner.x)
	r.stmt(read.If(v.x().Dot("Present")).Block(append([]jen.Code{v.x().Dot("Present").Op("=").False()}, z.code...)...))
}

// getList reads a linked list into a slice. The word that leads to the next element is in the run
// of the element before it: one length check for both.
func (r getter) getList(s *plan.Step, v value) {
	more := r.lead(s, v)
	size, seq, i, last := jen.Lit(s.Elem.Memory()), r.fn.Name("list"), r.fn.Name("i"), r.fn.Name("p")
	r.stmt(jen.List(jen.Id(seq), jen.Id(i)).Op(":=").List(v.x().Index(jen.Op(":").Cap(v.x())), jen.Lit(0)))
	grow := r.sub()
	if s.Elem.Size.Fixed() {
		grow.fallible(jen.Id(seq), jen.Qual(goexpr.Codec, "ExtendFixed").Call(jen.Id("d"), v.addr(), size, jen.Id(r.buf), jen.Id(r.off), jen.Lit(s.Elem.Min()+4)), v)
	} else {
		grow.fallible(jen.Id(seq), jen.Qual(goexpr.Codec, "Extend").Call(jen.Id("d"), v.addr(), size, jen.Id(r.off)), v)
	}
	body := r.block(func(q getter) {
		q.stmt(jen.If(jen.Id(i).Op("==").Len(jen.Id(seq))).Block(grow.code...))
		if !s.Elem.Empty() {
			q.stmt(jen.Id(last).Op(":=").Op("&").Id(seq).Index(jen.Id(i)))
		}
		elem := v.elem(goexpr.ID(last), goexpr.ID(i))
		if !s.Elem.Selectors() {
			elem = elem.deref()
		}
		q.get(s.Elem, elem)
		q.next(more, v)
	})
	r.whileMore(more, v, append(body, jen.Id(i).Op("++")))
	r.stmt(v.x().Op("=").Add(v.x()).Index(jen.Op(":").Id(i)))
}

// getUnion reads the discriminant, empties the arm that was selected before if it is another, and
// reads the arm.
func (r getter) getUnion(t *plan.Type, v value) {
	field, disc := v.field(r.pkg, t.Disc), r.disc(t, v)
	var empty jen.Code = v.x().Dot("ResetXDR").Call()
	if !t.Compact && !t.Wide() { // 8 % faster for the header of RPC-over-RDMA (ADR 0059)
		empty = r.pkg.Arms(t, field.x, func(a *plan.Arm) []jen.Code {
			z := &resetter{pkg: r.pkg, fn: &r.fn.Function}
			z.arm(t, a, v)
			return z.code
		}, nil)
	}
	r.code = append(r.code, jen.If(disc.x().Op("!=").Add(field.x())).Block(empty, field.x().Op("=").Add(disc.x())))
	r.readArms(t, disc, func(b *reader, a *plan.Arm) {
		q := getter{b}
		if a.Pointer {
			q.newArm(t, a, v)
		}
		q.get(a.Field.Step, v.arm(r.pkg, a))
	})
}

// newArm gives memory to an arm that is held by pointer. The arm keeps the memory that it has,
// except in a type that contains itself: values of many shapes would leave theirs behind.
func (r getter) newArm(t *plan.Type, a *plan.Arm, v value) {
	arm, size := v.field(r.pkg, a.Field), jen.Lit(a.Field.Step.Memory())
	if t.Recursive {
		r.fallible(arm.x(), jen.Qual(goexpr.Codec, "New").Types(r.pkg.GoType(a.Field.Step)).Call(jen.Id("d"), size, jen.Id(r.off)), arm)
		return
	}
	r.fallible(nil, jen.Qual(goexpr.Codec, "Arm").Call(jen.Id("d"), arm.addr(), size, jen.Id(r.off)), arm)
}
