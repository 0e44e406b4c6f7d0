// Command codecbench times XDR codecs against each other and against the hand-written limit,
// interleaved in one process, and prints the ratios with their targets.
//
//	go run ./cmd/codecbench [-short] [-rounds n] [-message a,b,d] [-json]
//
// The times are medians and only give the scale; the ratios are the result. There are many rounds
// of short slices, so that on a busy machine most slices are undisturbed, and with them the median.
// On a very busy machine "at best", the ratio of the fastest rounds, is steadier, but it leaves out
// garbage collection. No time or ratio makes the command fail: exit status 1 means that something
// could not be measured, 2 a usage error.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/rpcrdma/rpcrdma/bench/codec"
	"github.com/rpcrdma/rpcrdma/bench/internal/figures"
	"github.com/rpcrdma/rpcrdma/bench/internal/measure"
)

type options struct {
	rounds   int
	slice    time.Duration
	messages []string
	json     bool
}

func main() {
	var o options
	var short bool
	var messages string
	flag.IntVar(&o.rounds, "rounds", 31, "`rounds` to take the median of, at least 5")
	flag.DurationVar(&o.slice, "slice", time.Millisecond, "`time` of one codec in one round")
	flag.BoolVar(&short, "short", false, "9 rounds of 0.3 ms: quick and rough")
	flag.StringVar(&messages, "message", "", "only these `messages`, of a,b,c4K,c1M,d,e,f,g,h,n4,n8")
	flag.BoolVar(&o.json, "json", false, "print JSON")
	flag.Parse()
	if short {
		o.rounds, o.slice = 9, 300*time.Microsecond
	}
	if messages != "" {
		o.messages = strings.Split(messages, ",")
	}
	if o.rounds < 5 || o.slice <= 0 || flag.NArg() > 0 {
		fmt.Fprintln(os.Stderr, "codecbench: expected at least 5 rounds, a positive slice and no arguments")
		os.Exit(2)
	}
	if err := run(os.Stdout, os.Stderr, o); err != nil {
		fmt.Fprintln(os.Stderr, "codecbench:", err)
		os.Exit(1)
	}
}

func run(stdout, stderr io.Writer, o options) (err error) {
	messages, err := codec.Messages()
	if err != nil {
		return err
	}
	var outside []*codec.Outside
	for _, start := range codec.Outsiders() {
		p, e := start(messages)
		switch {
		case errors.Is(e, codec.ErrNotHere):
			fmt.Fprintln(stderr, "codecbench:", e)
		case e != nil:
			return e
		default:
			defer func() { err = errors.Join(err, p.Close()) }()
			outside = append(outside, p)
		}
	}
	r := newReport(o)
	for _, m := range messages {
		if o.messages != nil && !slices.Contains(o.messages, m.Name) {
			continue
		}
		rows, err := measureMessage(m, outside, o)
		if err != nil {
			return err
		}
		r.add(m, rows)
	}
	if len(r.Rows) == 0 {
		return fmt.Errorf("there is no message %s", strings.Join(o.messages, " or "))
	}
	r.finish()
	if o.json {
		return figures.JSON(stdout, r)
	}
	return r.writeTable(stdout)
}

// measureMessage times all operations on m in the same rounds, because targets compare operations
// too. It returns the rows by operation.
func measureMessage(m codec.Message, outside []*codec.Outside, o options) ([]row, error) {
	codecs, err := codec.All(m)
	if err != nil {
		return nil, err
	}
	var cases []measure.Case
	var rows []row
	out := make([]byte, len(m.Wire))
	for _, op := range codec.OpNames() {
		for _, c := range codecs {
			for _, x := range c.Ops() {
				if x.Name != op {
					continue
				}
				cases = append(cases, measure.Case{Name: c.Name + ", " + op, Run: measure.Loop(func(n int) error {
					return x.Run(m.Wire, out, n)
				})})
				rows = append(rows, row{Message: m.Name, Op: op, Codec: c.Name, Role: c.Role})
			}
		}
		for _, p := range outside {
			if slices.Contains(p.Ops(), op) {
				cases = append(cases, measure.Case{Name: p.Name + ", " + op, Run: func(n int) (time.Duration, error) {
					return p.Run(m.Name, op, n)
				}})
				rows = append(rows, row{Message: m.Name, Op: op, Codec: p.Name, Role: codec.Peer, Outside: true})
			}
		}
	}
	results, err := measure.Interleaved(cases, o.rounds, o.slice)
	if err != nil {
		return nil, fmt.Errorf("message %s: %w", m.Name, err)
	}
	for i, r := range results {
		rows[i].NS, rows[i].Low, rows[i].High, rows[i].Allocs = r.NS, r.Low, r.High, r.Allocs
	}
	return rows, nil
}
