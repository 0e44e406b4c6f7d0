package main

import (
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/rpcrdma/rpcrdma/bench/internal/figures"
	"github.com/rpcrdma/rpcrdma/bench/internal/history"
	"github.com/rpcrdma/rpcrdma/bench/internal/target"
	"github.com/rpcrdma/rpcrdma/bench/transport"
	"github.com/rpcrdma/rpcrdma/bench/verbs"
)

// row holds the figures of one system and operation.
type row struct {
	Name  string `json:"name"`
	Op    string `json:"op"`
	Shape string `json:"shape"`
	Size  int    `json:"size"`
	Depth int    `json:"depth"`

	NS   float64 `json:"ns"` // an operation
	Low  float64 `json:"low_ns"`
	P50  float64 `json:"p50_ns,omitempty"`
	P99  float64 `json:"p99_ns,omitempty"`
	MBps float64 `json:"mb_per_s,omitempty"`

	// Per operation, both ends.
	CPU      float64 `json:"cpu_ns"`
	Objects  float64 `json:"objects"`
	Switches float64 `json:"switches"`
	Reads    float64 `json:"read_calls"`
	Writes   float64 `json:"write_calls"`

	// Speed relative to another row of this shape; 0 if there is none.
	ToTCP      float64 `json:"to_tcp,omitempty"`
	ToFramed   float64 `json:"to_framed,omitempty"`
	ToFramedGo float64 `json:"to_framed_go,omitempty"`
	ToSegments float64 `json:"to_segments,omitempty"`
	ToGRPC     float64 `json:"to_grpc,omitempty"`
	ToFloor    float64 `json:"to_floor,omitempty"`
	CPUToFloor float64 `json:"cpu_to_floor,omitempty"` // not a speed: CPU divided by the floor's

	Targets []target.Target `json:"targets,omitempty"`
}

type idleRow struct {
	Client int64         `json:"client_bytes"`
	Server int64         `json:"server_bytes"`
	Target target.Target `json:"target"`
}

type report struct {
	figures.Head
	Noise history.Noise `json:"noise"`
	Rows  []row         `json:"rows"`
	Idle  *idleRow      `json:"idle,omitempty"`
}

func newReport(o options, results []transport.Result, idle *transport.Idle) *report {
	r := &report{Head: figures.NewHead(o.Rounds, o.Slice)}
	for i := range results {
		x := &results[i]
		at := func(name, op string, shape verbs.Shape) *transport.Result {
			for i := range results {
				if y := &results[i]; y.Name == name && y.Op == op && y.Shape == shape {
					return y
				}
			}
			return nil
		}
		find := func(name, op string) *transport.Result { return at(name, op, x.Shape) }
		// A Read is compared with the Write of those that have no Read.
		like := func(name string) *transport.Result {
			if x.Op == verbs.Read && name != verbs.Floor {
				return find(name, verbs.Write)
			}
			return find(name, x.Op)
		}
		ratio := func(name string) float64 {
			y := like(name)
			switch {
			case y == nil || x.Name == name:
				return 0
			case x.Shape.Depth == 1 && x.P50 > 0 && y.P50 > 0:
				return y.P50 / x.P50
			}
			return y.NS / x.NS
		}
		one := row{
			Name: x.Name, Op: x.Op, Shape: x.Shape.String(), Size: x.Shape.Size, Depth: x.Shape.Depth,
			NS: x.NS, Low: x.Low, P50: x.P50, P99: x.P99,
			CPU: x.CPU, Objects: x.Mallocs, Switches: x.Switches, Reads: x.Reads, Writes: x.Writes,
			ToTCP: ratio(verbs.TCP), ToFramed: ratio(verbs.Framed), ToFramedGo: ratio(verbs.FramedGo),
			ToSegments: ratio(verbs.Segments), ToGRPC: ratio(transport.GRPC), ToFloor: ratio(verbs.Floor),
			Targets: targets(x, at),
		}
		if floor := like(verbs.Floor); floor != nil && floor.CPU > 0 && x.Name != verbs.Floor {
			one.CPUToFloor = x.CPU / floor.CPU
		}
		if x.Op != verbs.Call {
			one.MBps = float64(x.Shape.Size) / x.NS * 1e3
		}
		r.Rows = append(r.Rows, one)
	}
	r.Noise = noise(results)
	if idle != nil {
		r.Idle = &idleRow{idle.Client, idle.Server, idleTarget(idle)}
	}
	return r
}

// noise returns the spread of the reference rows, which have nothing of this project in them.
func noise(results []transport.Result) history.Noise {
	var spreads []float64
	for i := range results {
		switch x := &results[i]; x.Name {
		case verbs.TCP, verbs.Framed, verbs.FramedGo, verbs.Segments, transport.Copy:
			spreads = append(spreads, history.Spread(x.Rounds))
		}
	}
	return history.NewNoise(spreads)
}

// line returns the targets as a line of a history.
func (r *report) line(commit string, now time.Time) history.Line {
	l := history.Line{Commit: commit, Date: now.UTC().Format(time.RFC3339), CPUs: r.CPUs, Load: r.Load, Noise: r.Noise}
	for i := range r.Rows {
		x := &r.Rows[i]
		for _, t := range x.Targets {
			l.Rows = append(l.Rows, history.Figure{Row: x.Name + " " + x.Op + " " + x.Shape, Target: t})
		}
	}
	return l
}

func (r *report) writeTable(w io.Writer) error {
	fmt.Fprintf(w, "%s; ratios are of speeds; CPU, objects, system calls\n"+
		"and sleeps of threads are an operation's, both ends\n%v\n", r.Head, r.Noise)
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, "\ncalls\t\tper s\tp50 us\tp99 us\tCPU us\tobjects\treads\twrites\tsleeps\t/tcp\t/framed\t/framed-go\t/grpc\t/floor\tCPU x floor\t")
	for _, x := range r.Rows {
		if x.Op == verbs.Call {
			fmt.Fprintf(tw, "%s\t%s\t%.0f\t%.1f\t%.1f\t%.2f\t%.1f\t%.3f\t%.3f\t%.3f\t%s\t%s\t%s\t%s\t%s\t%s\t\n", x.Name, x.Shape,
				1e9/x.NS, x.P50/1e3, x.P99/1e3, x.CPU/1e3, x.Objects, x.Reads, x.Writes, x.Switches,
				figures.Ratio(x.ToTCP), figures.Ratio(x.ToFramed), figures.Ratio(x.ToFramedGo), figures.Ratio(x.ToGRPC),
				figures.Ratio(x.ToFloor), figures.Ratio(x.CPUToFloor))
		}
	}
	fmt.Fprintln(tw, "\nbulk\t\tMB/s\tp50 us\tp99 us\tCPU ns/B\tobjects\treads\twrites\tsleeps\t/tcp\t/framed\t/segments\t/grpc\t/floor\tCPU x floor\t")
	for _, x := range r.Rows {
		if x.Op != verbs.Call {
			fmt.Fprintf(tw, "%s %s\t%s\t%.0f\t%.0f\t%.0f\t%.2f\t%.1f\t%.2f\t%.2f\t%.2f\t%s\t%s\t%s\t%s\t%s\t%s\t\n", x.Name, x.Op, x.Shape,
				x.MBps, x.P50/1e3, x.P99/1e3, x.CPU/float64(x.Size), x.Objects, x.Reads, x.Writes, x.Switches,
				figures.Ratio(x.ToTCP), figures.Ratio(x.ToFramed), figures.Ratio(x.ToSegments), figures.Ratio(x.ToGRPC),
				figures.Ratio(x.ToFloor), figures.Ratio(x.CPUToFloor))
		}
	}
	if i := r.Idle; i != nil {
		fmt.Fprintf(tw, "\nidle connection, KiB\tclient %.0f\tserver %.0f\n", float64(i.Client)/1024, float64(i.Server)/1024)
	}
	if err := tw.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(tw, "\ntargets\t\t\tfigure\ttarget\tfloor\t")
	for _, x := range r.Rows {
		for _, t := range x.Targets {
			line(tw, x.Name+" "+x.Op+"\t"+x.Shape, t)
		}
	}
	if r.Idle != nil {
		line(tw, transport.RDMATCP+" idle\t", r.Idle.Target)
	}
	return tw.Flush()
}

// line writes one target.
func line(w io.Writer, of string, t target.Target) {
	sign, bound := "<=", t.Most
	if t.Least > 0 {
		sign, bound = ">=", t.Least
	}
	fmt.Fprintf(w, "%s\t%s\t%.2f\t%s %.4g\t%s\t%s\n", of, t.What, t.Value, sign, bound, figures.Ratio(t.Floor), t.Verdict())
}
