package main

import (
	"fmt"
	"io"
	"strconv"
	"text/tabwriter"

	"github.com/rpcrdma/rpcrdma/cmd/internal/ir"
	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/plan"
)

// sizeLine is one line of lint -sizes -format json.
type sizeLine struct {
	V             int     `json:"v"`
	Type          string  `json:"type"` // "size"
	Name          string  `json:"name"`
	Min           uint64  `json:"min_bytes"`           // on the wire
	Max           *uint64 `json:"max_bytes,omitempty"` // nil if the size is not bounded
	Go            int     `json:"go_bytes"`            // of the Go value, without what it points to
	Amplification int     `json:"amplification"`       // bytes of memory per byte received, or 0
}

// sizes returns the sizes of a unit's types. They equal the constants of the generated code.
func sizes(u *ir.Unit, costs *plan.Costs) []sizeLine {
	var out []sizeLine
	for _, d := range u.Decls {
		if d.Kind == ir.Const || d.Kind == ir.Program {
			continue
		}
		l := sizeLine{V: 1, Type: "size", Name: d.Name, Min: d.Size.Min}
		if !d.Size.Unbounded {
			l.Max = &d.Size.Max
		}
		if costs != nil {
			l.Go, l.Amplification = costs.Memory(&ir.Type{Kind: ir.Ref, Ref: d}), costs.Amplification(d)
		}
		out = append(out, l)
	}
	return out
}

// printSizes writes sizes as a table, or as JSON lines.
func printSizes(w io.Writer, lines []sizeLine, format string) error {
	if format == "json" {
		for _, l := range lines {
			if err := writeLine(w, l); err != nil {
				return err
			}
		}
		return nil
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "type\twire min\twire max\tGo value\tamplification")
	for _, l := range lines {
		largest, ratio := "none", "-"
		if l.Max != nil {
			largest = strconv.FormatUint(*l.Max, 10)
		}
		if l.Amplification > 0 {
			ratio = strconv.Itoa(l.Amplification)
		}
		fmt.Fprintf(t, "%s\t%d\t%s\t%d\t%s\n", l.Name, l.Min, largest, l.Go, ratio)
	}
	return t.Flush()
}
