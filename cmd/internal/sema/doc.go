// Package sema analyzes the parsed files of a unit. It loads included files, binds names,
// computes constants, checks the rules of RFC 4506 and RFC 5531 §12, and returns the ir that the
// back ends read.
//
// Files share one scope and may refer to each other in any order. All names are declared first
// (declare.go). Then constants (consts.go), types (types.go, unions.go) and programs
// (programs.go) are resolved. Last, the unit is checked as a whole: types that contain
// themselves (cycle.go), linked lists (list.go), recursion and wire sizes (size.go), and the
// sidecar (binding.go).
package sema
