// Package compat compares two states of a protocol, both in resolved form, and
// says of each difference what it does to three kinds of people: those who
// have bytes on a wire (or in a file), those who have Go code against the
// generated package, and those who run an old peer against a new one.
//
// Declarations are matched by name first and by the form of their values on
// the wire second, so that a renamed type is one change and not two, and a
// type that is only written otherwise (a typedef inlined, fields moved into a
// struct of their own) is seen to leave the wire alone. Each difference falls
// under one rule of one table (rules.go), which holds the verdicts.
//
// The stages: match.go pairs declarations, decl.go, union.go and program.go
// compare pairs, types.go compares types, wire.go tells whether two types have
// the same form on the wire.
package compat
