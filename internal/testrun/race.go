package main

import (
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strings"

	"github.com/rpcrdma/rpcrdma/internal/archtest"
)

// everything is the pattern that withRaces narrows. Packages named otherwise are all tested.
const everything = "./..."

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
	var raced, left []string
	for line := range strings.Lines(string(out)) {
		module, pkg, _ := strings.Cut(strings.TrimSpace(line), " ")
		name := strings.TrimPrefix(strings.TrimPrefix(pkg, module), "/")
		if archtest.Sequential(name) {
			left = append(left, name)
		} else {
			raced = append(raced, pkg)
		}
	}
	fmt.Fprintf(stdout, "left out with the race detector, because they start no goroutine: %s\n", strings.Join(left, " "))
	return slices.Replace(slices.Clone(args), at, at+1, raced...), nil
}
