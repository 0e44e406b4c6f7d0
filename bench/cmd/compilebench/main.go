// Command compilebench times the compiler and its peers, as whole processes, on the XDR of RFC
// 1813, in interleaved rounds. It prints wall and processor time with the target. A second table
// has the generated code of several interfaces: lines, bytes, the processor time that the Go
// compiler takes for it, and the size of a program that uses it.
//
//	go run ./cmd/compilebench [-rounds n] [-file x] [-units list] [-code-rounds n] [-root dir]
//		[-json]
//
// The documents are RFC 1813 and RFC 5662 in CORPUS/ietf (without the variable, where the tests
// look for it); -file takes another interface file for the first table. Peers that are not
// installed are left out, and a line on standard error says so. No time makes it fail: exit status
// 1 means that something could not be measured, 2 a usage error.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/rpcrdma/rpcrdma/bench/internal/figures"
	"github.com/rpcrdma/rpcrdma/bench/internal/measure"
)

type settings struct {
	rounds, codeRounds int // 0 leaves the table out
	file, root         string
	units              []*unit
	json               bool
}

func main() {
	var o settings
	flag.IntVar(&o.rounds, "rounds", 15, "`rounds` of the compilers, at least 5; 0 leaves them out")
	flag.StringVar(&o.file, "file", "", "compile this interface `file` in place of RFC 1813's XDR")
	names := flag.String("units", "small,nfs3,rpcrdma2,nfs41", "interfaces whose generated code is measured, a `list`")
	flag.IntVar(&o.codeRounds, "code-rounds", 5, "`rounds` of the generated code; 0 leaves it out")
	flag.StringVar(&o.root, "root", "", "checkout of the project with the compiler and runtime to measure, a `folder`; default: this one")
	flag.BoolVar(&o.json, "json", false, "print JSON")
	flag.Parse()
	var err error
	if o.units, err = chosen(*names); err != nil || (o.rounds != 0 && o.rounds < 5) || o.codeRounds < 0 || flag.NArg() > 0 {
		fmt.Fprintln(os.Stderr, "compilebench: expected known units, 0 or at least 5 rounds, and no arguments:", err)
		os.Exit(2)
	}
	if err := run(os.Stdout, os.Stderr, o); err != nil {
		fmt.Fprintln(os.Stderr, "compilebench:", err)
		os.Exit(1)
	}
}

func run(stdout, stderr io.Writer, o settings) (err error) {
	dir, err := os.MkdirTemp("", "compilebench")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	w, err := newWorkshop(dir, o.root)
	if err != nil {
		return err
	}
	r := &report{Head: figures.NewHead(o.rounds, 0)}
	if o.rounds > 0 {
		if err := w.measureTools(r, stderr, o); err != nil {
			return err
		}
	}
	if o.codeRounds > 0 && len(o.units) > 0 {
		packages, err := w.measureCode(o.units, o.codeRounds, func(text string) { fmt.Fprintln(stderr, "compilebench:", text) })
		if err != nil {
			return err
		}
		r.CodeRounds, r.Code = o.codeRounds, codeRows(packages)
	}
	if o.json {
		return figures.JSON(stdout, r)
	}
	return r.writeTable(stdout)
}

// measureTools times the compilers and adds their rows to r.
func (w *workshop) measureTools(r *report, stderr io.Writer, o settings) error {
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
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	r.Input = strings.Count(string(text), "\n")
	for i, t := range tools {
		if err := r.add(t, results[2*i], results[2*i+1]); err != nil {
			return err
		}
	}
	return nil
}
