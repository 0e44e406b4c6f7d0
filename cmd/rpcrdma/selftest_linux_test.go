//go:build amd64 || arm64

package main

import (
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/rpcrdma/rpcrdma/internal/witness"
)

// The build with the tag runs the suite's cases in separate processes. It needs no device for the
// other providers. The test builds a program, which takes seconds.
func TestSelftestRunsTheSuiteInProcesses(t *testing.T) {
	if testing.Short() {
		t.Skip("builds a program and runs it a hundred times")
	}
	goTool, program := witness.Program(t, "go"), filepath.Join(t.TempDir(), "rpcrdma")
	if out, err := exec.Command(goTool, "build", "-tags", "ibverbs", "-o", program, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	out, err := exec.Command(program, "selftest", "-provider", "mem", "-json").Output()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	list := objects(t, string(out))
	if len(list) != 1 || list[0]["passed"].(float64) < 60 || len(list[0]["failures"].([]any)) != 0 || len(list[0]["measurements"].([]any)) != 3 {
		t.Errorf("found %v", list)
	}
	for _, m := range list[0]["measurements"].([]any) {
		if m := m.(map[string]any); m["message"] != nil || m["calls_per_s"].(float64) <= 0 {
			t.Errorf("measurement %v", m)
		}
	}
}
