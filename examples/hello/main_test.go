package main

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/rpcrdma/rpcrdma/internal/leak"
	"github.com/rpcrdma/rpcrdma/internal/witness"
)

func TestMain(m *testing.M) { os.Exit(leak.Run(m)) }

func readme(t *testing.T) string {
	t.Helper()
	page, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(page)
}

// The code of README.md is all of main.go after its imports, and the page stays short.
func TestReadmeShowsTheProgram(t *testing.T) {
	source, err := os.ReadFile("main.go")
	if err != nil {
		t.Fatal(err)
	}
	page := readme(t)
	_, code, _ := strings.Cut(page, "\n```go\n")
	code, _, _ = strings.Cut(code, "```\n")
	_, want, ok := strings.Cut(string(source), "asks for.\n")
	if want = strings.ReplaceAll(want, "\t", "    "); !ok || code != want {
		t.Errorf("README.md has\n%s\nexpected, of main.go,\n%s", code, want)
	}
	if n := strings.Count(page, "\n"); n > 120 {
		t.Errorf("README.md has %d lines, expected at most 120", n)
	}
}

// The commands to try do what the page says.
func TestReadmeCommands(t *testing.T) {
	if testing.Short() {
		t.Skip("builds programs")
	}
	bash := witness.Program(t, "bash")
	_, section, _ := strings.Cut(readme(t), "\n## Try it\n")
	section, _, _ = strings.Cut(section, "\n## ")
	wants := []string{"hello, world\nhello, world\n", "calls/s", "XDR0"}
	n := 0
	for line := range strings.Lines(section) {
		command, ok := strings.CutPrefix(line, "    ")
		if !ok {
			continue
		}
		if n == len(wants) {
			t.Fatalf("more commands than this test knows: %s", command)
		}
		cmd := exec.CommandContext(t.Context(), bash, "-c", strings.Replace(command, "-t 2s", "-t 200ms", 1))
		cmd.Dir = "../.."
		cmd.Env = append(os.Environ(), "GOFLAGS=-buildvcs=false -trimpath")
		if out, err := cmd.CombinedOutput(); !strings.Contains(string(out), wants[n]) {
			t.Errorf("%sfound %v\n%s\nexpected %q", command, err, out, wants[n])
		}
		n++
	}
	if n != len(wants) {
		t.Errorf("%d commands, expected %d", n, len(wants))
	}
}
