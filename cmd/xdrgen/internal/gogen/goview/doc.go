// Package goview writes views of checked bytes and scans of unchecked messages.
//
//	view.go    a view: a method for each field of a type; iterate.go iterators over elements
//	skip.go    the offset of a field, and the offset after a value
//	scan.go    scans; scanlist.go their lists
//	pass.go    code for the bytes between the lists; passer.go its runs
package goview
