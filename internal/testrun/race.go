package main

import (
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strings"

	"github.com/rpcrdma/rpcrdma/internal/archtest"
)

// everything is the pattern that withRaces narrows: all packages of the modules that go.work uses.
// Packages named otherwise are all tested.
const everything = "work"

// withRaces returns the arguments for go test. If args have the race detector and everything, it
// replaces everything by the packages that may have a race, and prints the others.
func withRaces(args []string, stdout io.Writer) ([]string, error) {
	at := slices.Index(args, everything)
	if at < 0 || !slices.Contains(args, "-race") {
		return args, nil
	}
	out, err := exec.Command("go", "list", "-f", "{{.Module.Path}} {{.ImportPath}}", everything).Output()
	if err != nil {
		return nil, fmt.Errorf("go list %s: %w", everything, err)
	}
	// The root module has the shortest path: the paths of the others begin with it.
	root := ""
	for line := range strings.Lines(string(out)) {
		if module, _, _ := strings.Cut(line, " "); root == "" || len(module) < len(root) {
			root = module
		}
	}
	var raced, left []string
	for line := range strings.Lines(string(out)) {
		_, pkg, _ := strings.Cut(strings.TrimSpace(line), " ")
		name := strings.TrimPrefix(strings.TrimPrefix(pkg, root), "/")
		if archtest.Sequential(name) {
			left = append(left, name)
		} else {
			raced = append(raced, pkg)
		}
	}
	fmt.Fprintf(stdout, "left out with the race detector, because they start no goroutine: %s\n", strings.Join(left, " "))
	return slices.Replace(slices.Clone(args), at, at+1, raced...), nil
}
