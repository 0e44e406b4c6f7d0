// Package gocodec writes the bodies of the methods that encode, decode, check, measure and empty
// values. Each is a fold over the steps of a type.
//
//	put.go    encoders; span.go their runs and the opaque data between them
//	get.go    decoders      check.go  check-only readers
//	          read.go and readseq.go read and refuse for both; readblock.go has their runs
//	size.go   sizes         reset.go  emptying of values for reuse
//	union.go  unions of encoders and readers      numbers.go  arrays of numbers
//	calls.go  the calls that the codecs of compact types consist of
//	value.go  a value in emitted code, and its path in errors
//	run.go    the bytes of a run      loop.go  loops over elements
//
// Neighbouring fields of fixed size are a run. It has one bounds check, and constant offsets from
// there, in whatever structs the fields are. A count, a presence word and the end of a list belong
// to the run before them.
package gocodec
