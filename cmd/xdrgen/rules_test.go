package main

import (
	"testing"

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
