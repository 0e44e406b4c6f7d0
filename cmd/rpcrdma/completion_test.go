package main

import (
	"context"
	"os"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"github.com/rpcrdma/rpcrdma/internal/cli/completion"
	"github.com/rpcrdma/rpcrdma/internal/cli/completion/completiontest"
)

// Every command has a line in the main help, and its own help has every flag.
func TestCompletionModel(t *testing.T) {
	parser, err := kong.New(&commandLine{}, kong.Name("rpcrdma"), kong.NoDefaultHelp())
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range completionCommands(parser.Model) {
		if c.Name == "help" {
			for _, topic := range c.Args {
				if _, ok := help(topic); !ok {
					t.Errorf("no help %s", topic)
				}
			}
			continue
		}
		text, ok := help(c.Name)
		if c.Help == "" || !ok {
			t.Errorf("%s: line of the main help %q, help of its own %v", c.Name, c.Help, ok)
		}
		for _, f := range c.Flags {
			if !strings.Contains(text, "\n  "+f.Name+" ") {
				t.Errorf("help %s does not speak of %s", c.Name, f.Name)
			}
			if f.Kind == completion.OneOf && len(f.Values) < 2 {
				t.Errorf("%s %s: values %v", c.Name, f.Name, f.Values)
			}
		}
	}
}

func TestShellsCompleteWords(t *testing.T) {
	cases := []completiontest.Case{
		{Line: "rpcrdma p", Want: []string{"ping", "perf"}, Not: "serve"},
		{Line: "rpcrdma perf -pro", Want: []string{"-provider"}, Not: "-size"},
		{Line: "rpcrdma ping -provider ", Want: []string{"rdmatcp", "iwarp", "mem"}, Not: "-c"},
		{Line: "rpcrdma ping -versions ", Want: []string{"2,1", "1"}, Not: "mem"},
		{Line: "rpcrdma serve -trace ", Want: []string{"file.txt"}, Not: "mem"},
		{Line: "rpcrdma call -carrier ", Want: []string{"tcp", "rdma"}, Not: "file.txt"},
		{Line: "rpcrdma call -tls ", Want: []string{"off", "wanted", "required"}, Not: "file.txt"},
		{Line: "rpcrdma call ", Want: []string{"notes.x"}, Not: "file.txt"},
		{Line: "rpcrdma help ex", Want: []string{"exit-codes"}, Not: "perf"},
		{Line: "rpcrdma completion ", Want: completion.Shells, Not: "file.txt"},
	}
	script := func(t *testing.T, shell string) string {
		code, text, stderr := try(context.Background(), "completion", shell)
		if code != exitDone {
			t.Fatal(stderr)
		}
		t.Chdir(t.TempDir())
		for _, name := range []string{"file.txt", "notes.x"} {
			if err := os.WriteFile(name, nil, 0o666); err != nil {
				t.Fatal(err)
			}
		}
		return text
	}
	t.Run("bash", func(t *testing.T) {
		text := script(t, "bash")
		if err := os.WriteFile("hosts", []byte("192.0.2.1 garden\n"), 0o666); err != nil {
			t.Fatal(err)
		}
		t.Setenv("HOSTFILE", "hosts")
		completiontest.Bash(t, "rpcrdma", text, append(cases, completiontest.Case{Line: "rpcrdma ping gar", Want: []string{"garden"}}))
	})
	t.Run("fish", func(t *testing.T) { completiontest.Fish(t, script(t, "fish"), cases) })
	t.Run("zsh", func(t *testing.T) { completiontest.Zsh(t, script(t, "zsh"), cases) })
	if code, _, stderr := try(context.Background(), "completion", "tcsh"); code != exitUsage || !strings.Contains(stderr, "bash, zsh, fish") {
		t.Errorf("another shell: exit %d, %s", code, stderr)
	}
}
