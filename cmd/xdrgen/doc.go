package main

import (
	"errors"
	"fmt"

	"github.com/rpcrdma/rpcrdma/cmd/internal/diag"
	"github.com/rpcrdma/rpcrdma/cmd/internal/ir"
	"github.com/rpcrdma/rpcrdma/cmd/internal/packet"
	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/reference"
	"github.com/rpcrdma/rpcrdma/internal/spelling"
)

// docCmd is the command "doc".
type docCmd struct {
	unitFlags
	Out  string   `short:"o" name:"out"`
	Text bool     `name:"text"`
	SVG  bool     `name:"svg"`
	Only []string `name:"only"`
}

// run writes a description of one unit.
func (c *docCmd) run(env environment) int {
	if c.SVG && (c.Text || len(c.Only) != 1) {
		return usage(env, errors.New("-svg writes the packet picture of one type: name it with -only NAME, and leave out -text"))
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
	if err := declares(r.Unit, c.Only); err != nil {
		return usage(env, err)
	}
	var text []byte
	options := reference.Options{Bind: r.Bind, Only: c.Only}
	switch {
	case c.SVG:
		p := packet.Of(declared(r.Unit, c.Only[0]))
		if p == nil {
			return usage(env, fmt.Errorf("-only %s: only types have packet pictures", diag.Quote(c.Only[0])))
		}
		text = []byte(p.SVG(packet.SVGOptions{File: true}))
	case c.Text:
		text = reference.Text(r.Unit, options)
	default:
		text = reference.HTML(r.Unit, options)
	}
	if c.Out == "" || c.Out == "-" {
		_, err = env.stdout.Write(text)
	} else {
		err = writeOutput(c.Out, text, c.Files)
	}
	if err != nil {
		return failed(env, err)
	}
	return exitClean
}

// declared returns the declaration of a unit with a name, or nil.
func declared(u *ir.Unit, name string) *ir.Decl {
	for _, d := range u.Decls {
		if d.Name == name {
			return d
		}
	}
	return nil
}

// declares returns an error unless a unit declares all names.
func declares(u *ir.Unit, names []string) error {
	for _, name := range names {
		if declared(u, name) != nil {
			continue
		}
		var all []string
		for _, d := range u.Decls {
			all = append(all, d.Name)
		}
		if near, ok := spelling.Nearest(name, all); ok {
			return fmt.Errorf("-only %s: the unit has no such declaration; did you mean %s?", diag.Quote(name), near)
		}
		return fmt.Errorf("-only %s: the unit has no such declaration", diag.Quote(name))
	}
	return nil
}
