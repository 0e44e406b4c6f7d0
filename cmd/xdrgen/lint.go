package main

import (
	"fmt"

	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/lint"
	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/plan"
)

// lintCmd is the command "lint".
type lintCmd struct {
	unitFlags
	findingsFlag
	Level   string   `name:"level" enum:"warning,advice" default:"warning"`
	Disable []string `name:"disable"`
	Sizes   bool     `name:"sizes"`
}

// run looks for hazards in one unit and prints the findings to stdout. If the unit has
// errors, these are the findings.
func (c *lintCmd) run(env environment) int {
	o, code := c.options(env)
	if code != exitClean {
		return code
	}
	if c.Sizes && c.Format != "text" && c.Format != "json" {
		return usage(env, fmt.Errorf("found -sizes with -format %s; expected text or json", c.Format))
	}
	disable, err := lint.ParseRules(c.Disable)
	if err != nil {
		return usage(env, fmt.Errorf("-disable: %w", err))
	}
	r, err := c.compile(o)
	if err != nil {
		return notCompiled(env, err)
	}
	found := onlyErrors(r.Diags)
	if c.Sizes && r.Unit != nil {
		if err := printSizes(env.stdout, sizes(r.Unit, plan.NewCosts(r.Unit)), c.Format); err != nil {
			return failed(env, err)
		}
		return exitClean
	}
	if r.Unit != nil {
		o := lint.Options{Advice: c.Level == "advice", Disable: disable}
		if costs := plan.NewCosts(r.Unit); costs != nil {
			o.Costs = costs
		}
		found = lint.Check(r.Unit, r.Bind, r.Files, o)
	}
	if err := c.print(env, found, c.reportFlags); err != nil {
		return failed(env, err)
	}
	if len(found) > 0 {
		return exitFindings
	}
	return exitClean
}
