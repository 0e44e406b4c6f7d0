package main

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/rpcrdma/rpcrdma/bench/internal/figures"
	"github.com/rpcrdma/rpcrdma/bench/internal/target"
	"github.com/rpcrdma/rpcrdma/bench/verbs"
)

// row holds the figures of one system and operation.
type row struct {
	Name  string `json:"name"`
	Op    string `json:"op"`
	Shape string `json:"shape"`
	Size  int    `json:"size"`
	Depth int    `json:"depth"`

	NS     float64 `json:"ns"` // per operation; p50 of calls made one at a time
	Low    float64 `json:"low_ns"`
	MBps   float64 `json:"mb_per_s,omitempty"`
	CPU    float64 `json:"cpu_ns,omitempty"` // per operation, both ends
	CPUper float64 `json:"cpu_ns_per_byte,omitempty"`

	// Speed relative to another row of this shape; 0 if there is none.
	ToTCP      float64 `json:"to_tcp,omitempty"`
	ToFramed   float64 `json:"to_framed,omitempty"`
	ToSegments float64 `json:"to_segments,omitempty"`

	Targets []target.Target `json:"targets,omitempty"`
}

// idleRow holds the memory of an idle connection.
type idleRow struct {
	Name   string        `json:"name"`
	Client int64         `json:"client_bytes"`
	Server int64         `json:"server_bytes"`
	Target target.Target `json:"target"`
}

type report struct {
	figures.Head
	Rows []row     `json:"rows"`
	Idle []idleRow `json:"idle,omitempty"`
}

func newReport(o options, results []verbs.Result, idle []verbs.Idle) *report {
	r := &report{Head: figures.NewHead(o.rounds, o.slice)}
	for _, x := range results {
		find := func(name, op string) *verbs.Result {
			for i := range results {
				if y := &results[i]; y.Name == name && y.Op == op && y.Shape == x.Shape {
					return y
				}
			}
			return nil
		}
		// A Read is compared with the others' Write: they have no Read.
		like := x.Op
		if like == verbs.Read {
			like = verbs.Write
		}
		ratio := func(name string) float64 {
			if y := find(name, like); y != nil && x.Name != name {
				return y.NS / x.NS
			}
			return 0
		}
		one := row{
			Name: x.Name, Op: x.Op, Shape: x.Shape.String(), Size: x.Shape.Size, Depth: x.Shape.Depth,
			NS: x.NS, Low: x.Low, CPU: x.CPU,
			ToTCP: ratio(verbs.TCP), ToFramed: ratio(verbs.Framed), ToSegments: ratio(verbs.Segments),
			Targets: targets(x, find),
		}
		if x.Op != verbs.Call {
			one.MBps = float64(x.Shape.Size) / x.NS * 1e3
			one.CPUper = x.CPU / float64(x.Shape.Size)
		}
		r.Rows = append(r.Rows, one)
	}
	for _, x := range idle {
		r.Idle = append(r.Idle, idleRow{x.Name, x.Client, x.Server, idleTarget(x)})
	}
	return r
}

func (r *report) writeTable(w io.Writer) error {
	fmt.Fprintf(w, "%s; ratios are of speeds\n", r.Head)
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, bulk := range []bool{false, true} {
		fmt.Fprintln(tw)
		if bulk {
			fmt.Fprintln(tw, "bulk\t\tMB/s\tCPU ns/B\t/tcp\t/framed\t/segments\ttargets")
		} else {
			fmt.Fprintln(tw, "calls\t\tus\tper s\tCPU us\t/tcp\t/framed\ttargets")
		}
		for _, x := range r.Rows {
			switch {
			case (x.Op != verbs.Call) != bulk:
			case bulk:
				fmt.Fprintf(tw, "%s %s\t%s\t%.0f\t%.2f\t%s\t%s\t%s\t%s\n", x.Name, x.Op, x.Shape, x.MBps, x.CPUper,
					figures.Ratio(x.ToTCP), figures.Ratio(x.ToFramed), figures.Ratio(x.ToSegments), join(x.Targets))
			default:
				fmt.Fprintf(tw, "%s\t%s\t%.2f\t%.0f\t%.2f\t%s\t%s\t%s\n", x.Name, x.Shape, x.NS/1e3, 1e9/x.NS, x.CPU/1e3,
					figures.Ratio(x.ToTCP), figures.Ratio(x.ToFramed), join(x.Targets))
			}
		}
	}
	if len(r.Idle) > 0 {
		fmt.Fprintln(tw, "\nidle connection\tclient KiB\tserver KiB\ttargets")
	}
	for _, x := range r.Idle {
		fmt.Fprintf(tw, "%s\t%.1f\t%.1f\t%s\n", x.Name, float64(x.Client)/1024, float64(x.Server)/1024, x.Target)
	}
	return tw.Flush()
}

// cell returns a ratio as text, "" for none.
func join(all []target.Target) string {
	var s []string
	for _, t := range all {
		s = append(s, t.String())
	}
	return strings.Join(s, "; ")
}
