// Command benchreport draws a history of benchmark runs, which transportbench -history appends to:
// a panel for each of ten measures with titles in plain words, with the commits from left to right.
// With -all it has each measure that has a target.
//
//	go run ./cmd/benchreport [-svg file] [-all] [history]
//
// The history is history.jsonl unless another is given. Exit status 1 means that it could not be
// read or drawn, 2 a usage error.
package main

import (
	"bytes"
	"flag"
	"fmt"
	"os"

	"github.com/rpcrdma/rpcrdma/bench/internal/history"
)

func main() {
	svg := flag.String("svg", "history.svg", "the `file` to write")
	all := flag.Bool("all", false, "draw every measure, with the names of the benchmark's rows")
	flag.Parse()
	file := "history.jsonl"
	switch flag.NArg() {
	case 0:
	case 1:
		file = flag.Arg(0)
	default:
		fmt.Fprintln(os.Stderr, "benchreport: expected one history")
		os.Exit(2)
	}
	if err := run(file, *svg, *all); err != nil {
		fmt.Fprintln(os.Stderr, "benchreport:", err)
		os.Exit(1)
	}
}

func run(file, svg string, all bool) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("%w (make one: go run ./cmd/transportbench -history %s)", err, file)
	}
	lines, err := history.Read(bytes.NewReader(text))
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	if len(lines) == 0 {
		return fmt.Errorf("%s has no runs", file)
	}
	var b bytes.Buffer
	chosen := history.People
	if all {
		chosen = nil
	}
	if err := history.Draw(&b, lines, chosen); err != nil {
		return err
	}
	return os.WriteFile(svg, b.Bytes(), 0o666)
}
