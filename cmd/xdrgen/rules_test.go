package main

import (
	"testing"

	"github.com/rpcrdma/rpcrdma/internal/golden"
)

// TestRulesPage holds docs/rules.md against the tables of rules.
func TestRulesPage(t *testing.T) {
	golden.CheckString(t, "../../docs/rules.md", rulesPage())
}
