package main

import (
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/rpcrdma/rpcrdma/bench/internal/figures"
)

// codeRow holds the figures of one generator for one unit.
type codeRow struct {
	Unit      string  `json:"unit"`
	Input     int     `json:"input_lines"`
	Generator string  `json:"generator"`
	Lines     int     `json:"lines"`
	Bytes     int     `json:"bytes"`
	CompileNS int64   `json:"compile_ns"` // median of processor time
	LowNS     int64   `json:"low_ns"`
	HighNS    int64   `json:"high_ns"`
	Binary    int64   `json:"binary_bytes"`
	Ratio     float64 `json:"ratio"` // of compile time, to xdrgen by default
	Lacks     string  `json:"lacks,omitempty"`
}

func codeRows(packages []*codePackage) []codeRow {
	var out []codeRow
	first := map[*unit]int64{}
	for _, p := range packages {
		slices.Sort(p.cpu)
		x := codeRow{
			Unit: p.unit.name, Input: p.unit.lines, Generator: p.generator.name, Lines: p.lines, Bytes: p.bytes,
			CompileNS: int64(p.cpu[len(p.cpu)/2]), LowNS: int64(p.cpu[0]), HighNS: int64(p.cpu[len(p.cpu)-1]),
			Binary: p.binary, Lacks: p.generator.lacks,
		}
		if first[p.unit] == 0 {
			first[p.unit] = x.CompileNS
		}
		x.Ratio = float64(x.CompileNS) / float64(first[p.unit])
		out = append(out, x)
	}
	return out
}

func writeCode(out io.Writer, h figures.Head, rows []codeRow) error {
	fmt.Fprintf(out, "%s, interleaved, of the Go compiler's processor time; binary: beyond a program that copies its input\n", h)
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "\nunit\tinput lines\tgenerator\tlines\tkB\tcompile s\tlow to high\tratio\tbinary kB\tdoes without")
	for _, x := range rows {
		s := func(ns int64) float64 { return time.Duration(ns).Seconds() }
		fmt.Fprintf(w, "%s\t%d\t%s\t%d\t%d\t%.2f\t%.2f to %.2f\t%.2f\t%d\t%s\n", x.Unit, x.Input, x.Generator, x.Lines, x.Bytes/1000,
			s(x.CompileNS), s(x.LowNS), s(x.HighNS), x.Ratio, x.Binary/1000, x.Lacks)
	}
	return w.Flush()
}
