package main

import (
	"errors"

	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/diag"
	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/gogen"
	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/sema"
)

// notGo warns of what gen refuses: the XDR is right, but there is no Go for it as it is.
func (c *checkCmd) notGo(r *sema.Result) {
	if r.Unit == nil {
		return
	}
	for _, d := range gogen.Refused(r.Unit, r.Bind) {
		d.Severity = diag.Warning
		r.Diags = append(r.Diags, d.Note("gen refuses the unit for this"))
	}
	diag.Sort(r.Diags, r.Files)
}

// checkCmd is the command "check".
type checkCmd struct {
	unitFlags
	findingsFlag
	Strict bool `name:"strict"`
	Fix    bool `name:"fix"`
}

// run checks one unit. The findings are the result: they go to stdout.
func (c *checkCmd) run(env environment) int {
	o, code := c.options(env)
	if code != exitClean {
		return code
	}
	if c.Fix {
		if o.FS != nil {
			return usage(env, errors.New("-fix: standard input is no file to change"))
		}
		log := env.stdout
		if c.Format != "text" {
			log = env.stderr
		}
		if err := c.fix(log, o); err != nil {
			return failed(env, err)
		}
	}
	r, err := sema.Compile(o)
	if err != nil {
		return failed(env, err)
	}
	c.notGo(r)
	if err := c.print(env, r.Diags, c.reportFlags); err != nil {
		return failed(env, err)
	}
	if errors, warnings := diag.Count(r.Diags); errors > 0 || c.Strict && warnings > 0 {
		return exitFindings
	}
	return exitClean
}
