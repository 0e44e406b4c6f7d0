// Package sema analyzes the parsed files of a unit. It loads included files, binds names,
// computes constants, checks the rules of RFC 4506 and RFC 5531 §12, and returns the ir that the
// back ends read.
//
// Files share one scope and may refer to each other in any order. The compiler loads a unit
// (load.go, sidecar.go) and runs its passes, which are listed above type compiler (sema.go): names
// that come from elsewhere (outside.go), names (declare.go), constants (consts.go), types
// (types.go, unions.go) and programs (programs.go). Then the unit is checked as a whole: types that
// contain themselves (cycle.go), linked lists (list.go), recursion and wire sizes (size.go). Last,
// the names of the sidecar are bound (binding.go).
package sema
