package main

import (
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/rpcrdma/rpcrdma/bench/internal/figures"
	"github.com/rpcrdma/rpcrdma/bench/internal/target"
	"github.com/rpcrdma/rpcrdma/bench/nfs"
)

// row holds the figures of one system and operation.
type row struct {
	Name string `json:"name"`
	Op   string `json:"op"`

	NS      float64 `json:"ns"` // an operation
	Low     float64 `json:"low_ns"`
	CPU     float64 `json:"cpu_ns"`
	Objects float64 `json:"objects"`

	// Speed relative to another row of this operation; 0 if there is none.
	ToGoNFS   float64 `json:"to_go_nfs,omitempty"`
	ToForeign float64 `json:"to_go_nfs_client,omitempty"` // go-nfs-client with go-nfs
	ToFramed  float64 `json:"to_framed,omitempty"`
	ToOS      float64 `json:"to_os,omitempty"`

	Targets []target.Target `json:"targets,omitempty"`
}

type report struct {
	figures.Head
	Rows   []row         `json:"rows"`
	Memory []nfs.Listing `json:"listing_memory,omitempty"`
}

func newReport(o options, results []nfs.Result, memory []nfs.Listing) *report {
	r := &report{Head: figures.NewHead(o.Rounds, o.Slice), Memory: memory}
	for i := range results {
		x := &results[i]
		ratio := func(name string) float64 {
			for _, y := range results {
				if y.Name == name && y.Op == x.Op && x.Name != name {
					return y.NS / x.NS
				}
			}
			return 0
		}
		one := row{
			Name: x.Name, Op: x.Op.String(), NS: x.NS, Low: x.Low, CPU: x.CPU, Objects: x.Mallocs,
			ToGoNFS: ratio(nfs.GoNFS), ToForeign: ratio(nfs.ForeignToGoNFS), ToFramed: ratio(nfs.Framed), ToOS: ratio(nfs.OS),
		}
		one.Targets = targets(x, &one)
		r.Rows = append(r.Rows, one)
	}
	return r
}

// targets returns the targets of a row: those of the server, and of server and client together.
func targets(x *nfs.Result, r *row) (all []target.Target) {
	least := 0.0
	switch {
	case x.Name != nfs.TCP:
	case x.Op.Name == nfs.GetAttr:
		least = 5
	case x.Op.Name == nfs.Read && x.Op.Size == 1<<20:
		least = 2
	}
	for _, other := range []struct {
		name  string
		ratio float64
	}{{nfs.GoNFS, r.ToGoNFS}, {nfs.ForeignToGoNFS, r.ToForeign}} {
		if least > 0 && other.ratio > 0 {
			all = append(all, target.AtLeast("of "+other.name, other.ratio, least))
		}
	}
	return all
}

func (r *report) writeTable(w io.Writer) error {
	fmt.Fprintf(w, "%s; ratios are of speeds; CPU and objects are an operation's, both ends\n", r.Head)
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, "\noperation\t\tus\tbest us\tCPU us\tobjects\t/go-nfs\t/go-nfs-client>go-nfs\t/framed\t/os\t")
	for _, x := range r.Rows {
		fmt.Fprintf(tw, "%s\t%s\t%.1f\t%.1f\t%.1f\t%.0f\t%s\t%s\t%s\t%s\t\n", x.Op, x.Name, x.NS/1e3, x.Low/1e3, x.CPU/1e3, x.Objects,
			figures.Ratio(x.ToGoNFS), figures.Ratio(x.ToForeign), figures.Ratio(x.ToFramed), figures.Ratio(x.ToOS))
	}
	if len(r.Memory) > 0 {
		fmt.Fprintln(tw, "\nlisting, KiB of heap\tentries\tserver at most\tserver after\tclient at most\t")
		for _, m := range r.Memory {
			fmt.Fprintf(tw, "%s %s\t%d\t%d\t%d\t%d\t\n", m.Name, m.Procedure, m.Entries, m.ServerPeak>>10, m.ServerKept>>10, m.ClientPeak>>10)
		}
	}
	fmt.Fprintln(tw, "\ntargets\t\t\tfigure\ttarget\t")
	for _, x := range r.Rows {
		for _, t := range x.Targets {
			fmt.Fprintf(tw, "%s\t%s\t%s\t%.2f\t>= %.4g\t%s\n", x.Op, x.Name, t.What, t.Value, t.Least, t.Verdict())
		}
	}
	return tw.Flush()
}
