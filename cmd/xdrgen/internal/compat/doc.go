// Package compat compares two versions of a protocol, both in resolved form. For
// each difference it reports the effect on three things: encoded values on a wire
// or in a file, Go code that uses the generated package, and old peers that
// exchange messages with new ones.
//
// Declarations are matched by name first and by encoding second. A renamed type
// is therefore one change and not two. A type that is written differently but
// encoded the same (a typedef inlined, fields moved into a struct of their own)
// does not change the wire. Each difference belongs to one rule. The table in rules.go
// gives its effects on readers and writers.
//
// The stages: match.go pairs declarations; decl.go, enum.go, union.go and
// program.go compare pairs; types.go compares types; wire.go reports whether two
// types have the same encoding.
package compat
