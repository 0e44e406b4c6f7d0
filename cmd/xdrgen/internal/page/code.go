package page

import (
	"fmt"
	"go/token"

	"github.com/rpcrdma/rpcrdma/cmd/internal/diag"
	"github.com/rpcrdma/rpcrdma/cmd/internal/ir"
	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/gogen"
)

// CodeOptions are the flags of "xdrgen gen" that the page has.
type CodeOptions struct {
	Package string `json:"package"` // Go name; if empty, protocol
	Views   bool   `json:"views"`
	RPC     bool   `json:"rpc"`
	Tests   bool   `json:"tests"`
}

// Code is the answer about the Go package of a unit. A unit with errors has no package.
type Code struct {
	Failure string     `json:"failure,omitempty"`
	Files   []CodeFile `json:"files"`
}

// CodeFile is a file that "xdrgen gen" writes.
type CodeFile struct {
	Name string `json:"name"` // from the folder of the package
	Text string `json:"text"`
}

// Code generates the Go package of a unit, as "xdrgen gen" does with the same flags in a folder of
// the module example.com.
func (s *Session) Code(u Unit, o CodeOptions) Code {
	out := Code{Files: []CodeFile{}}
	if o.Package == "" {
		o.Package = "protocol"
	}
	if !token.IsIdentifier(o.Package) || len(o.Package) > 100 {
		out.Failure = fmt.Sprintf("found the package name %s, expected letters and digits, a letter first, not a keyword", diag.Quote(o.Package))
		return out
	}
	in, choice := u.files()
	in.Generate, in.Stubs = true, o.RPC
	r, err := choice.Compile(in)
	if err != nil || r.Unit == nil {
		return out // the answer of Check has the reasons
	}
	files, found, err := gogen.Generate(r.Unit, r.Bind, gogen.Options{
		Package: o.Package, ImportPath: "example.com/" + o.Package, Tests: o.Tests, Views: o.Views || r.Bind.Views,
		With: ir.MethodsWith(r.Bind.With), Stubs: o.RPC || r.Bind.RPC, Async: r.Bind.Async, Command: o.command(u.name()),
	})
	switch {
	case err != nil:
		out.Failure = err.Error()
	case len(files) == 0 && diag.HasErrors(found):
		out.Failure = "Go cannot express the unit: the findings have the reasons"
	}
	for _, f := range files {
		out.Files = append(out.Files, CodeFile{f.Name, string(f.Content)})
	}
	return out
}

// command returns the command that makes the package from a file of the unit.
func (o *CodeOptions) command(file string) []string {
	words := []string{"xdrgen", "gen", "-o", ".", "-package", o.Package}
	for _, f := range []struct {
		flag string
		set  bool
	}{{"-views", o.Views}, {"-tests", o.Tests}, {"-rpc", o.RPC}} {
		if f.set {
			words = append(words, f.flag)
		}
	}
	return append(words, file)
}
