package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/rpcrdma/rpcrdma/cmd/internal/sema"
	"github.com/rpcrdma/rpcrdma/cmd/internal/syntax"
	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/document"
	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/lsp"
	"github.com/rpcrdma/rpcrdma/internal/cli"
	"github.com/rpcrdma/rpcrdma/internal/xdrdoc"
)

// lspCmd is the command "lsp".
type lspCmd struct {
	Include []string `short:"I" name:"include" sep:"none"`
	Define  []string `short:"D" name:"define" sep:"none"`
	Type    []string `name:"type" sep:"none"`
	Import  []string `name:"import" sep:"none"`
	Stdio   bool     `name:"stdio"` // editors give it; there is no other way
}

// run serves the editor on stdin and stdout.
func (c *lspCmd) run(env environment) int {
	flags := inputFlags{Include: c.Include, Define: c.Define, Type: c.Type, Import: c.Import}
	o, err := flags.options()
	if err != nil {
		return usage(env, err)
	}
	in := env.stdin
	if in == nil {
		in = strings.NewReader("")
	}
	return lsp.Serve(lsp.Config{
		In: in, Out: env.stdout, Log: env.stderr, Version: cli.Version("xdrgen"), Options: o,
		Compile: compileOpen, Format: formatOpen, IsDocument: xdrdoc.IsDocument,
	})
}

// compileOpen compiles a unit as check does.
func compileOpen(o sema.Options) (*sema.Result, error) {
	r, err := document.Choice{}.Compile(o)
	switch {
	case errors.Is(err, xdrdoc.ErrNoXDR): // as most documents
		return &sema.Result{}, nil
	case err != nil:
		return nil, err
	}
	warnOfGo(r)
	return r, nil
}

// formatOpen formats a text as fmt does.
func formatOpen(o sema.Options, name string, text []byte) ([]byte, error) {
	if exists(name + ".origin") {
		return nil, ofDocument(name)
	}
	o.Index = false
	f := formatter{parser: syntax.NewParser(), options: o, disk: o.FS}
	out, diags, err := f.format(name, text)
	if err == nil && len(diags) > 0 {
		first := diags[0]
		err = fmt.Errorf("not formatted because of an error in line %d: %s", first.Span.Position().Line, first.Message)
	}
	return out, err
}
