// Mutants tests the tests: it makes known mistakes in the transport, one at a time, and demands that some
// test fails. Nothing in the tree is written: the go command lays the changed file over the real one.
//
//	go run ./internal/mutants            all of them, for many minutes
//	go run ./internal/mutants -only NAME those whose names have NAME in them
//
// A mutant that no test kills is a hole in the tests, and makes it exit with 1. One that only makes a test hang is
// killed too, but late, and without a word about what is wrong: it is named, so that a test may be given one.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"time"
)

// mutant is a mistake: old, which the file has once, becomes new.
type mutant struct {
	name, file string
	old, new   string
	tests      []string // packages to try, in this order
}

func main() {
	only := flag.String("only", "", "`part` of the names of those to try")
	limit := flag.Duration("timeout", 2*time.Minute, "`time` for each package's tests")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	killed, hung, lived := 0, 0, 0
	for _, m := range mutants {
		if !strings.Contains(m.name, *only) || ctx.Err() != nil {
			continue
		}
		start := time.Now()
		by, hangs, err := m.try(ctx, ".", *limit)
		took := time.Since(start).Round(100 * time.Millisecond)
		switch {
		case err != nil:
			fmt.Printf("%-44s %v\n", m.name, err)
			lived++
		case by == "":
			fmt.Printf("%-44s LIVES (%v)\n", m.name, took)
			lived++
		case hangs:
			fmt.Printf("%-44s hangs in %s (%v)\n", m.name, by, took)
			hung++
		default:
			fmt.Printf("%-44s killed by %s (%v)\n", m.name, by, took)
			killed++
		}
	}
	fmt.Printf("%d mutants killed, %d more hang, %d live\n", killed, hung, lived)
	if lived > 0 {
		os.Exit(1)
	}
}

// mutate gives the changed file.
func (m *mutant) mutate(root string) ([]byte, error) {
	b, err := os.ReadFile(filepath.Join(root, m.file))
	if err != nil {
		return nil, err
	}
	if n := bytes.Count(b, []byte(m.old)); n != 1 {
		return nil, fmt.Errorf("%s has %d times what it changes, must be once: bring it up to date", m.file, n)
	}
	return bytes.Replace(b, []byte(m.old), []byte(m.new), 1), nil
}

// try runs tests over the changed file, and names the package that failed, if one did, and whether it failed only since it hung.
func (m *mutant) try(ctx context.Context, root string, limit time.Duration) (by string, hangs bool, err error) {
	b, err := m.mutate(root)
	if err != nil {
		return "", false, err
	}
	dir, err := os.MkdirTemp("", "mutant")
	if err != nil {
		return "", false, err
	}
	defer os.RemoveAll(dir)
	file, err := filepath.Abs(filepath.Join(root, m.file))
	if err != nil {
		return "", false, err
	}
	changed, overlay := filepath.Join(dir, "changed.go"), filepath.Join(dir, "overlay.json")
	list, err := json.Marshal(map[string]map[string]string{"Replace": {file: changed}})
	if err != nil {
		return "", false, err
	}
	if err := os.WriteFile(changed, b, 0o600); err != nil {
		return "", false, err
	}
	if err := os.WriteFile(overlay, list, 0o600); err != nil {
		return "", false, err
	}
	for _, pkg := range m.tests {
		cmd := exec.CommandContext(ctx, "go", "test", "-overlay", overlay, "-count", "1", "-short", "-timeout", limit.String(), "./"+pkg)
		cmd.Dir = root
		cmd.Env = append(os.Environ(), "PATIENCE="+(limit/4).String()) // of rdmaio's tests: those that hang are to say so
		out, err := cmd.CombinedOutput()
		switch {
		case err == nil:
		case bytes.Contains(out, []byte("[build failed]")), bytes.Contains(out, []byte("[setup failed]")):
			return "", false, fmt.Errorf("does not compile: %s", out)
		case ctx.Err() != nil:
			return "", false, ctx.Err()
		default:
			return pkg, bytes.Contains(out, []byte("panic: test timed out")), nil
		}
	}
	return "", false, nil
}
