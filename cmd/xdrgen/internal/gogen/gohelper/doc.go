// Package gohelper writes the methods Clone, Equal, EncodeTo and DecodeFrom, and the helpers that
// they call: one function for each type, and for each imported type that needs one.
//
//	helpers.go   the helpers of a package
//	clone.go     deep copies   equal.go   comparison   extent.go   where a value ends in a stream
//	operand.go   the values that emitted code compares or changes
package gohelper
