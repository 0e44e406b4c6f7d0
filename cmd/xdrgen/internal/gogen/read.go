package gogen

import (
	"github.com/dave/jennifer/jen"

	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/plan"
)

// reader writes decoders (get.go) and check-only readers (check.go). Both read words, counts and
// opaque data by the methods of this file, so that they refuse the same input with the same error.
// A value without an expression is checked and not kept. Like putter, reader joins words to a run,
// which has one length check.
type reader struct {
	g     *gen
	fn    *function
	state string // the parameter with the rules: d, the Decoder, or c, the Checker
	buf   string // the variable with the buffer
	off   string // the variable with the offset
	known bool   // the bytes of the run are known to be there
	code  []jen.Code
	run   []item
	n     int   // bytes in the run
	first value // the run begins with it
	w     bool  // w is declared in this block

	compact bool // the type that is read is compact
	base    int  // the number of indices of its value
	tail    bool // the arms of a union may end the function
	ended   bool // they do
	parts   calls
	items   int         // in the run
	few     []smallItem // those that can be parts
}

func newReader(g *gen, t *plan.Type, state string) *reader {
	r := &reader{g: g, fn: &function{}, state: state, buf: "b", off: "off", compact: t.Compact}
	r.tail = t.Op == plan.Union
	r.start().parts.top = true
	return r
}

func (r *reader) start() *reader {
	r.parts = calls{fn: r.fn, off: r.off, fail: r.fail}
	return r
}

// block runs f on a reader for a nested block and returns its statements.
func (r *reader) block(f func(q *reader)) []jen.Code {
	q := r.sub()
	f(q)
	q.finish(false)
	return q.code
}

// finish writes the end of a block. It reports whether that ends the function, if it may do so.
func (r *reader) finish(tail bool) (ended bool) {
	r.flush()
	if tail {
		last := r.parts.end()
		r.code = append(r.code, last...)
		ended = last != nil
	}
	r.stmt()
	return ended
}

// sub is a reader for the code of a nested block.
func (r *reader) sub() *reader {
	q := &reader{g: r.g, fn: r.fn, state: r.state, buf: r.buf, off: r.off, compact: r.compact, base: r.base}
	return q.start()
}

// rules is the Checker with the rules.
func (r *reader) rules() *jen.Statement {
	if r.state == "c" {
		return jen.Id("c")
	}
	return jen.Op("&").Id("d").Dot("Rules")
}

// decoder is the Decoder that has the items out of line. A Checker may have none.
func (r *reader) decoder() *jen.Statement {
	if r.state == "c" {
		return jen.Qual(codecPath, "DecoderOf").Call(jen.Id("c"))
	}
	return jen.Id("d")
}

// refuse returns the error if a rule is broken and is in force: leniency costs nothing until then.
func (r *reader) refuse(broken *jen.Statement, code string, err jen.Code) jen.Code {
	return jen.If(broken.Op("&&").Qual(codecPath, "Refuses").Call(r.rules(), jen.Qual(xdrPath, code))).Block(r.fail(err))
}

// fail returns err.
func (r *reader) fail(err jen.Code) jen.Code { return jen.Return(jen.Lit(0), err) }

// stmt writes statements after those for the parts.
func (r *reader) stmt(c ...jen.Code) { r.code = append(append(r.code, r.parts.settle()...), c...) }

// part writes a call that reads v, a part of a compact type.
func (r *reader) part(call jen.Code, v value) {
	r.flush()
	r.code = append(r.code, r.parts.part(call, v)...)
}

// runtime returns a call of a function of the runtime for v, with the Decoder if it needs one.
func (r *reader) runtime(name string, d bool, v jen.Code, more ...jen.Code) *jen.Statement {
	var args []jen.Code
	if d {
		args = append(args, jen.Id("d"))
	}
	args = append(append(args, jen.Id(r.buf), jen.Id(r.off)), more...)
	return jen.Qual(codecPath, name).Call(append(args, v)...)
}

// keeps reports whether r writes a decoder, and no check-only reader.
func (r *reader) keeps() bool { return r.state == "d" }

// isSmall reports whether v, not an element of an array, is read by the rules of a compact type.
func (r *reader) isSmall(v value) bool { return r.compact && len(v.indices) == r.base && !r.known }

// fallible writes dst, err = call, or without dst err = call. It adds the path of v to the error.
func (r *reader) fallible(dst *jen.Statement, call jen.Code, v value) {
	r.fn.usesErr = true
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

// add adds n bytes to the run, with the statements that read them.
func (r *reader) add(n int, v value, code ...func(w window) jen.Code) {
	if r.n == 0 {
		r.first = v
	}
	if n > 0 {
		r.items++
	}
	for _, c := range code {
		r.run = append(r.run, item{r.n, c})
	}
	r.n += n
}

// then is a statement that reads nothing.
func then(c jen.Code) func(window) jen.Code { return func(window) jen.Code { return c } }

// addSmall is add for an item that call reads if it is a part.
func (r *reader) addSmall(n int, v value, call func() jen.Code, code ...func(w window) jen.Code) {
	if r.isSmall(v) {
		r.few = append(r.few, smallItem{n, v, call, code})
	}
	r.add(n, v, code...)
}

// flush writes the run.
func (r *reader) flush() {
	if r.n == 0 {
		return
	}
	few, all := r.few, r.items
	r.few, r.items = nil, 0
	if len(few) == all && all <= fewWords {
		r.run, r.n = nil, 0
		for _, i := range few {
			r.readSmall(i)
		}
		return
	}
	if !r.known {
		r.stmt(jen.If(lacks(r.buf, r.off, jen.Lit(r.n))).Block(
			r.fail(r.first.short(jen.Id(r.buf), jen.Id(r.off), jen.Lit(r.n)))))
	}
	if len(r.run) > 0 {
		r.stmt(windowed(r.buf, r.off, r.n, &r.w, r.run)...)
	}
	r.stmt(jen.Id(r.off).Op("+=").Lit(r.n))
	r.run, r.n, r.known = nil, 0, false
}

// readSmall reads or passes an item as a part.
func (r *reader) readSmall(i smallItem) {
	if r.keeps() {
		r.part(i.call(), i.at)
		return
	}
	r.add(i.size, i.at, i.code...)
	r.flush()
}

// at is the offset of byte k of the run.
func (r *reader) at(k int) *jen.Statement {
	if k == 0 {
		return jen.Id(r.off)
	}
	return jen.Id(r.off).Op("+").Lit(k)
}

// word adds a word to the run and returns the variable that holds it.
func (r *reader) word(base string, v value) string {
	n := r.fn.name(base)
	r.add(4, v, func(w window) jen.Code { return jen.Id(n).Op(":=").Add(w.uint32()) })
	return n
}

// scalar adds a number, bool or enumerator to the run. If the Go type of v is a typedef of a number
// type, the value is converted.
func (r *reader) scalar(s *plan.Step, v value) {
	var named expr
	for ; s.Op == plan.Typedef; s = s.Elem {
		if t := s.Of; t.Converts && named == nil {
			named = func() *jen.Statement { return r.g.declType(t) }
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
func (r *reader) number(s *plan.Step, v value, named expr) {
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
			x = r.g.declType(s.Of).Call(x)
		case s.Number == plan.Float && size == 4:
			x = jen.Qual("math", "Float32frombits").Call(x)
		case s.Number == plan.Float:
			x = jen.Qual("math", "Float64frombits").Call(x)
		case s.Number == plan.Signed && named == nil:
			x = r.g.goType(s).Call(x)
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
	k, enum := r.n, r.fn.name("enum")
	r.add(4, v,
		func(w window) jen.Code { return jen.Id(enum).Op(":=").Add(r.g.declType(t)).Call(w.uint32()) },
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
			return r.refuse(jen.Op("!").Qual(codecPath, "ZeroPad").Call(w.whole(), jen.Lit(k), jen.Lit(n)), "CodePadding",
				v.fail("CodePadding", r.at(k+n), jen.Qual(codecPath, "PadBits").Call(w.whole(), jen.Lit(k), jen.Lit(n)), jen.Lit(0)))
		})
	}
	if pad != n {
		r.add(pad, v, c...)
		return
	}
	r.addSmall(pad, v, func() jen.Code { return r.runtime("GetFixed", true, v.x().Index(jen.Op(":"))) }, c...)
}

// presence adds a presence word to the run, ends the run, and refuses other words than 0 and 1 (RFC
// 4506 §4.19). It returns the variable that holds the word.
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
