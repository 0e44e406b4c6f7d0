// Command mutants tests the tests: it makes known mistakes, one at a time, and expects a test to
// fail. It does not write to the tree: the go command reads the changed file in place of the
// original (-overlay).
//
//	go run ./internal/mutants            all of them, for many minutes
//	go run ./internal/mutants -only NAME those whose names, or whose files, have NAME in them
//	go run ./internal/mutants -list      their names, files and tests
//
// First it runs the tests without a mutant. If one fails, the exit code is 2: every mutant would
// seem killed by it. It is 2 too if no mutant matches -only. A mutant that no test kills is a gap
// in the tests: the exit code is 1. A mutant that only makes a test hang counts as killed, but late
// and without a message, so the command names it: add a test that fails.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"time"
)

func main() {
	only := flag.String("only", "", "try the mutants with this `part` in their name or file")
	limit := flag.Duration("timeout", 2*time.Minute, "time `limit` of the tests of a package with a mutant; without one it is four times as long")
	list := flag.Bool("list", false, "print the mutants and the packages whose tests run for them")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	chosen := choose(mutants, *only)
	if *list {
		for _, m := range chosen {
			fmt.Printf("%-60s %s: %s\n", m.name, m.file, strings.Join(m.tests, " "))
		}
		return
	}
	os.Exit(campaign(ctx, os.Stdout, ".", chosen, *limit))
}

// choose returns the mutants whose name or file contains part.
func choose(all []mutant, part string) (chosen []mutant) {
	for _, m := range all {
		if strings.Contains(m.name, part) || strings.Contains(m.file, part) {
			chosen = append(chosen, m)
		}
	}
	return chosen
}

// campaign runs the tests without mutants and then with each, prints the results, and returns the
// exit code.
func campaign(ctx context.Context, w io.Writer, root string, list []mutant, limit time.Duration) int {
	if len(list) == 0 {
		fmt.Fprintln(w, "no mutant has this -only in its name or file: -list prints them")
		return 2
	}
	fmt.Fprintf(w, "%d mutants; first the tests without one\n", len(list))
	for _, pkg := range packages(list) {
		start := time.Now()
		r, out := runTests(ctx, root, "", pkg, 4*limit)
		fmt.Fprintf(w, "%-60s %v (%v)\n", pkg, r, since(start))
		if r != passes {
			fmt.Fprintf(w, "%s\nthe tests of %s fail without a mutant, so that every mutant would count as killed: mend them first\n", out, pkg)
			return 2
		}
	}
	count := map[result]int{}
	for i := range list {
		m, start := &list[i], time.Now()
		r, pkg, err := m.try(ctx, root, limit)
		if ctx.Err() != nil {
			break
		}
		count[r]++
		fmt.Fprintf(w, "%3d/%d %-60s ", i+1, len(list), m.name)
		switch {
		case err != nil:
			fmt.Fprintln(w, err)
		case r == passes:
			fmt.Fprintf(w, "LIVES (%v)\n", since(start))
		default:
			fmt.Fprintf(w, "%v in %s (%v)\n", r, pkg, since(start))
		}
	}
	fmt.Fprintf(w, "%d mutants killed, %d more hang, %d live, %d could not be tried\n", count[fails], count[hangs], count[passes], count[unbuilt])
	if ctx.Err() != nil || count[passes]+count[unbuilt] > 0 {
		return 1
	}
	return 0
}

// packages returns the packages whose tests run for the mutants, each once.
func packages(list []mutant) (all []string) {
	for _, m := range list {
		for _, pkg := range m.tests {
			if !slices.Contains(all, pkg) {
				all = append(all, pkg)
			}
		}
	}
	return all
}

func since(start time.Time) time.Duration { return time.Since(start).Round(100 * time.Millisecond) }
