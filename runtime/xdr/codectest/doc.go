// Package codectest is what generated tests (xdrgen gen -tests) run: it holds
// generated types against encodings that the compiler made from the interface
// alone, and holds their three readers against each other: full decode,
// check-only, and views and iterators over the wire.
//
// [Run] is for one test function, [Fuzz] for one fuzz target of a package. Each
// check returns an error, so that this package's own tests can see it fail.
package codectest
