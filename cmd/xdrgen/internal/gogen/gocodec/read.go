package gocodec

import (
	"github.com/dave/jennifer/jen"

	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/gogen/goexpr"
	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/plan"
)

// reader reads values into the block: words, counts, opaque data, discriminants. Decoders (getter)
// and check-only readers (checker) use the same methods, so that they refuse the same input with
// the same error. A value without an expression is checked and not kept.
type reader struct {
	readBlock
	pkg   *goexpr.Package
	tail  bool // the arms of a union may end the function
	ended bool // they do
}

// newReader begins the function that reads a value of type t. The parameter state has the rules.
func newReader(p *goexpr.Package, t *plan.Type, state string) *reader {
	r := &reader{pkg: p, tail: t.Op == plan.Union}
	r.readBlock = readBlock{fn: &function{}, state: state, buf: "b", off: "off", compact: t.Compact}
	r.start()
	r.parts.top = true
	return r
}

// block runs f on a reader for a nested block and returns its statements.
func (r *reader) block(f func(q *reader)) []jen.Code {
	q := r.sub()
	f(q)
	q.finish(false)
	return q.code
}

// sub is a reader for the code of a nested block.
func (r *reader) sub() *reader {
	q := &reader{pkg: r.pkg}
	q.readBlock = readBlock{fn: r.fn, state: r.state, buf: r.buf, off: r.off, compact: r.compact, base: r.base}
	q.start()
	return q
}

// word adds a word to the run and returns the variable that holds it.
func (r *reader) word(base string, v value) string {
	n := r.fn.Name(base)
	r.add(4, v, func(w window) jen.Code { return jen.Id(n).Op(":=").Add(w.uint32()) })
	return n
}

// scalar adds a number, bool or enumerator to the run. If the Go type of v is a typedef of a number
// type, the value is converted.
func (r *reader) scalar(s *plan.Step, v value) {
	var named goexpr.Expr
	for ; s.Op == plan.Typedef; s = s.Elem {
		if t := s.Of; t.Converts && named == nil {
			named = func() *jen.Statement { return r.pkg.DeclType(t) }
		}
	}
	if r.isSmall(v) && checkedWord(s) {
		r.checked(s, v)
		return
	}
	switch {
	case s.Op == plan.Bool:
		r.bool(v)
	case s.Op == plan.Enum && !s.Of.Open:
		r.enum(s.Of, v)
	default:
		r.number(s, v, named)
	}
}

// checked reads a value for which checkedWord holds, of a compact type.
func (r *reader) checked(s *plan.Step, v value) {
	r.flush()
	switch {
	case !r.keeps() && s.Op == plan.Bool:
		r.bool(v)
	case !r.keeps() && s.Op == plan.Enum:
		r.enum(s.Of, v)
	case s.Op == plan.Bool:
		r.part(r.runtime("GetBool", true, v.addr()), v)
	default:
		r.part(r.runtime("GetEnum", true, v.addr()), v)
	}
	r.flush()
}

// number adds a number or open enumerator to the run, converted to the type named.
func (r *reader) number(s *plan.Step, v value, named goexpr.Expr) {
	size := s.Min()
	if v.x == nil {
		r.addSmall(size, v, nil)
		return
	}
	r.addSmall(size, v, func() jen.Code { return r.runtime(getNumber(s), false, v.addr()) }, func(w window) jen.Code {
		var x *jen.Statement
		if size == 4 {
			x = w.uint32()
		} else {
			x = w.uint64()
		}
		switch {
		case s.Op == plan.Enum:
			x = r.pkg.DeclType(s.Of).Call(x)
		case s.Number == plan.Float && size == 4:
			x = jen.Qual("math", "Float32frombits").Call(x)
		case s.Number == plan.Float:
			x = jen.Qual("math", "Float64frombits").Call(x)
		case s.Number == plan.Signed && named == nil:
			x = r.pkg.GoType(s).Call(x)
		}
		if named != nil {
			x = named().Call(x)
		}
		return v.x().Op("=").Add(x)
	})
}

// getNumber is the function of the runtime that reads a number.
func getNumber(s *plan.Step) string {
	switch double := s.Min() == 8; {
	case s.Number == plan.Float && double:
		return "GetDouble"
	case s.Number == plan.Float:
		return "GetFloat"
	case double:
		return "GetHyper"
	}
	return "GetWord"
}

// bool adds a word that must be 0 or 1 (RFC 4506 §4.4) to the run.
func (r *reader) bool(v value) {
	k := r.n
	word := r.word("word", v)
	// A presence word, too (RFC 8166 §4.3; R28).
	r.add(0, v, then(r.refuse(jen.Id(word).Op(">").Lit(1), "CodeBool",
		v.fail("CodeBool", r.at(k), jen.Uint64().Call(jen.Id(word)), jen.Lit(1)))))
	if v.x != nil {
		r.add(0, v, then(v.x().Op("=").Id(word).Op("!=").Lit(0)))
	}
}

// enum adds a word that must be an enumerator of t to the run.
func (r *reader) enum(t *plan.Type, v value) {
	k, enum := r.n, r.fn.Name("enum")
	r.add(4, v,
		func(w window) jen.Code { return jen.Id(enum).Op(":=").Add(r.pkg.DeclType(t)).Call(w.uint32()) },
		then(r.refuse(jen.Op("!").Id(enum).Dot("Valid").Call(), "CodeEnum",
			v.fail("CodeEnum", r.at(k), jen.Uint64().Call(jen.Uint32().Call(jen.Id(enum))), jen.Lit(0)))),
	)
	if v.x != nil {
		r.add(0, v, then(v.x().Op("=").Id(enum)))
	}
}

// bytes adds opaque data of fixed length n, whose padding must be zero, to the run.
func (r *reader) bytes(n int, v value) {
	if n == 0 {
		return
	}
	pad := (n + 3) &^ 3
	if r.isSmall(v) && pad != n {
		r.flush()
		if r.keeps() {
			r.part(r.runtime("GetFixed", true, v.x().Index(jen.Op(":"))), v)
			return
		}
		defer r.flush()
	}
	k := r.n
	var c []func(w window) jen.Code
	if v.x != nil {
		c = append(c, func(w window) jen.Code { return getArray(v, n, w.bytes(0, n)) })
	}
	if pad != n {
		c = append(c, func(w window) jen.Code {
			return r.refuse(jen.Op("!").Qual(goexpr.Codec, "ZeroPad").Call(w.whole(), jen.Lit(k), jen.Lit(n)), "CodePadding",
				v.fail("CodePadding", r.at(k+n), jen.Qual(goexpr.Codec, "PadBits").Call(w.whole(), jen.Lit(k), jen.Lit(n)), jen.Lit(0)))
		})
	}
	if pad != n {
		r.add(pad, v, c...)
		return
	}
	r.addSmall(pad, v, func() jen.Code { return r.runtime("GetFixed", true, v.x().Index(jen.Op(":"))) }, c...)
}

// presence adds a presence word to the run, closes the run, and refuses words other than 0 and 1
// (RFC 4506 §4.19). It returns the variable that holds the word.
func (r *reader) presence(v value) string {
	more := r.word("more", v)
	r.flush()
	r.stmt(r.refuse(jen.Id(more).Op(">").Lit(1), "CodeBool", r.noPresence(more, v)))
	return more
}

// noPresence is the error of a presence word, just read, that is neither 0 nor 1.
func (r *reader) noPresence(more string, v value) jen.Code {
	return v.fail("CodeBool", jen.Id(r.off).Op("-").Lit(4), jen.Uint64().Call(jen.Id(more)), jen.Lit(1))
}

// body is the body of a function that reads type t. A type that contains itself counts the levels.
func (r *reader) body(t *plan.Type, err *jen.Statement) *jen.Statement {
	ended := r.finish(r.compact) || r.ended
	if !t.Recursive {
		return body(r.fn, r.code, err, ended)
	}
	enter := jen.If(jen.Err().Op(":=").Qual(goexpr.Codec, "Enter").Call(r.rules(), jen.Id("off")), jen.Err().Op("!=").Nil()).Block(
		jen.Return(jen.Lit(0), jen.Err()))
	leave := jen.Qual(goexpr.Codec, "Leave").Call(r.rules())
	return body(r.fn, append(append([]jen.Code{enter}, r.code...), leave), err, false)
}

// body frames the statements of a function: its results, the variable fault if it is used, and the
// return, unless the statements end the function.
func body(fn *function, code []jen.Code, err *jen.Statement, ended bool) *jen.Statement {
	if fn.usesFault {
		code = append([]jen.Code{jen.Var().Id("fault").Add(errPtr())}, code...)
	}
	if !ended {
		code = fn.leave(code)
	}
	if fn.usesErr {
		return jen.Params(jen.Id("_").Int(), jen.Err().Add(err)).Block(code...)
	}
	return jen.Params(jen.Int(), err).Block(code...)
}

// errPtr is the type of an error in check-only readers. Encoders and decoders have the interface,
// which makes EncodeXDR and DecodeXDR small enough to be inlined.
func errPtr() *jen.Statement { return jen.Op("*").Qual(goexpr.XDR, "Error") }

// call calls a method that reads a value.
func (r *reader) call(on *jen.Statement, method string, v value) {
	r.flush()
	call := on.Dot(method).Call(jen.Id(r.state), jen.Id(r.buf), jen.Id(r.off))
	if r.isSmall(v) && r.keeps() {
		r.part(call, v)
		return
	}
	r.fallible(jen.Id(r.off), call, v)
}
