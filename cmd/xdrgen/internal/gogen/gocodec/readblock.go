package gocodec

import (
	"github.com/dave/jennifer/jen"

	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/gogen/goexpr"
)

// readBlock is a block of a function that reads: its statements, and the run or the part that is
// pending. A run of words has one length check. A part, in a compact type, is a call.
type readBlock struct {
	fn    *function
	state string // the parameter with the rules: d, the Decoder, or c, the Checker
	buf   string // the variable with the buffer
	off   string // the variable with the offset
	code  []jen.Code

	run   []item
	n     int   // bytes in the run
	first value // the run begins with it
	known bool  // the bytes of the run are known to be there
	w     bool  // w is declared in this block

	compact bool // the type that is read is compact
	base    int  // the number of indices that its value has
	parts   calls
	items   int         // in the run
	few     []smallItem // those that can be parts
}

// start begins the parts of the block.
func (r *readBlock) start() {
	r.parts = calls{fn: r.fn, off: r.off, fail: r.fail}
}

// finish writes the end of a block. If tail is set, the block may return from the function; finish
// reports whether it does.
func (r *readBlock) finish(tail bool) (ended bool) {
	r.flush()
	if tail {
		last := r.parts.end()
		r.code = append(r.code, last...)
		ended = last != nil
	}
	r.stmt()
	return ended
}

// rules is the Checker with the rules.
func (r *readBlock) rules() *jen.Statement {
	if r.state == "c" {
		return jen.Id("c")
	}
	return jen.Op("&").Id("d").Dot("Rules")
}

// decoder is the Decoder that has the items out of line. A Checker may have no Decoder.
func (r *readBlock) decoder() *jen.Statement {
	if r.state == "c" {
		return jen.Qual(goexpr.Codec, "DecoderOf").Call(jen.Id("c"))
	}
	return jen.Id("d")
}

// refuse returns the error if a rule is broken and is in force: leniency costs nothing until then.
func (r *readBlock) refuse(broken *jen.Statement, code string, err jen.Code) jen.Code {
	return jen.If(broken.Op("&&").Qual(goexpr.Codec, "Refuses").Call(r.rules(), jen.Qual(goexpr.XDR, code))).Block(r.fail(err))
}

// fail returns err.
func (r *readBlock) fail(err jen.Code) jen.Code { return jen.Return(jen.Lit(0), err) }

// stmt writes statements after those for the parts.
func (r *readBlock) stmt(c ...jen.Code) { r.code = append(append(r.code, r.parts.settle()...), c...) }

// part writes a call that reads v, a part of a compact type.
func (r *readBlock) part(call jen.Code, v value) {
	r.flush()
	r.code = append(r.code, r.parts.part(call, v)...)
}

// runtime returns a call of a runtime function for v, with the Decoder if it needs one.
func (r *readBlock) runtime(name string, d bool, v jen.Code, more ...jen.Code) *jen.Statement {
	var args []jen.Code
	if d {
		args = append(args, jen.Id("d"))
	}
	args = append(append(args, jen.Id(r.buf), jen.Id(r.off)), more...)
	return jen.Qual(goexpr.Codec, name).Call(append(args, v)...)
}

// keeps reports whether r writes a decoder, and no check-only reader.
func (r *readBlock) keeps() bool { return r.state == "d" }

// isSmall reports whether v, not an element of an array, is read by the rules of a compact type.
func (r *readBlock) isSmall(v value) bool { return r.compact && len(v.indices) == r.base && !r.known }

// fallible writes dst, err = call, or without dst err = call. It adds the path of v to the error.
func (r *readBlock) fallible(dst *jen.Statement, call jen.Code, v value) {
	r.fn.usesErr = true
	results := jen.Err()
	if dst != nil {
		results = jen.List(dst, jen.Err())
	}
	r.stmt(attempt(results, call, "err", r.fail(v.wrap(goexpr.ID("err")))))
}

// add adds n bytes to the run, with the statements that read them.
func (r *readBlock) add(n int, v value, code ...func(w window) jen.Code) {
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

// addSmall is add for an item that call reads if it is a part.
func (r *readBlock) addSmall(n int, v value, call func() jen.Code, code ...func(w window) jen.Code) {
	if r.isSmall(v) {
		r.few = append(r.few, smallItem{n, v, call, code})
	}
	r.add(n, v, code...)
}

// flush writes the run.
func (r *readBlock) flush() {
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
		r.stmt(jen.If(goexpr.Lacks(r.buf, r.off, jen.Lit(r.n))).Block(
			r.fail(r.first.short(jen.Id(r.buf), jen.Id(r.off), jen.Lit(r.n)))))
	}
	if len(r.run) > 0 {
		r.stmt(windowed(r.buf, r.off, r.n, &r.w, r.run)...)
	}
	r.stmt(r.fn.move(r.off, jen.Lit(r.n)))
	r.run, r.n, r.known = nil, 0, false
}

// readSmall reads or passes an item as a part.
func (r *readBlock) readSmall(i smallItem) {
	if r.keeps() {
		r.part(i.call(), i.at)
		return
	}
	r.add(i.size, i.at, i.code...)
	r.flush()
}

// at is the offset of byte k in the run.
func (r *readBlock) at(k int) *jen.Statement {
	if k == 0 {
		return jen.Id(r.off)
	}
	return jen.Id(r.off).Op("+").Lit(k)
}

// attempt assigns the results of call, and does fail if the one named err is not nil.
func attempt(results *jen.Statement, call jen.Code, err string, fail jen.Code) jen.Code {
	return jen.If(results.Op("=").Add(call), jen.Id(err).Op("!=").Nil()).Block(fail)
}

// then is a statement that reads nothing.
func then(c jen.Code) func(window) jen.Code { return func(window) jen.Code { return c } }
