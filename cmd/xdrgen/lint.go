package main

import (
	"fmt"
	"strings"

	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/diag"
	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/lint"
	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/sema"
)

// lintCmd is the command "lint".
type lintCmd struct {
	unitFlags
	outsideFlags
	Level   string   `name:"level" enum:"warning,advice" default:"warning"`
	Disable []string `name:"disable"`
	Format  string   `name:"format" enum:"text,json,sarif,github" default:"text"`
}

// run looks for hazards in one unit. The findings are the result: they go to
// stdout. A unit with errors has those for findings.
func (c *lintCmd) run(env environment) int {
	defs, err := defines(c.Define)
	if err != nil {
		return usage(env, err)
	}
	given, err := types(c.Type)
	if err != nil {
		return usage(env, err)
	}
	disable, err := lint.ParseRules(c.Disable)
	if err != nil {
		return usage(env, fmt.Errorf("-disable: %w", err))
	}
	r, err := sema.Compile(sema.Options{
		Files: c.Files, Include: c.Include, Defines: defs, Types: given, Imports: c.Import,
	})
	if err != nil {
		return failed(env, err)
	}
	found := onlyErrors(r.Diags)
	if r.Unit != nil {
		found = lint.Check(r.Unit, r.Bind, r.Files, lint.Options{Advice: c.Level == "advice", Disable: disable})
	}
	errors, warnings := diag.Count(found)
	shown, hidden := diag.Limit(found, c.Errors)
	switch c.Format {
	case "json":
		err = printJSON(env.stdout, shown, errors, warnings, hidden)
	case "sarif":
		err = diag.WriteSARIF(env.stdout, shown)
	case "github":
		err = printGitHub(env.stdout, shown)
	default:
		err = printText(env.stdout, shown, color(c.Color, env.stdout, env))
	}
	if c.Format != "json" {
		summary(env.stderr, errors, warnings, hidden)
	}
	switch {
	case err != nil:
		return failed(env, err)
	case len(found) > 0:
		return exitFindings
	}
	return exitClean
}

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
