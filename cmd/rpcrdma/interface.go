package main

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/rpcrdma/rpcrdma/cmd/internal/diag"
	"github.com/rpcrdma/rpcrdma/cmd/internal/dynamic"
	"github.com/rpcrdma/rpcrdma/cmd/internal/ir"
	"github.com/rpcrdma/rpcrdma/cmd/internal/sema"
)

// interfaceFlags are the flags that xdrgen has for reading interface files.
type interfaceFlags struct {
	Include []string          `short:"I" name:"include" sep:"none"`
	Define  map[string]string `short:"D" name:"define" mapsep:"none"`
	Bind    string            `name:"bind"`
}

// maxFindings is the number of errors of an interface file that are printed.
const maxFindings = 10

// compile compiles an interface file. It prints the errors that it finds. The error is a *failure.
func (f *interfaceFlags) compile(env environment, file string) (*sema.Result, error) {
	r, err := sema.Compile(sema.Options{Files: []string{file}, Include: f.Include, Defines: f.Define, BindFile: f.Bind})
	if err != nil {
		return nil, &failure{code: exitInput, stage: "interface file", err: err}
	}
	wrong, _ := diag.Count(r.Diags)
	if wrong == 0 {
		return r, nil
	}
	first := ""
	for _, d := range r.Diags {
		if d.Severity != diag.Error {
			continue
		}
		first = cmp.Or(first, d.Message)
		if !env.json {
			if err := diag.WriteText(env.stderr, d, diag.TextOptions{}); err != nil {
				return nil, err
			}
		}
		if wrong--; wrong == 0 {
			break
		}
	}
	n, _ := diag.Count(r.Diags)
	return nil, &failure{
		code: exitInput, stage: "interface file " + diag.Quote(file), err: fmt.Errorf("%s, the first: %s", count(n, "error", "errors"), first),
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
	const most = 12
	near, ok := diag.Nearest(name, dynamic.Procedures(u))
	if !ok {
		near, ok = diag.Nearest(none.Name, none.Names)
	}
	switch {
	case ok:
		f.help = near
	case len(none.Names) == 0:
		f.help = "a file with a program: this one declares no procedures"
	case len(none.Names) > most:
		f.help = fmt.Sprintf("%s, or one of %d more", strings.Join(none.Names[:most], ", "), len(none.Names)-most)
	default:
		f.help = strings.Join(none.Names, ", ")
	}
	return nil, f
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
