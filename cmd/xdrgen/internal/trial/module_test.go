package trial

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestFaultsOfModulesAreReported(t *testing.T) {
	output := strings.Join([]string{
		"# example.org/p1",
		"# [example.org/p1]",
		"vet: p1/a.go:3:2: undefined: x",
		"p1/a.go:4:2: undefined: y",
		"ok  \texample.org/p2\t0.1s",
		"--- FAIL: TestXDR (0.02s)",
		"    --- FAIL: TestXDR/A (0.00s)",
		"        run.go:25: round trip",
		"        run.go:26: again",
		"FAIL",
		"FAIL\texample.org/p3\t0.2s",
		"FAIL\texample.org/p1 [build failed]",
		"panic: test timed out",
		"FAIL\texample.org/p4\t9s",
		"FAIL",
	}, "\n")
	want := map[string]string{
		"p1": "p1/a.go:3:2: undefined: x",
		"p3": "run.go:25: round trip",
		"p4": "panic: test timed out",
	}
	if diff := cmp.Diff(want, Faults([]byte(output))); diff != "" {
		t.Error(diff)
	}
}

func TestRootMustHaveTheRuntime(t *testing.T) {
	root, err := Root(".")
	if err != nil {
		t.Fatal(err)
	}
	if rel, err := filepath.Rel(root, "."); err == nil && strings.Contains(rel, "..") {
		t.Errorf("root %s", root)
	}
	if _, err := Root(t.TempDir()); err == nil || !strings.Contains(err.Error(), "found no go.mod") {
		t.Errorf("outside: %v", err)
	}
}
