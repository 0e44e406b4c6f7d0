// Package codectest has the checks that generated tests (xdrgen gen -tests) run. It compares
// generated types with encodings that the compiler made from the interface alone. It also compares
// their readers with each other: decoding, checking, views and scans.
//
// [Run] is for one test function, [Fuzz] for one fuzz target of a package. Each check returns an
// error, so that tests of this package can prove that it detects a fault.
package codectest
