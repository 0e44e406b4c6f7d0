// Command verbsbench measures verbs providers beside TCP and beside the practical limits of an RPC
// over TCP, over loopback, in two processes, all in the same rounds. It prints ratios with their
// targets, and the memory of idle connections.
//
//	go run ./cmd/verbsbench [-short] [-rounds n] [-slice time] [-json]
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
	"time"

	"github.com/rpcrdma/rpcrdma/bench/internal/figures"
	"github.com/rpcrdma/rpcrdma/bench/verbs"
)

type options struct {
	rounds int
	slice  time.Duration
	json   bool
}

func main() {
	if verbs.IsServer() {
		if err := verbs.Serve(os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, "verbsbench: server:", err)
			os.Exit(1)
		}
		return
	}
	var o options
	var short bool
	flag.IntVar(&o.rounds, "rounds", 9, "`rounds` to take the median of, at least 5")
	flag.DurationVar(&o.slice, "slice", 50*time.Millisecond, "`time` of one case in one round")
	flag.BoolVar(&short, "short", false, "5 rounds of 5 ms: quick and rough")
	flag.BoolVar(&o.json, "json", false, "print JSON")
	flag.Parse()
	if short {
		o.rounds, o.slice = 5, 5*time.Millisecond
	}
	if o.rounds < 5 || o.slice <= 0 || flag.NArg() > 0 {
		fmt.Fprintln(os.Stderr, "verbsbench: expected at least 5 rounds, a positive slice and no arguments")
		os.Exit(2)
	}
	if err := run(os.Stdout, o); err != nil {
		fmt.Fprintln(os.Stderr, "verbsbench:", err)
		os.Exit(1)
	}
}

func run(stdout io.Writer, o options) error {
	results, err := verbs.Compare(o.rounds, o.slice)
	if err != nil {
		return err
	}
	idle, err := verbs.IdleMemory()
	if err != nil {
		return err
	}
	r := newReport(o, results, idle)
	if o.json {
		return figures.JSON(stdout, r)
	}
	return r.writeTable(stdout)
}
