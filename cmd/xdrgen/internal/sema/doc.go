// Package sema gives the parsed files of a unit their meaning: it loads what
// they include, binds every name, computes every constant, holds the text
// against the rules of RFC 4506 and RFC 5531 §12, and returns the ir that the
// back ends read.
//
// Files share one scope and may refer to each other in any order: all names
// are declared first (declare.go), then constants (consts.go), types
// (types.go, unions.go) and programs (programs.go) are resolved, then the unit
// is looked at as a whole: types that hold themselves (cycle.go), linked lists
// (list.go), recursion and wire sizes (size.go), and the sidecar (binding.go).
package sema
