// Mutants tests the tests: it makes known mistakes, one at a time, and demands that some test fails. Nothing in the tree
// is written: the go command lays the changed file over the real one.
//
//	go run ./internal/mutants            all of them, for many minutes
//	go run ./internal/mutants -only NAME those whose names, or whose files, have NAME in them
//	go run ./internal/mutants -list      their names, files and tests
//
// First the tests run without any mutant. Where one fails, a mutant would be killed by a test that fails anyway, so the
// command ends with 2.
//
// A mutant that no test kills is a hole in the tests, and makes the command exit with 1. One that only makes a test hang
// is killed too, but late, and without a word about what is wrong: it is named, so that a test may be given one.
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
	only := flag.String("only", "", "`part` of the names or files of those to try")
	limit := flag.Duration("timeout", 2*time.Minute, "`time` for the tests of a package over a mutant; four times that without one")
	list := flag.Bool("list", false, "print the mutants and the packages whose tests look for them")
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

// campaign runs the tests without mutants and then over each, says how each ends, and returns the exit code.
func campaign(ctx context.Context, w io.Writer, root string, list []mutant, limit time.Duration) int {
	fmt.Fprintf(w, "%d mutants; first their tests as they are\n", len(list))
	for _, pkg := range packages(list) {
		start := time.Now()
		r, out := runTests(ctx, root, "", pkg, 4*limit)
		fmt.Fprintf(w, "%-60s %v (%v)\n", pkg, r, since(start))
		if r != passes {
			fmt.Fprintf(w, "%s\nthe tests of %s fail without a mutant: they would count every mutant as killed\n", out, pkg)
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

// packages returns the packages whose tests look for the mutants, each once.
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
