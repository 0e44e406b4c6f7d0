// Package goexpr writes the Go expressions that all emitters share: types, constants and labels by
// their names, and the switch over the arms of a union.
//
//	package.go   the generated package: the names of types, fields and placement sites
//	arms.go      case labels, and the switch over them
//	expr.go      an expression; function.go the names of a function's variables
//	window.go    the bytes of a run
//	text.go      comments, short bodies, literals
//	paths.go     the packages that generated code imports
package goexpr
