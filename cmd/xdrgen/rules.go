package main

import (
	"fmt"
	"strings"

	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/compat"
	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/lint"
)

// helpLintRules returns the list of lint rules.
func helpLintRules() string {
	var b strings.Builder
	b.WriteString("Rules of lint:\n")
	for _, r := range lint.Rules() {
		fmt.Fprintf(&b, "\n%s %s (%s)", r.Code, r.Name, r.Level)
		if r.Section != "" {
			b.WriteString(" " + r.Section)
		}
		fmt.Fprintf(&b, "\n  %s\n  fix: %s\n", r.Reason, r.Fix)
	}
	return b.String()
}

// helpCompatRules returns the table of compat rules.
func helpCompatRules() string {
	var b strings.Builder
	b.WriteString("Rules of compat. For each kind of change, the table shows whether it breaks the\n" +
		"wire, whether it breaks Go source, whether an old peer can read what a new one\n" +
		"sends (old), and whether a new peer can read what an old one sends (new).\n\n")
	fmt.Fprintf(&b, "%-7s  %-21s  %-6s  %-6s  %-6s  %-6s\n", "code", "rule", "wire", "source", "old", "new")
	for _, r := range compat.Rules() {
		e := r.Effects
		fmt.Fprintf(&b, "%-7s  %-21s  %-6s  %-6s  %-6s  %-6s\n", r.Code, r.Name, e.Wire, e.Source, e.OldReadsNew, e.NewReadsOld)
		b.WriteString("         " + r.Reason)
		if r.Section != "" {
			b.WriteString(" (" + r.Section + ")")
		}
		b.WriteString("\n")
	}
	return b.String()
}
