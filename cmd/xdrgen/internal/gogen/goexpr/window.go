package goexpr

import (
	"github.com/dave/jennifer/jen"
)

// OfWindow is bytes from and to of the run's slice w.
func OfWindow(from, to int) *jen.Statement {
	return jen.Id("w").Index(jen.Lit(from).Op(":").Lit(to))
}

// SlideWindow makes w the n bytes at off.
func SlideWindow(buf, off string, n int, declared *bool) *jen.Statement {
	op := ":="
	if *declared {
		op = "="
	}
	*declared = true
	return jen.Id("w").Op(op).Add(Slide(buf, off, n))
}

// Slide is buf[off : off+n : off+n].
func Slide(buf, off string, n int) *jen.Statement {
	end := func() *jen.Statement { return jen.Id(off).Op("+").Lit(n) }
	return jen.Id(buf).Index(jen.Id(off).Op(":").Add(end()).Op(":").Add(end()))
}

// BigEndian is binary.BigEndian, which compiles to one load or store with a byte swap.
func BigEndian() *jen.Statement { return jen.Qual("encoding/binary", "BigEndian") }

// Lacks is the condition that n bytes at off are not there.
func Lacks(buf, off string, n *jen.Statement) *jen.Statement {
	return jen.Qual(Codec, "Lacks").Call(jen.Id(buf), jen.Id(off), n)
}
