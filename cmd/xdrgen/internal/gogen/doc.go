// Package gogen turns the plan of a resolved unit (package plan) into Go source. It is the only
// importer of jennifer.
//
// Each kind of output has an emitter: a fold over the steps of the plan, which has made all
// decisions that emitters share. The shape of the code is decided by measurement (docs/adr): each
// run of fixed-size fields is one bounds check and constant offsets from it, in whatever structs
// the fields are; a count, a presence word and the end of a list belong to the run before them;
// lists and arrays are loops over reused slices.
//
// The emitters:
//
//	put.go     encoders; span.go their runs and the opaque data between them
//	get.go     decoders      check.go  check-only readers
//	           read.go and readseq.go are the part of both that reads and refuses
//	size.go    sizes         reset.go  emptying of values for reuse
//	union.go   the switch over the arms of a union; unioncodec.go that of encoders and readers
//	view.go    views of checked bytes; viewseq.go their iterators; skip.go the way to a field
//	scan.go    scans of unchecked messages; scanlist.go their lists
//	pass.go    the bytes between the lists; passer.go their runs
//	type.go    Go types; decl.go, enum.go, union.go, const.go and program.go their declarations
//	methods.go the methods of a type; wrappers.go those that call encoder and decoder
//	clone.go   deep copies   equal.go   comparison   extent.go   where a value ends in a stream
//	operand.go the values that these three name, and the helpers that they call
//	calls.go   the calls that encoders and decoders of compact types consist of
//	string.go  String   json.go  the methods of encoding/json   tag.go  struct tags for both
//	stubs.go   the package with clients (stubclient.go) and servers (stubserver.go) of programs;
//	           stubvalue.go the arguments and results of procedures in Go
//	bounds.go  static bounds and amplification
//	link.go    the extension descriptor and placement bindings
//	tests.go   generated tests; sample.go their encodings, made from the ir alone
//
// What emitters share:
//
//	value.go   a value in emitted code, and its path in errors; function.go the names of variables
//	window.go  the bytes of a run     loop.go  loops over elements
//
// The rest:
//
//	gonames    the Go names of declarations
//	imports.go the names of imported packages; imported.go the views that they must have
//	generate.go the order of the output: piece by piece, each to a file
//	render.go  pieces rendered and formatted while others are written
//	assembly.go files put together from pieces; clash.go names declared twice
//	simplify.go parentheses to leave out; costs.go the memory of values, for lint
package gogen
