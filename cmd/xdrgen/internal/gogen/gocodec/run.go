package gocodec

import (
	"github.com/dave/jennifer/jen"

	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/gogen/goexpr"
)

// item is a part of a run, from byte at on. Its code reads or writes the bytes of the run by a
// window.
type item struct {
	at   int
	code func(w window) jen.Code
}

// window gives the code of an item its bytes.
type window struct {
	run *runWindow
	at  int // where the item begins
}

// runWindow is the window of a whole run.
type runWindow struct {
	slice func(from, to int) *jen.Statement
	looks int  // uses of its bytes
	inner bool // a part of it is used, or the slice itself
	n     int
}

// bytes are those from and to, counted from the item's first.
func (w window) bytes(from, to int) *jen.Statement {
	from, to = w.at+from, w.at+to
	w.run.looks++
	w.run.inner = w.run.inner || from != 0 || to != w.run.n
	return w.run.slice(from, to)
}

// whole is the slice that the run lies in.
func (w window) whole() *jen.Statement {
	w.run.inner = true
	return jen.Id("w")
}

func (w window) uint32() *jen.Statement { return goexpr.BigEndian().Dot("Uint32").Call(w.bytes(0, 4)) }

func (w window) uint64() *jen.Statement { return goexpr.BigEndian().Dot("Uint64").Call(w.bytes(0, 8)) }

// windowed writes a run of n bytes at off: w := b[off : off+n : off+n], and then its items, which
// use w. With that capacity the compiler knows that no index into w needs another check. A run that
// is one word needs no w.
func windowed(buf, off string, n int, declared *bool, run []item) []jen.Code {
	w := &runWindow{slice: goexpr.OfWindow, n: n}
	out := []jen.Code{nil}
	for _, i := range run {
		out = append(out, i.code(window{w, i.at}))
	}
	if w.looks == 1 && !w.inner {
		w.slice = func(int, int) *jen.Statement { return goexpr.Slide(buf, off, n) }
		for k, i := range run {
			out[k+1] = i.code(window{w, i.at})
		}
		return out[1:]
	}
	out[0] = goexpr.SlideWindow(buf, off, n, declared)
	return out
}

// byValue is the length up to which opaque data of fixed length is assigned. A copy is a call of
// memmove, which takes longer than a few words do.
const byValue = 128

// putArray stores the n bytes of the array at v in w, a slice of as many.
func putArray(w jen.Code, n int, v value) jen.Code {
	if n > byValue {
		return jen.Copy(w, v.x().Index(jen.Op(":")))
	}
	return jen.Op("*").Parens(jen.Op("*").Index(jen.Lit(n)).Byte()).Parens(w).Op("=").Add(v.x())
}

// getArray loads the n bytes of the array at v from w, a slice of as many.
func getArray(v value, n int, w jen.Code) jen.Code {
	if n > byValue {
		return jen.Copy(v.x().Index(jen.Op(":")), w)
	}
	return v.x().Op("=").Index(jen.Lit(n)).Byte().Parens(w)
}
