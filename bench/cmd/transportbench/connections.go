package main

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/rpcrdma/rpcrdma/bench/internal/figures"
	"github.com/rpcrdma/rpcrdma/bench/transport"
	"github.com/rpcrdma/rpcrdma/bench/verbs"
)

// manyDepths are the calls in flight on each connection.
var manyDepths = []int{1, 32}

// numbers reads a list of positive numbers.
func numbers(s string) (all []int, err error) {
	for one := range strings.SplitSeq(s, ",") {
		n, err := strconv.Atoi(one)
		if err != nil || n < 1 {
			return nil, fmt.Errorf("found %q, expected a positive number", one)
		}
		all = append(all, n)
	}
	return all, nil
}

// connections measures small calls over several numbers of connections, and writes a table for each
// when it is measured.
func connections(stdout io.Writer, o options) error {
	var all []transport.Result
	for _, n := range o.conns {
		for _, depth := range manyDepths {
			results, err := transport.Connections(o.Options, n, depth)
			if err != nil {
				return err
			}
			if all = append(all, results...); o.json {
				continue
			}
			fmt.Fprintf(stdout, "%s; ratios are of speeds; CPU, objects, system calls and sleeps of\n"+
				"threads are an operation's, both ends; memory is the server's resident memory under load\n\n", figures.NewHead(o.Rounds, o.Slice))
			if err := writeConnections(stdout, results); err != nil {
				return err
			}
		}
	}
	if o.json {
		return figures.JSON(stdout, all)
	}
	return nil
}

// writeConnections writes the rows of one load.
func writeConnections(stdout io.Writer, results []transport.Result) error {
	tw := tabwriter.NewWriter(stdout, 0, 0, 2, ' ', 0)
	for i := range results {
		r := &results[i]
		if i == 0 {
			fmt.Fprintf(tw, "%d x %d\tper s\t/echo\tp50 us\tp99 us\tCPU us\tobjects\treads\twrites\tsleeps\tKiB a connection\t\n", r.Conns, r.Shape.Depth)
		}
		fmt.Fprintf(tw, "%s\t%.0f\t%s\t%.0f\t%.0f\t%.2f\t%.1f\t%.3f\t%.3f\t%.3f\t%.0f\t\n", r.Name, 1e9/r.NS, figures.Ratio(toEcho(results, r)),
			r.P50/1e3, r.P99/1e3, r.CPU/1e3, r.Mallocs, r.Reads, r.Writes, r.Switches, r.Resident/1024)
	}
	fmt.Fprintln(tw)
	return tw.Flush()
}

// toEcho returns the speed of a row relative to the bare echo, or 0.
func toEcho(results []transport.Result, r *transport.Result) float64 {
	for i := range results {
		if e := &results[i]; e.Name == verbs.Echo && e != r {
			return e.NS / r.NS
		}
	}
	return 0
}
