package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/compat"
	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/lint"
	"github.com/rpcrdma/rpcrdma/internal/golden"
)

// TestRulesPage holds docs/rules.md against the tables of rules.
func TestRulesPage(t *testing.T) {
	golden.CheckString(t, "../../docs/rules.md", rulesPage())
}

// TestHelpPage holds docs/xdrgen.md against the help.
func TestHelpPage(t *testing.T) {
	golden.CheckString(t, "../../docs/xdrgen.md", helpPage())
}

// rulesPage is docs/rules.md: the rules of lint and compat, from the tables
// that the commands work by.
func rulesPage() string {
	var b strings.Builder
	b.WriteString("# Rules of xdrgen lint and xdrgen compat\n\n" +
		"Made by `go test ./cmd/xdrgen -run TestRulesPage -update` from the tables that the commands work by; on a terminal,\n" +
		"`xdrgen help lint-rules`, `xdrgen help compat-rules` and `xdrgen explain NAME` show the same. The findings of check are\n" +
		"in [errors.md](errors.md).\n\n## lint\n\n" +
		"Hazards and style of a protocol that is correct XDR; `-level advice` shows the style as well. A comment\n" +
		"`xdrgen:ignore NAME reason` lets findings pass.\n\n| code | name | level | why | fix | text |\n|---|---|---|---|---|---|\n")
	for _, r := range lint.Rules() {
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s |\n", r.Code, r.Name, r.Level, cell(r.Reason), cell(r.Fix), r.Section)
	}
	b.WriteString("\n## compat\n\nWhat a change breaks: the wire, where values that both can express are other bytes; Go source, where code against the\n" +
		"old package does not build with the new one; extension, where an old peer does not take all that a new one sends (old\n" +
		"reads new), or the reverse. Partly: all but the values that only the other side knows. A change whose effects depend on\n" +
		"more than its rule is shown with those it has.\n\n" +
		"| code | name | wire | source | old reads new | new reads old | why | text |\n|---|---|---|---|---|---|---|---|\n")
	for _, r := range compat.Rules() {
		e := r.Effects
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s | %s | %s |\n", r.Code, r.Name, e.Wire, e.Source, e.OldReadsNew, e.NewReadsOld, cell(r.Reason), r.Section)
	}
	return b.String()
}

// helpPage is docs/xdrgen.md: the help texts of all commands and topics.
func helpPage() string {
	var b strings.Builder
	b.WriteString("# xdrgen\n\nMade by `go test ./cmd/xdrgen -run TestHelpPage -update` from the texts of `xdrgen help`; a test runs every example.\n" +
		"In a module of your own: `go get -tool github.com/rpcrdma/rpcrdma/cmd/xdrgen@latest`, then `go tool xdrgen COMMAND`, or a\n" +
		"line `//go:generate go tool xdrgen gen -o . -package NAME FILE.x`. The findings of check are explained in\n" +
		"[errors.md](errors.md), the rules of lint and compat in [rules.md](rules.md), and what is printed as JSON has its\n" +
		"schemas in [schema/](schema).\n\n```\n" + helpMain + "```\n")
	for _, topic := range topics() {
		if strings.HasSuffix(topic, "-rules") {
			continue // a page of their own
		}
		text, _ := help(topic)
		fmt.Fprintf(&b, "\n## %s\n\n```\n%s```\n", topic, text)
	}
	return b.String()
}

// cell keeps the text of a table's cell from being read as Markdown.
func cell(s string) string {
	return strings.NewReplacer("*", `\*`, "_", `\_`, "<", "&lt;", "|", `\|`).Replace(s)
}
