package main

import (
	"slices"
	"strings"
	"testing"
)

// With the race detector, testrun tests all packages but the sequential ones, and lists those.
// Without it, or for packages named, it tests all.
func TestWithRaces(t *testing.T) {
	t.Setenv("GOWORK", "") // make test runs the root module with GOWORK=off
	const module = "github.com/rpcrdma/rpcrdma/"
	t.Chdir("../..")
	var said strings.Builder
	got, err := withRaces([]string{"-race", "-short", everything}, &said)
	if err != nil {
		t.Fatal(err)
	}
	for _, pkg := range []string{"rdmaio", "runtime/xdr", "cmd/xdrgen/internal/gogen", "internal/testrun", "nfs/nfsd"} {
		if !slices.Contains(got, module+pkg) {
			t.Errorf("%s is not tested", pkg)
		}
	}
	for _, pkg := range []string{"cmd/xdrgen", "tools/extract"} {
		if slices.Contains(got, module+pkg) || !strings.Contains(said.String(), " "+pkg) {
			t.Errorf("%s is tested, or it is not said that it is not", pkg)
		}
	}
	if !slices.Equal(got[:2], []string{"-race", "-short"}) || slices.Contains(got, everything) {
		t.Errorf("arguments %v", got)
	}
	for _, args := range [][]string{{"-short", everything}, {"-race", "./cmd/xdrgen"}} {
		if got, err := withRaces(args, t.Output()); err != nil || !slices.Equal(got, args) {
			t.Errorf("%v became %v, %v", args, got, err)
		}
	}
}
