package gocodec

import (
	"github.com/dave/jennifer/jen"

	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/gogen/goexpr"
)

// function is the encoder, decoder or check-only reader that is being written.
type function struct {
	goexpr.Function
	usesErr bool // it needs a variable err

	last jen.Code // the last statement that moves the offset
	to   jen.Code // the offset after it

	fails []failure // of an encoder that makes room itself

	usesFault bool // it needs a variable fault
	hasFault  bool // the first use of fault declares it
}

// move is the statement that moves the offset off by a distance.
func (f *function) move(off string, by jen.Code) jen.Code {
	f.last, f.to = jen.Id(off).Op("+=").Add(by), jen.Id(off).Op("+").Add(by)
	return f.last
}

// moveTo is the statement that moves the offset off to the result of a call.
func (f *function) moveTo(off string, call jen.Code) jen.Code {
	f.last, f.to = jen.Id(off).Op("=").Add(call), call
	return f.last
}

// leave returns the statements with the return at the end. It returns the offset from the statement
// that moves it, if that is the last one.
func (f *function) leave(code []jen.Code) []jen.Code {
	if n := len(code) - 1; n >= 0 && code[n] == f.last {
		return append(code[:n], jen.Return(f.to, jen.Nil()))
	}
	return append(code, jen.Return(jen.Id("off"), jen.Nil()))
}
