package main

import (
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/rpcrdma/rpcrdma/internal/growth"
)

// TestCostGrowsWithTheInput runs the commands on inputs of size n and 4n in many dimensions. Their
// cost and their output must not grow faster than the input.
func TestCostGrowsWithTheInput(t *testing.T) {
	if testing.Short() {
		t.Skip("to measure every command at two sizes takes long")
	}
	defer debug.SetGCPercent(debug.SetGCPercent(400)) // collections were 40% of the time
	commands := []struct {
		name   string
		writes bool // Go, which is far more than what other commands put out
		args   func(dir string) []string
	}{
		{"check", false, func(dir string) []string { return []string{"check", "-errors", "0", dir + "/new/proto.x"} }},
		{"fmt", false, func(dir string) []string { return []string{"fmt", dir + "/new/proto.x"} }},
		{"lint", false, func(dir string) []string {
			return []string{"lint", "-errors", "0", "-level", "advice", dir + "/new/proto.x"}
		}},
		{"lint sizes", false, func(dir string) []string { return []string{"lint", "-sizes", dir + "/new/proto.x"} }},
		{"gen names", false, func(dir string) []string { return []string{"gen", "-names", "-errors", "0", dir + "/new/proto.x"} }},
		{"compat", false, func(dir string) []string {
			return []string{"compat", "-all", dir + "/old/proto.x", dir + "/new/proto.x"}
		}},
		{"gen", true, func(dir string) []string {
			return []string{"gen", "-errors", "0", "-tests", "-package", "p", "-o", dir + "/out", dir + "/new/proto.x"}
		}},
	}
	for _, d := range dimensions() {
		for _, c := range commands {
			n := d.read
			switch {
			case c.writes && d.write != 0:
				n = d.write
			case c.writes:
				n = 60
			case n == 0:
				n = 400
			}
			if n < 0 {
				continue
			}
			t.Run(d.name+"/"+c.name, func(t *testing.T) {
				costs, err := growth.Linear(n, func(n int) func() int {
					dir := d.files(t, n)
					args := c.args(dir)
					return func() int {
						out, errs, code := runCommand(t, args...)
						refused := code == exitFailed && c.name == "compat" // for files with errors
						if code != exitClean && code != exitFindings && !refused {
							t.Fatalf("%s: exit code %d\n%.2000s", strings.Join(args, " "), code, errs)
						}
						return len(out) + len(errs) + written(t, dir+"/out")
					}
				})
				if err != nil {
					t.Errorf("n = %d: %v", n, err)
				}
				t.Logf("%v", costs)
			})
		}
	}
}

// files writes the unit of size n twice, as two versions for compat.
func (d dimension) files(t *testing.T, n int) (dir string) {
	t.Helper()
	text := d.text(n)
	dir = t.TempDir()
	for _, state := range []string{"old", "new"} {
		path := filepath.Join(dir, state, "proto.x")
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		if d.bind == nil {
			continue
		}
		if err := os.WriteFile(filepath.Join(filepath.Dir(path), "proto.bind"), []byte(d.bind(n)), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// written returns the number of bytes in the files of a folder.
func written(t *testing.T, dir string) (n int) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		return 0
	}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			t.Fatal(err)
		}
		n += int(info.Size())
	}
	return n
}
