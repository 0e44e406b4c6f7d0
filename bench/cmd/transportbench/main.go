// Command transportbench measures RPC over rdmaio beside framed TCP, raw TCP, net/rpc and gRPC (see
// package transport), over loopback, in two processes, all of it in the same rounds, and
// prints ratios with their targets.
//
//	go run ./cmd/transportbench [-short] [-rounds n] [-slice time] [-match regexp] [-json]
//		[-history file] [-depths file]
//
// Figures are medians of the rounds. Times depend on the machine and its load; the ratios are the
// result. No figure makes it fail: exit status 1 means that something could not be measured, 2 a
// usage error.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"regexp"
	"time"

	"github.com/rpcrdma/rpcrdma/bench/internal/figures"
	"github.com/rpcrdma/rpcrdma/bench/internal/history"
	"github.com/rpcrdma/rpcrdma/bench/transport"
)

type options struct {
	transport.Options
	json    bool
	history string
	commit  string
	depths  string
	conns   []int
}

func main() {
	if transport.IsServer() {
		if err := transport.Serve(os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, "transportbench: server:", err)
			os.Exit(1)
		}
		return
	}
	var o options
	var short bool
	flag.IntVar(&o.Rounds, "rounds", 9, "`rounds` to take the median of, at least 5")
	flag.DurationVar(&o.Slice, "slice", 50*time.Millisecond, "`time` of one row in one round")
	flag.BoolVar(&short, "short", false, "5 rounds of 5 ms: quick and rough")
	flag.Func("match", "measure only rows whose \"name op shape\" matches this `regexp`", func(s string) (err error) {
		o.Match, err = regexp.Compile(s)
		return err
	})
	flag.BoolVar(&o.json, "json", false, "print JSON")
	flag.StringVar(&o.commit, "commit", "", "the `name` of the commit in the history; empty: that of the folder")
	flag.StringVar(&o.history, "history", "", "append the commit, the date, the load and the targets to this `file`")
	flag.StringVar(&o.depths, "depths", "", "measure small calls with 1 to 1,024 in flight, and draw their times to this `file` (SVG)")
	flag.Func("connections", "measure small calls over these `numbers` of connections, as in 1,10,100,1000, with 1 and 32 in flight on each", func(s string) (err error) {
		o.conns, err = numbers(s)
		return err
	})
	flag.Parse()
	if short {
		o.Rounds, o.Slice = 5, 5*time.Millisecond
	}
	if o.Rounds < 5 || o.Slice <= 0 || flag.NArg() > 0 {
		fmt.Fprintln(os.Stderr, "transportbench: expected at least 5 rounds, a positive slice and no arguments")
		os.Exit(2)
	}
	if err := run(os.Stdout, o); err != nil {
		fmt.Fprintln(os.Stderr, "transportbench:", err)
		os.Exit(1)
	}
}

func run(stdout io.Writer, o options) error {
	if o.conns != nil {
		return connections(stdout, o)
	}
	if o.depths != "" {
		o.Depths = depths
		if o.Match == nil {
			o.Match = drawn()
		}
	}
	results, err := transport.Compare(o.Options)
	if err != nil {
		return err
	}
	if o.depths != "" {
		if err := writePicture(o.depths, results); err != nil {
			return err
		}
	}
	var idle *transport.Idle
	if o.Match == nil {
		got, err := transport.IdleMemory()
		if err != nil {
			return err
		}
		idle = &got
	}
	r := newReport(o, results, idle)
	if o.history != "" {
		if o.commit == "" {
			o.commit = history.Commit()
		}
		if err := history.Append(o.history, r.line(o.commit, time.Now())); err != nil {
			return err
		}
	}
	if o.json {
		return figures.JSON(stdout, r)
	}
	return r.writeTable(stdout)
}
