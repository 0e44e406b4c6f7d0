// Package gogen turns the plan of a resolved unit (package plan) into Go source. Only this package
// and those below it import jennifer.
//
// Each kind of output has an emitter: a fold over the steps of the plan, which has made all
// decisions that emitters share. The shape of the code is decided by measurement (docs/adr).
//
// Emitters know the generated package by goexpr.Package, and not the state of the run, gen, which
// only this package has. An arrow is an import:
//
//	gogen ──> gostubs ──> gofile             files, made of pieces while others are written
//	      ──> gocodec ──┐
//	      ──> goview  ──┼─> goexpr ──> gonames     Go names
//	      ──> gohelper ─┘   expressions
//	      ──> gosample                       encodings for tests, made from the ir alone
//
//	gocodec    the bodies of encoders, decoders, check-only readers, sizes and ResetXDR
//	goview     views of checked bytes, and scans of unchecked messages
//	gohelper   Clone, Equal, EncodeTo and DecodeFrom
//	gostubs    clients and servers of programs
//
// In this package:
//
//	generate.go the order of the output: piece by piece, each to a file
//	decl.go    declarations of types; enum.go, union.go, const.go and program.go their kinds
//	methods.go the methods of a type; wrappers.go those that call encoder and decoder
//	string.go  String   json.go  the methods of encoding/json   tag.go  struct tags for both
//	bounds.go  static bounds and amplification
//	link.go    the extension descriptor and placement bindings
//	tests.go   generated tests
//	packagedoc.go the package comment
//	clash.go   names declared twice; complete.go what a package must declare
//	imported.go the views that imports must have
package gogen
