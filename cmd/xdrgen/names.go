package main

import (
	"encoding/json"
	"fmt"
	"go/token"
	"io"
	"os"
	"strings"
	"text/tabwriter"

	"github.com/rpcrdma/rpcrdma/cmd/internal/diag"
	"github.com/rpcrdma/rpcrdma/cmd/internal/ir"
	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/gogen"
	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/gogen/gonames"
)

// nameLine is one line of gen -names -format json.
type nameLine struct {
	V     int         `json:"v"`
	Type  string      `json:"type"` // "name"
	Kind  string      `json:"kind"` // of the declaration or the part of one
	Name  string      `json:"name"`
	Go    string      `json:"go"`
	Why   string      `json:"why"` // "rule", "rename" or "collision"
	Place *diag.Place `json:"place,omitempty"`
}

// printNames prints the Go names of the unit, and writes no file. Names that collide are in the
// table, too; they are also reported as errors.
func (g *genCmd) printNames(env environment) int {
	r, code := g.compileUnit(env)
	if code != exitClean {
		return code
	}
	if r.Unit != nil {
		r.Diags = append(r.Diags, gogen.Refused(r.Unit, r.Bind)...)
		diag.Sort(r.Diags, r.Files)
		if err := writeNames(env.stdout, gonames.List(r.Unit, r.Bind, g.RPC || r.Bind.RPC), g.Format); err != nil {
			return failed(env, err)
		}
	}
	if err := printErrors(env, r.Diags, g.reportFlags); err != nil {
		return failed(env, err)
	}
	if diag.HasErrors(r.Diags) {
		return exitFindings
	}
	return exitClean
}

// writeNames writes names as a table, or as JSON lines.
func writeNames(w io.Writer, names []gonames.Name, format string) error {
	if format == "json" {
		for _, n := range names {
			if err := writeLine(w, nameLine{1, "name", n.Kind, n.XDR, n.Go, n.Why, diag.PlaceOf(n.Pos)}); err != nil {
				return err
			}
		}
		return nil
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "kind\tXDR name\tGo name\twhy\tplace")
	for _, n := range names {
		p := n.Pos.Position()
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s:%d\n", n.Kind, n.XDR, n.Go, n.Why, n.Pos.File.Name, p.Line)
	}
	return t.Flush()
}

// recordedNames replaces Go names by those in a file, which gen -names -format json wrote. So a
// change of the rules between two versions of xdrgen is seen.
func recordedNames(file string, names []ir.Rename) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	recorded, line := map[string]string{}, 0
	for l := range strings.Lines(string(text)) {
		line++
		var n nameLine
		err := json.Unmarshal([]byte(l), &n)
		if err != nil || n.V != 1 || n.Type != "name" || n.Name == "" || !token.IsIdentifier(n.Go) {
			return fmt.Errorf("%s:%d: found %s, expected a line that xdrgen gen -names -format json wrote", file, line, diag.Quote(strings.TrimSpace(l)))
		}
		if n.Kind != gonames.KindList && n.Kind != gonames.KindClient && n.Kind != gonames.KindServer {
			recorded[n.Name] = n.Go
		}
	}
	if line == 0 {
		return fmt.Errorf("%s is empty: write it with xdrgen gen -names -format json", file)
	}
	for i, n := range names {
		if g, ok := recorded[n.XDR]; ok {
			names[i].GoName = g
		}
	}
	return nil
}
