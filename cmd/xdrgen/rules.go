package main

import (
	"fmt"
	"strings"

	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/compat"
	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/lint"
)

// helpLintRules is the table of rules.
func helpLintRules() string {
	var b strings.Builder
	b.WriteString("What lint looks for:\n")
	for _, r := range lint.Rules() {
		fmt.Fprintf(&b, "\n%s %s (%s)", r.Code, r.Name, r.Level)
		if r.Section != "" {
			b.WriteString(" " + r.Section)
		}
		fmt.Fprintf(&b, "\n  %s\n  fix: %s\n", r.Reason, r.Fix)
	}
	return b.String()
}

// helpCompatRules is the table of rules.
func helpCompatRules() string {
	var b strings.Builder
	b.WriteString("What compat knows of changes: do they break the wire, Go source; does an old\npeer read what a new one sends (o>n), and the reverse (n>o)?\n\n")
	fmt.Fprintf(&b, "%-7s  %-21s  %-6s  %-6s  %-6s  %-6s\n", "code", "rule", "wire", "source", "o>n", "n>o")
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
