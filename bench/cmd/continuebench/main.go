// Command continuebench measures the ways of long messages in version 2 (see package continued),
// prints the times of one RPC, and draws them.
//
//	go run ./cmd/continuebench [-short] [-rounds n] [-slice time] [-match regexp] [-json]
//		[-svg file]
//
// Figures are medians of the rounds. Times depend on the machine and its load; the ratios are the
// result. No figure makes it fail: exit status 1 means that something could not be measured, 2 a
// usage error.
package main

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"os"
	"regexp"
	"time"

	"github.com/rpcrdma/rpcrdma/bench/continued"
	"github.com/rpcrdma/rpcrdma/bench/internal/figures"
)

type options struct {
	continued.Options
	json bool
	svg  string
}

func main() {
	var o options
	var short bool
	flag.IntVar(&o.Rounds, "rounds", 9, "`rounds` to take the median of, at least 5")
	flag.DurationVar(&o.Slice, "slice", 5*time.Millisecond, "`time` of one case in one round")
	flag.BoolVar(&short, "short", false, "5 rounds of 1 ms: quick and rough")
	flag.Func("match", "measure only cases whose \"provider direction way inline n KiB size n KiB\" matches this `regexp`", func(s string) (err error) {
		o.Match, err = regexp.Compile(s)
		return err
	})
	flag.BoolVar(&o.json, "json", false, "print JSON")
	flag.StringVar(&o.svg, "svg", "", "draw the times in this `file`, too")
	flag.Parse()
	if short {
		o.Rounds, o.Slice = 5, time.Millisecond
	}
	if o.Rounds < 5 || o.Slice <= 0 || flag.NArg() > 0 {
		fmt.Fprintln(os.Stderr, "continuebench: expected at least 5 rounds, a positive slice and no arguments")
		os.Exit(2)
	}
	if err := run(os.Stdout, o); err != nil {
		fmt.Fprintln(os.Stderr, "continuebench:", err)
		os.Exit(1)
	}
}

func run(stdout io.Writer, o options) error {
	r := report{Head: figures.NewHead(o.Rounds, o.Slice)}
	var err error
	if r.Results, err = continued.Compare(o.Options); err != nil {
		return err
	}
	if o.svg != "" {
		var b bytes.Buffer
		draw(&b, r.Results)
		if err := os.WriteFile(o.svg, b.Bytes(), 0o666); err != nil {
			return err
		}
	}
	if o.json {
		return figures.JSON(stdout, r)
	}
	return r.writeTable(stdout)
}
