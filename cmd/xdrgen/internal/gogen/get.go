package gogen

import (
	"github.com/dave/jennifer/jen"

	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/ir"
)

// getter writes the decoder of one declaration, or its check-only reader, which
// is the decoder without what it keeps (check.go): so both refuse the same with
// the same words. Like putter it gathers fixed-size items in a run; one length
// check covers the run.
type getter struct {
	g       *gen
	vars    *local
	check   bool   // nothing is kept
	state   string // the parameter that knows the rules: d, the Decoder, or c, the Checker
	buf     string // the buffer's variable
	off     string // the offset's variable
	checked bool   // the bytes of the run are known to be there
	code    []jen.Code
	run     []item
	n       int
	first   place // what the run begins with
	w       bool
}

func (r *getter) block(f func(q *getter)) []jen.Code {
	q := r.sub()
	f(q)
	q.flush()
	return q.code
}

// sub is a getter for the code of a nested block.
func (r *getter) sub() *getter {
	return &getter{g: r.g, vars: r.vars, check: r.check, state: r.state, buf: r.buf, off: r.off}
}

func (g *gen) newGetter() *getter {
	return &getter{g: g, vars: &local{}, state: "d", buf: "b", off: "off"}
}

func (g *gen) newChecker() *getter {
	return &getter{g: g, vars: &local{}, state: "c", check: true, buf: "b", off: "off"}
}

// rules is the Checker that knows the rules.
func (r *getter) rules() *jen.Statement {
	if r.state == "c" {
		return jen.Id("c")
	}
	return jen.Op("&").Id("d").Dot("Rules")
}

// decoder is the Decoder that has the items out of line; there may be none.
func (r *getter) decoder() *jen.Statement {
	if r.state == "c" {
		return jen.Qual(codecPath, "DecoderOf").Call(jen.Id("c"))
	}
	return jen.Id("d")
}

// refuse returns the error where a rule is broken and is in force: leniency
// costs nothing until then.
func (r *getter) refuse(broken *jen.Statement, code string, err jen.Code) jen.Code {
	return jen.If(broken.Op("&&").Qual(codecPath, "Refuses").Call(r.rules(), jen.Qual(xdrPath, code))).Block(r.fail(err))
}

// fail returns err.
func (r *getter) fail(err jen.Code) jen.Code { return jen.Return(jen.Lit(0), err) }

func (r *getter) stmt(c ...jen.Code) { r.code = append(r.code, c...) }

// take adds n bytes to the run, read by statements that look at them.
func (r *getter) take(n int, v place, code ...func(w window) jen.Code) {
	if r.n == 0 {
		r.first = v
	}
	for _, c := range code {
		r.run = append(r.run, item{r.n, c})
	}
	r.n += n
}

// keep adds n bytes to the run, kept by the statement of set, or only passed.
func (r *getter) keep(n int, v place, set func(w window) jen.Code) {
	if r.check {
		r.take(n, v)
		return
	}
	r.take(n, v, set)
}

// then adds a statement that looks at nothing.
func then(c jen.Code) func(window) jen.Code { return func(window) jen.Code { return c } }

func (r *getter) flush() {
	if r.n == 0 {
		return
	}
	if !r.checked {
		r.stmt(r.need(r.n, r.first))
	}
	if len(r.run) > 0 {
		r.stmt(windowed(r.buf, r.off, r.n, &r.w, r.run)...)
	}
	r.stmt(jen.Id(r.off).Op("+=").Lit(r.n))
	r.run, r.n, r.checked = nil, 0, false
}

// need refuses input that has not n more bytes.
func (r *getter) need(n int, v place) jen.Code {
	return jen.If(lacks(r.buf, r.off, jen.Lit(n))).Block(
		r.fail(v.short(jen.Id(r.buf), jen.Id(r.off), jen.Lit(n))))
}

// at is the offset of byte k of the run.
func (r *getter) at(k int) *jen.Statement {
	if k == 0 {
		return jen.Id(r.off)
	}
	return jen.Id(r.off).Op("+").Lit(k)
}

// get writes the decoder for a value of type t at v.
func (r *getter) get(t *ir.Type, v place) {
	switch t.Kind {
	case ir.Bool:
		r.bool(v)
	case ir.Int:
		r.word(v, id("int32"))
	case ir.Uint:
		r.word(v)
	case ir.Hyper:
		r.hyper(v, id("int64"))
	case ir.Uhyper:
		r.hyper(v)
	case ir.Float:
		r.word(v, float32frombits)
	case ir.Double:
		r.hyper(v, float64frombits)
	case ir.Quad:
		r.bytes(16, v)
	case ir.FixedOpaque:
		r.bytes(int(t.Len), v)
	case ir.Opaque, ir.String:
		r.opaque(t, v)
	case ir.FixedArray:
		r.fixedArray(t, v)
	case ir.Array:
		r.array(t, v)
	case ir.Optional:
		r.optional(t, v)
	case ir.ListOf:
		r.list(t.Ref, v, false)
	case ir.ListHead:
		r.list(t.Ref, v, true)
	case ir.Ref:
		r.ref(t, v)
	}
}

// word adds a 32-bit word to the run, converted by each function or type of by in turn.
func (r *getter) word(v place, by ...expr) {
	r.keep(4, v, func(w window) jen.Code { return v.x().Op("=").Add(converted(w.uint32(), by)) })
}

// hyper adds a 64-bit word to the run, converted like a word.
func (r *getter) hyper(v place, by ...expr) {
	r.keep(8, v, func(w window) jen.Code { return v.x().Op("=").Add(converted(w.uint64(), by)) })
}

func converted(x *jen.Statement, by []expr) *jen.Statement {
	for _, f := range by {
		x = f().Call(x)
	}
	return x
}

func float32frombits() *jen.Statement { return jen.Qual("math", "Float32frombits") }

func float64frombits() *jen.Statement { return jen.Qual("math", "Float64frombits") }

// bool adds a word that must be 0 or 1 (RFC 4506 §4.4) to the run.
func (r *getter) bool(v place) {
	k := r.n
	word := r.vars.name("word")
	r.take(4, v,
		func(w window) jen.Code { return jen.Id(word).Op(":=").Add(w.uint32()) },
		// A presence word, too (RFC 8166 §4.3; R28).
		then(r.refuse(jen.Id(word).Op(">").Lit(1), "CodeBool", v.fail("CodeBool", r.at(k), jen.Uint64().Call(jen.Id(word)), jen.Lit(1)))),
	)
	if !r.check {
		r.take(0, v, then(v.x().Op("=").Id(word).Op("!=").Lit(0)))
	}
}

// count adds a word to the run and returns the variable that holds it.
func (r *getter) count(base string, v place) string {
	n := r.vars.name(base)
	r.take(4, v, func(w window) jen.Code { return jen.Id(n).Op(":=").Add(w.uint32()) })
	return n
}

// bytes adds opaque data of fixed length n, whose padding must be zero.
func (r *getter) bytes(n int, v place) {
	if n == 0 {
		return
	}
	pad := (n + 3) &^ 3
	k := r.n
	var c []func(w window) jen.Code
	if !r.check {
		c = append(c, func(w window) jen.Code { return getArray(v, n, w.bytes(0, n)) })
	}
	if pad != n {
		c = append(c, func(w window) jen.Code {
			return r.refuse(jen.Op("!").Qual(codecPath, "ZeroPad").Call(w.whole(), jen.Lit(k), jen.Lit(n)), "CodePadding",
				v.fail("CodePadding", r.at(k+n), jen.Qual(codecPath, "PadBits").Call(w.whole(), jen.Lit(k), jen.Lit(n)), jen.Lit(0)))
		})
	}
	r.take(pad, v, c...)
}

func (r *getter) ref(t *ir.Type, v place) {
	d := t.Ref
	switch {
	case d.Kind == ir.Enum:
		if d.Open {
			r.word(v, func() *jen.Statement { return r.g.declType(d) })
			return
		}
		k, enum := r.n, r.vars.name("enum")
		r.take(4, v,
			func(w window) jen.Code { return jen.Id(enum).Op(":=").Add(r.g.declType(d)).Call(w.uint32()) },
			then(r.refuse(jen.Op("!").Id(enum).Dot("Valid").Call(), "CodeEnum",
				v.fail("CodeEnum", r.at(k), jen.Uint64().Call(jen.Uint32().Call(jen.Id(enum))), jen.Lit(0)))),
		)
		if !r.check {
			r.take(0, v, then(v.x().Op("=").Id(enum)))
		}
	case d.Kind == ir.Typedef && (r.g.inlined(d) || v.site != nil):
		r.typedef(d, v)
	case d.Kind == ir.Struct && d.List == nil && (r.g.inlined(d) || r.g.steps(t) >= 0):
		r.within(d, v)
	case d.Kind == ir.Union && r.g.inlined(d):
		r.within(d, v)
	case r.check && r.g.checkWeight(d) <= passLimit:
		// The runs must be those of the decoder, which calls: or short input would
		// be refused with other words.
		r.flush()
		r.within(d, v)
		r.flush()
	default:
		r.call(d, v)
	}
}

// within reads the struct or union d.
func (r *getter) within(d *ir.Decl, v place) {
	if d.Kind == ir.Union {
		r.g.getUnion(r, d, v)
		return
	}
	r.fields(structFields(d), v)
}

func (r *getter) fields(fs []*ir.Field, v place) {
	for _, f := range fs {
		r.get(f.Type, r.g.field(v, f))
	}
}

// typedef reads through an inlined typedef. Where its Go type is a named
// scalar the value is converted on the way in.
func (r *getter) typedef(d *ir.Decl, v place) {
	if r.check || r.g.basicConversion(d) == nil {
		r.get(d.Type, v)
		return
	}
	named := func() *jen.Statement { return r.g.declType(d) }
	switch t := d.Type.Underlying(); t.Kind {
	case ir.Bool:
		r.bool(v)
	case ir.Int, ir.Uint:
		r.word(v, named)
	case ir.Hyper, ir.Uhyper:
		r.hyper(v, named)
	case ir.Float:
		r.word(v, float32frombits, named)
	case ir.Double:
		r.hyper(v, float64frombits, named)
	}
}

// call calls the codec of declaration d.
func (r *getter) call(d *ir.Decl, v place) {
	r.flush()
	read := jen.Parens(jen.Op("*").Add(r.g.declType(d))).Call(jen.Nil()).Dot("SkipXDR")
	if !r.check {
		read = v.x().Dot("GetXDR")
	}
	r.fallible(jen.Id(r.off), read.Call(jen.Id(r.state), jen.Id(r.buf), jen.Id(r.off)), v)
}

// fallible writes dst, err = call, or without dst err = call, with the error
// wrapped at v.
func (r *getter) fallible(dst *jen.Statement, call jen.Code, v place) {
	r.g.needErr = true
	results := jen.Err()
	if dst != nil {
		results = jen.List(dst, jen.Err())
	}
	r.stmt(attempt(results, call, "err", r.fail(v.wrap(id("err")))))
}

// attempt assigns the results of call, and does fail if the one named err is not nil.
func attempt(results *jen.Statement, call jen.Code, err string, fail jen.Code) jen.Code {
	return jen.If(results.Op("=").Add(call), jen.Id(err).Op("!=").Nil()).Block(fail)
}

// bound refuses a count over the declared maximum.
func (r *getter) bound(t *ir.Type, n string, v place) {
	if t.Bounded && t.Max < 1<<32-1 {
		r.stmt(jen.If(jen.Id(n).Op(">").Add(literal(t.Max))).Block(
			r.fail(v.fail("CodeBound", jen.Id(r.off).Op("-").Lit(4), jen.Uint64().Call(jen.Id(n)), literal(t.Max)))))
	}
}

func (r *getter) opaque(t *ir.Type, v place) {
	n := r.count("n", v)
	r.flush()
	r.bound(t, n, v)
	inline := r.block(func(q *getter) { q.inlineOpaque(n, v) })
	if v.site == nil {
		r.stmt(inline...)
		return
	}
	r.taken(v, jen.Int().Call(jen.Id(n)), inline, func(data string) []jen.Code {
		return []jen.Code{v.x().Op("=").Id(data)}
	})
}

// inlineOpaque reads n bytes and their padding from the stream. The count is
// compared in 64 bits with what is left.
func (r *getter) inlineOpaque(n string, v place) {
	pad := jen.Parens(jen.Uint64().Call(jen.Id(n)).Op("+").Lit(3)).Op("&^").Lit(3)
	left := jen.Uint64().Call(jen.Len(jen.Id(r.buf)).Op("-").Id(r.off))
	size := func() *jen.Statement { return jen.Int().Call(jen.Id(n)) }
	r.stmt(
		jen.If(pad.Op(">").Add(left)).Block(
			r.fail(v.short(jen.Id(r.buf), jen.Id(r.off), jen.Qual(xdrPath, "Padded").Call(size())))),
		r.refuse(jen.Op("!").Qual(codecPath, "ZeroPad").Call(jen.Id(r.buf), jen.Id(r.off), size()), "CodePadding",
			v.fail("CodePadding", jen.Id(r.off).Op("+").Add(size()),
				jen.Qual(codecPath, "PadBits").Call(jen.Id(r.buf), jen.Id(r.off), size()), jen.Lit(0))),
	)
	if !r.check {
		end := func() *jen.Statement { return jen.Id(r.off).Op("+").Add(size()) }
		r.stmt(v.x().Op("=").Qual(codecPath, "Bytes").Call(jen.Id("d"), jen.Id(r.buf).Index(jen.Id(r.off).Op(":").Add(end()).Op(":").Add(end()))))
	}
	r.stmt(jen.Id(r.off).Op("+=").Qual(xdrPath, "Padded").Call(size()))
}

// taken writes the choice between an item out of line, of size bytes, and the
// inline one.
func (r *getter) taken(v place, size *jen.Statement, inline []jen.Code, use func(data string) []jen.Code) {
	data, ok := "_", r.vars.name("ok")
	if !r.check {
		data = r.vars.name("data")
		r.stmt(jen.Var().Id(data).Index().Byte())
	}
	r.stmt(
		jen.Id(ok).Op(":=").False(),
		jen.If(jen.Qual(codecPath, "Reinserts").Call(r.decoder())).Block(
			jen.Var().Id("fault").Add(errPtr()),
			attempt(jen.List(jen.Id(data), jen.Id(ok), jen.Id("fault")),
				jen.Qual(codecPath, "Take").Call(r.decoder(), v.site(), jen.Id(r.off), size), "fault", r.fail(v.wrap(id("fault")))),
		),
	)
	if r.check {
		r.stmt(jen.If(jen.Op("!").Id(ok)).Block(inline...))
		return
	}
	r.stmt(jen.If(jen.Id(ok)).Block(use(data)...).Else().Block(inline...))
}
