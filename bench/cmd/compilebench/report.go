package main

import (
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/rpcrdma/rpcrdma/bench/internal/figures"
	"github.com/rpcrdma/rpcrdma/bench/internal/measure"
)

// targetMS is the target for the wall time of xdrgen gen, the first tool, on an idle machine.
// Formatting of the output is included.
const targetMS = 100

// row holds the figures of one tool. Times are in milliseconds.
type row struct {
	Tool  string  `json:"tool"`
	Wall  float64 `json:"wall_ms"` // median
	Low   float64 `json:"low_ms"`
	High  float64 `json:"high_ms"`
	CPU   float64 `json:"cpu_ms"` // median, of all processes
	Lines int     `json:"lines"`  // written
	Ratio float64 `json:"ratio"`  // of wall time, to xdrgen gen
	Lacks string  `json:"lacks,omitempty"`
}

type report struct {
	figures.Head
	Input      int       `json:"input_lines"`
	Rows       []row     `json:"rows"`
	CodeRounds int       `json:"code_rounds,omitempty"`
	Code       []codeRow `json:"code,omitempty"`
}

func (r *report) add(t *tool, wall, cpu measure.Result) error {
	lines, err := t.lines()
	x := row{
		Tool: t.Name, Wall: wall.NS / 1e6, Low: wall.Low / 1e6, High: wall.High / 1e6, CPU: cpu.NS / 1e6,
		Lines: lines, Ratio: 1, Lacks: t.Lacks,
	}
	if len(r.Rows) > 0 {
		x.Ratio = x.Wall / r.Rows[0].Wall
	}
	r.Rows = append(r.Rows, x)
	return err
}

func (r *report) writeTable(out io.Writer) error {
	if len(r.Rows) > 0 {
		if err := r.writeTools(out); err != nil {
			return err
		}
	}
	if len(r.Code) == 0 {
		return nil
	}
	if len(r.Rows) > 0 {
		fmt.Fprintln(out)
	}
	h := r.Head
	h.Rounds = r.CodeRounds
	return writeCode(out, h, r.Code)
}

func (r *report) writeTools(out io.Writer) error {
	fmt.Fprintf(out, "%s, interleaved, of whole processes on %d lines\n", r.Head, r.Input)
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "\ntool\twall ms\tlow to high\tCPU ms\tratio\tlines\ttarget\tdoes without")
	for i, x := range r.Rows {
		fmt.Fprintf(w, "%s\t%.1f\t%.1f to %.1f\t%.1f\t%.2f\t%d\t%s\t%s\n", x.Tool, x.Wall, x.Low, x.High, x.CPU, x.Ratio, x.Lines, target(i, x), x.Lacks)
	}
	return w.Flush()
}

// target returns whether the first row meets its target, as text.
func target(i int, x row) string {
	switch {
	case i > 0:
		return ""
	case x.Wall <= targetMS:
		return fmt.Sprintf("<= %d: met", targetMS)
	}
	return fmt.Sprintf("<= %d: missed, %.1f at best", targetMS, x.Low)
}
