// Command compilebench times the compiler and its peers, as whole processes, on the XDR of RFC
// 1813, in interleaved rounds. It prints wall and processor time with the target.
//
//	go run ./cmd/compilebench [-rounds n] [-file x] [-json]
//
// The document is RFC 1813's text in CORPUS/ietf (without the variable, where the tests look for
// it); -file takes another interface file. Peers that are not installed are left out, and a line on
// standard error says so. No time makes it fail: exit status 1 means that something could not be
// measured, 2 a usage error.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/rpcrdma/rpcrdma/bench/internal/figures"
	"github.com/rpcrdma/rpcrdma/bench/internal/measure"
)

type options struct {
	rounds int
	file   string
	json   bool
}

func main() {
	var o options
	flag.IntVar(&o.rounds, "rounds", 15, "`rounds` to take the median of, at least 5")
	flag.StringVar(&o.file, "file", "", "compile this interface `file` in place of RFC 1813's XDR")
	flag.BoolVar(&o.json, "json", false, "print JSON")
	flag.Parse()
	if o.rounds < 5 || flag.NArg() > 0 {
		fmt.Fprintln(os.Stderr, "compilebench: expected at least 5 rounds and no arguments")
		os.Exit(2)
	}
	if err := run(os.Stdout, os.Stderr, o); err != nil {
		fmt.Fprintln(os.Stderr, "compilebench:", err)
		os.Exit(1)
	}
}

func run(stdout, stderr io.Writer, o options) (err error) {
	dir, err := os.MkdirTemp("", "compilebench")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	w, err := newWorkshop(dir)
	if err != nil {
		return err
	}
	file, err := w.subject(o.file)
	if err != nil {
		return err
	}
	tools := w.tools(file, stderr)
	// Wall and processor time are cases of their own, so that a round has both.
	var cases []measure.Case
	for _, t := range tools {
		for _, cpu := range []bool{false, true} {
			cases = append(cases, measure.Case{Name: t.Name, Run: func(n int) (took time.Duration, err error) {
				for range n {
					wall, used, err := t.run()
					if err != nil {
						return 0, err
					}
					if cpu {
						wall = used
					}
					took += wall
				}
				return took, nil
			}})
		}
	}
	results, err := measure.Interleaved(cases, o.rounds, time.Nanosecond) // one run per round
	if err != nil {
		return err
	}
	r, err := newReport(o.rounds, file)
	if err != nil {
		return err
	}
	for i, t := range tools {
		if err := r.add(t, results[2*i], results[2*i+1]); err != nil {
			return err
		}
	}
	if o.json {
		return figures.JSON(stdout, r)
	}
	return r.writeTable(stdout)
}
