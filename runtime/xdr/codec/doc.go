// Package codec is the part of package xdr that only generated code calls. It
// changes with the compiler: programs that call it by hand may not build with the
// next version. What programs need is in package xdr.
//
// Its functions work on three things:
//
//   - A buffer b and an offset off into it. Encoders, decoders and checkers pass
//     both as arguments and return the next offset, so that they stay in registers.
//   - An [xdr.Encoder], [xdr.Decoder] or [xdr.Checker], for what few fields need:
//     items out of line, the memory mode, the budget, the depth, leniency. Package
//     xdr holds this state in unexported types with exported fields, so that this
//     package can use them and go doc does not show them.
//   - An [xdr.Error], which is built where the fault is ([Fail], [Short]) and
//     gets a step of its path from each caller ([In]).
package codec
