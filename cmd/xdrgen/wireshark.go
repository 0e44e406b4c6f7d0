package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/rpcrdma/rpcrdma/cmd/internal/diag"
	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/dissector"
	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/message"
)

// wiresharkCmd is the command "wireshark".
type wiresharkCmd struct {
	unitFlags
	Out   string `short:"o" name:"out"`
	Name  string `name:"name"`
	Known bool   `name:"known"`
}

// run writes a dissector for Wireshark, for the programs or the header types of one unit.
func (c *wiresharkCmd) run(env environment) int {
	if c.Name != "" && !dissector.IsName(c.Name) {
		return usage(env, fmt.Errorf("-name %s: a protocol of Wireshark has a name of small letters, digits and underscores, and begins with a letter", diag.Quote(c.Name)))
	}
	o, code := c.options(env)
	if code != exitClean {
		return code
	}
	r, err := c.compile(o)
	if err != nil {
		return notCompiled(env, err)
	}
	if diag.HasErrors(r.Diags) {
		if err := printErrors(env, onlyErrors(r.Diags), c.reportFlags); err != nil {
			return failed(env, err)
		}
		return exitFindings
	}
	var sources []string
	for _, f := range r.Unit.Files {
		sources = append(sources, f.Name)
	}
	for _, i := range r.Unit.Imports {
		sources = append(sources, "unit "+i.Unit)
	}
	name, binds := c.Name, message.Sidecars(r)
	if name == "" {
		if name = dissector.HeadersOf(r.Unit, binds); name == "" {
			name = c.Files[0]
		}
		name = protocolName(name)
	}
	text, err := dissector.Write(r.Unit, binds, dissector.Options{Name: name, Known: c.Known, Sources: sources})
	switch {
	case errors.Is(err, dissector.ErrNothing):
		return usage(env, fmt.Errorf("%w, and Wireshark finds messages by the numbers of programs and header types", err))
	case err != nil:
		return failed(env, err)
	case c.Out == "" || c.Out == "-":
		_, err = env.stdout.Write(text)
	default:
		err = writeOutput(c.Out, text, c.Files)
	}
	if err != nil {
		return failed(env, err)
	}
	return exitClean
}

// protocolName returns the name of a protocol for a file: its own without folder and ending, in
// small letters, with underscores for other characters.
func protocolName(file string) string {
	base := filepath.Base(file)
	name := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return '_'
	}, strings.ToLower(strings.TrimSuffix(base, filepath.Ext(base))))
	if !dissector.IsName(name) {
		return "xdr_" + strings.TrimLeft(name, "_")
	}
	return name
}
