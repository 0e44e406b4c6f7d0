package sema

import (
	"github.com/rpcrdma/rpcrdma/cmd/internal/diag"
	"github.com/rpcrdma/rpcrdma/cmd/internal/source"
)

// findings collects the findings of a Compile, in the order in which they are found, and the uses
// of names.
type findings struct {
	diags   []diag.Diagnostic
	every   bool // Options.Every
	indexed bool // Options.Index
	uses    []Use
}

func (f *findings) report(d diag.Diagnostic) { f.diags = append(f.diags, d) }

// first reports whether a warning about a name in a unit is to be given: for the first use, or for
// each use with Options.Every.
func (f *findings) first(u *unit, name string) bool {
	again := u.warned[name]
	u.warned[name] = true
	return !again || f.every
}

// unclosedIn reports whether an unclosed brace was found within a span.
func (f *findings) unclosedIn(at source.Span) bool {
	for _, d := range f.diags {
		if d.Rule == diag.UnclosedBrace && d.Span.File == at.File && d.Span.Start >= at.Start && d.Span.Start <= at.End {
			return true
		}
	}
	return false
}
