// Command nfsbench measures the NFS server of nfs/cmd/nfs beside go-nfs, and the generated client
// beside go-nfs-client (see package nfs), over loopback, all of it in the same rounds, and prints
// ratios with their targets.
//
//	go run ./cmd/nfsbench [-short] [-rounds n] [-slice time] [-entries n] [-dir path]
//		[-match regexp] [-json]
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
	"github.com/rpcrdma/rpcrdma/bench/nfs"
)

type options struct {
	nfs.Options
	json bool
}

func main() {
	if nfs.IsServer() {
		if err := nfs.Serve(os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, "nfsbench: server:", err)
			os.Exit(1)
		}
		return
	}
	var o options
	var short bool
	flag.IntVar(&o.Rounds, "rounds", 7, "`rounds` to take the median of, at least 5")
	flag.DurationVar(&o.Slice, "slice", 100*time.Millisecond, "`time` of one row in one round")
	flag.IntVar(&o.Entries, "entries", 100_000, "`entries` of the directory that is listed")
	flag.StringVar(&o.Dir, "dir", "", "`directory` in which the served one is made; default that of temporary files")
	flag.BoolVar(&short, "short", false, "5 rounds of 5 ms, 1,000 entries: quick and rough")
	flag.Func("match", "measure only rows whose \"name op\" matches this `regexp`", func(s string) (err error) {
		o.Match, err = regexp.Compile(s)
		return err
	})
	flag.BoolVar(&o.json, "json", false, "print JSON")
	flag.Parse()
	if short {
		o.Rounds, o.Slice, o.Entries = 5, 5*time.Millisecond, 1000
	}
	if o.Rounds < 5 || o.Slice <= 0 || o.Entries < 100 || flag.NArg() > 0 {
		fmt.Fprintln(os.Stderr, "nfsbench: expected at least 5 rounds, a positive slice, at least 100 entries and no arguments")
		os.Exit(2)
	}
	if err := run(os.Stdout, o); err != nil {
		fmt.Fprintln(os.Stderr, "nfsbench:", err)
		os.Exit(1)
	}
}

func run(stdout io.Writer, o options) error {
	results, err := nfs.Compare(o.Options)
	if err != nil {
		return err
	}
	var memory []nfs.Listing
	if o.Match == nil {
		if memory, err = nfs.ListingMemory(o.Options); err != nil {
			return err
		}
	}
	r := newReport(o, results, memory)
	if o.json {
		return figures.JSON(stdout, r)
	}
	return r.writeTable(stdout)
}
