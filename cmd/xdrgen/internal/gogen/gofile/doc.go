// Package gofile makes Go files of the code that emitters write, in pieces. While later pieces are
// still being written, earlier ones are rendered and formatted.
//
//	imports.go   the names of imported packages, the same in all pieces of a file
//	render.go    pieces, rendered and formatted by several goroutines
//	simplify.go  parentheses to leave out
//	claims.go    the names that a piece declares
//	assembly.go  a file put together from pieces
//	head.go      the comments before the package clause
package gofile
