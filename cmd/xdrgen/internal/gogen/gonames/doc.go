// Package gonames chooses the Go names for the declarations of a unit (ADR 0063). It drops the
// prefixes that the sidecar lists, qualifies enumerators by their enum, and takes renames as they
// are. It reports names that are equal in Go.
//
//	names.go      types, fields, enumerators and constants
//	procs.go      programs, versions and procedures; stubs.go their stubs
//	words.go      the words of an XDR name as a Go name
//	own.go        drops the words that repeat the owner's name
//	list.go       all names with the reason for each: the table of gen -names
package gonames
