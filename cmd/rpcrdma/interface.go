package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/rpcrdma/rpcrdma/cmd/internal/diag"
	"github.com/rpcrdma/rpcrdma/cmd/internal/dynamic"
	"github.com/rpcrdma/rpcrdma/cmd/internal/ir"
	"github.com/rpcrdma/rpcrdma/cmd/internal/sema"
	"github.com/rpcrdma/rpcrdma/internal/cli"
	"github.com/rpcrdma/rpcrdma/internal/spelling"
)

// interfaceFlags are the flags that xdrgen has for reading interface files.
type interfaceFlags struct {
	Include []string          `short:"I" name:"include" sep:"none"`
	Define  map[string]string `short:"D" name:"define" mapsep:"none"`
	Bind    string            `name:"bind"`
}

// maxFindings is the largest number of errors that are printed for an interface file.
const maxFindings = 10

// compile compiles an interface file. It prints the errors that it finds. The error is a *failure.
func (f *interfaceFlags) compile(env environment, file string) (*sema.Result, error) {
	o := sema.Options{Files: []string{file}, Include: f.Include, Defines: f.Define, BindFile: f.Bind}
	var err error
	if file == "-" {
		o.Files, o.FS, err = sema.FromStdin(o.Files, env.stdin)
	}
	var r *sema.Result
	if err == nil {
		read := cli.AnnouncePipes(env.stderr, "rpcrdma", []string{file, f.Bind})
		r, err = sema.Compile(o)
		read()
	}
	if err != nil {
		return nil, &failure{code: exitInput, stage: "interface file", err: err}
	}
	wrong := slices.DeleteFunc(r.Diags, func(d diag.Diagnostic) bool { return d.Severity != diag.Error })
	if len(wrong) == 0 {
		return r, nil
	}
	for _, d := range wrong[:min(len(wrong), maxFindings)] {
		if env.json {
			break
		}
		if err := diag.WriteText(env.stderr, d, diag.TextOptions{}); err != nil {
			return nil, err
		}
	}
	return nil, &failure{
		code: exitInput, stage: "interface file " + diag.Quote(file),
		err:  fmt.Errorf("%s, the first: %s", count(len(wrong), "error", "errors"), wrong[0].Message),
		help: "xdrgen check " + file,
	}
}

// procedure finds a procedure of a unit. The error is a *failure with the nearest names.
func procedure(u *ir.Unit, name string) (*dynamic.Procedure, error) {
	p, err := dynamic.FindProcedure(u, name)
	if err == nil {
		return p, nil
	}
	f := &failure{code: exitInput, stage: "procedure " + diag.Quote(name), err: err}
	var none *dynamic.NotFound
	if !errors.As(err, &none) {
		return nil, f
	}
	near, ok := spelling.Nearest(name, dynamic.Procedures(u))
	if !ok {
		near, ok = spelling.Nearest(none.Name, none.Names)
	}
	if f.help = near; !ok {
		f.help = some(none.Names)
	}
	return nil, f
}

// some returns the first names of a list, and how many more there are.
func some(names []string) string {
	const most = 12
	switch n := len(names); {
	case n == 0:
		return "a file with a program: this one declares no procedures"
	case n > most:
		return fmt.Sprintf("%s, or one of %d more", strings.Join(names[:most], ", "), n-most)
	}
	return strings.Join(names, ", ")
}

// bindings returns the items that the sidecars of a unit make eligible for direct placement.
func bindings(r *sema.Result) []ir.DDPBinding {
	out := r.Bind.DDP
	for _, i := range r.Unit.Imports {
		if i.Bind != nil {
			out = append(out[:len(out):len(out)], i.Bind.DDP...)
		}
	}
	return out
}
