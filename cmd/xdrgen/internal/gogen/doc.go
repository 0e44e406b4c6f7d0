// Package gogen turns a resolved unit (package ir) into Go source. It is the
// only importer of jennifer.
//
// The shape of the code is decided by measurement (docs/adr): each run of
// fixed-size fields is one bounds check and constant offsets from it, whatever
// structs the fields lie in; a count, a presence word and the end of a list
// belong to the run before them; lists and arrays are loops over reused
// slices. There is one codec per kind of type, used wherever the type
// stands:
//
//	run.go     the runs of fixed-size fields, window.go their bytes, loop.go loops over elements
//	put.go     encoders      get.go    decoders; getseq.go their arrays and lists
//	check.go   what check-only readers, made by the same getter, do otherwise
//	view.go    views of checked bytes
//	scan.go    scans of unchecked messages: what they stop at; scanout.go how they go on,
//	           scanlist.go their lists, pass.go what lies between
//	bounds.go  static bounds and amplification
//	tests.go   generated tests; sample.go their encodings, made from the ir alone
//	size.go    sizes         reset.go  emptying of values for reuse
//	layout.go  Go types and their memory
//	names.go   Go names; words.go their words, procnames.go those of procedures
//	decl.go    declarations; enum.go, union.go, const.go, program.go theirs
//	same.go    the methods that differ in the type's name only
//	link.go    the extension descriptor and placement bindings
//	generate.go what is written, in order: piece by piece, each to a file
//	render.go  pieces rendered and formatted while others are written
//	assembly.go files put together from pieces; clash.go names declared twice
package gogen
