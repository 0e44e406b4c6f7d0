package main

import (
	"errors"
	"fmt"
	"slices"

	"github.com/rpcrdma/rpcrdma/cmd/internal/diag"
	"github.com/rpcrdma/rpcrdma/cmd/internal/sema"
	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/gogen"
)

// warnOfGo adds a warning for each declaration that gen rejects although its XDR is correct.
func warnOfGo(r *sema.Result) {
	if r.Unit != nil {
		r.Diags = append(r.Diags, gogen.Warnings(r.Unit, r.Bind)...)
		diag.Sort(r.Diags, r.Files)
	}
}

// checkCmd is the command "check".
type checkCmd struct {
	unitFlags
	findingsFlag
	Strict bool `name:"strict"`
	Fix    bool `name:"fix"`
}

// run checks one unit and prints the findings to stdout.
func (c *checkCmd) run(env environment) int {
	o, code := c.options(env)
	if code != exitClean {
		return code
	}
	if c.Fix {
		if o.FS != nil {
			return usage(env, errors.New("-fix cannot change standard input: name a file"))
		}
		if i := slices.IndexFunc(o.Files, isDocument); i >= 0 {
			return usage(env, fmt.Errorf("-fix does not change a document, such as %s: extract -doc %s -o DIR writes its XDR, and xdrgen check -fix DIR/*.x prints errata", o.Files[i], quoted(o.Files[i])))
		}
		log := env.stdout
		if c.Format != "text" {
			log = env.stderr
		}
		if err := c.fix(log, o); err != nil {
			return failed(env, err)
		}
	}
	r, err := c.compile(o)
	if err != nil {
		return notCompiled(env, err)
	}
	warnOfGo(r)
	if err := c.print(env, r.Diags, c.reportFlags); err != nil {
		return failed(env, err)
	}
	if errors, warnings := diag.Count(r.Diags); errors > 0 || c.Strict && warnings > 0 {
		return exitFindings
	}
	return exitClean
}
