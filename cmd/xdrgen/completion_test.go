package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"github.com/rpcrdma/rpcrdma/internal/cli/completion"
	"github.com/rpcrdma/rpcrdma/internal/cli/completion/completiontest"
)

func testModel(t *testing.T) []completion.Command {
	t.Helper()
	parser, err := kong.New(&commandLine{}, kong.Name("xdrgen"), kong.NoDefaultHelp())
	if err != nil {
		t.Fatal(err)
	}
	return completionCommands(parser.Model)
}

// TestCompletionModel checks that the main help lists every command, and that every command has
// a help text with all its flags.
func TestCompletionModel(t *testing.T) {
	for _, c := range testModel(t) {
		if c.Name == "help" {
			for _, topic := range c.Args {
				if _, ok := help(topic); !ok {
					t.Errorf("there is no help on %s", topic)
				}
			}
			continue
		}
		text, ok := help(c.Name)
		if c.Help == "" || !ok {
			t.Errorf("%s: line of the main help %q, has a help text: %v", c.Name, c.Help, ok)
		}
		for _, f := range c.Flags {
			if !strings.Contains(text, f.Name+" ") {
				t.Errorf("help %s does not mention %s", c.Name, f.Name)
			}
			if f.Kind == completion.OneOf && len(f.Values) < 2 {
				t.Errorf("%s %s: values %v", c.Name, f.Name, f.Values)
			}
		}
	}
}

// completionFolder changes to a new folder with files, and returns the script for a shell. The
// script gets the types from a substitute for xdrgen.
func completionFolder(t *testing.T, shell string) string {
	t.Helper()
	text, stderr, code := runCommand(t, "completion", shell)
	if code != exitClean {
		t.Fatal(stderr)
	}
	dir := writeFiles(t, map[string]string{
		"work/a.x": "", "work/b.txt": "", "work/sub/c.x": "",
		"bin/xdrgen": "#!/bin/sh\n[ \"$1 $2 $3\" = \"completion -types a.x\" ] && echo alpha && echo beta\n",
	})
	if err := os.Chmod(filepath.Join(dir, "bin/xdrgen"), 0o777); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", filepath.Join(dir, "bin")+string(filepath.ListSeparator)+os.Getenv("PATH"))
	t.Chdir(filepath.Join(dir, "work"))
	return text
}

var completionCases = []completiontest.Case{
	{Line: "xdrgen c", Want: []string{"check", "completion"}, Not: "gen"},
	{Line: "xdrgen check -f", Want: []string{"-format"}, Not: "-strict"},
	{Line: "xdrgen check -format ", Want: []string{"text", "json", "sarif", "github"}, Not: "a.x"},
	{Line: "xdrgen check ", Want: []string{"a.x", "sub"}, Not: "b.txt"},
	{Line: "xdrgen check -I ", Want: []string{"sub"}, Not: "a.x"},
	{Line: "xdrgen dump -as b", Want: []string{"base64"}, Not: "raw"},
	{Line: "xdrgen dump ", Want: []string{"a.x", "b.txt"}, Not: "raw"},
	{Line: "xdrgen completion ", Want: []string{"bash", "zsh", "fish"}, Not: "a.x"},
	{Line: "xdrgen explain XDR010", Want: []string{"XDR0101"}, Not: "XDR0201"},
	{Line: "xdrgen fmt ", Want: []string{"a.x", "sub"}, Not: "b.txt"},
	{Line: "xdrgen compat ", Want: []string{"a.x", "sub"}, Not: "b.txt"},
	{Line: "xdrgen dump b.txt a.x -type ", Want: []string{"alpha", "beta"}, Not: "a.x"},
	{Line: "xdrgen json -type be", Want: []string{"beta"}, Not: "alpha"},
	{Line: "xdrgen lint -disable unb", Want: []string{"unbounded-data", "unbounded-list"}, Not: "recursive-type"},
	{Line: "xdrgen compat -allow so", Want: []string{"source"}, Not: "wire"},
	{Line: "xdrgen explain undefined-t", Want: []string{"undefined-type"}, Not: "XDR0101"},
	{Line: "xdrgen help si", Want: []string{"sidecar"}, Not: "check"},
}

func TestBashCompletion(t *testing.T) {
	completiontest.Bash(t, "xdrgen", completionFolder(t, "bash"), completionCases)
}

func TestFishCompletion(t *testing.T) {
	completiontest.Fish(t, completionFolder(t, "fish"), completionCases)
}

func TestZshCompletion(t *testing.T) {
	completiontest.Zsh(t, completionFolder(t, "zsh"), completionCases)
}

// TestCompletionTypes checks the list of types that the scripts use.
func TestCompletionTypes(t *testing.T) {
	t.Chdir(writeFiles(t, map[string]string{
		"a.x": "typedef int one;\nstruct two { int a; };\nprogram P { version V { one F(two) = 1; } = 1; } = 1;\n", "bad.x": "struct {",
	}))
	for files, want := range map[string]string{"a.x": "one two P.V.F.args P.V.F.result", "bad.x": "", "none.x": ""} {
		stdout, stderr, code := runCommand(t, "completion", "-types", files)
		if got := strings.Join(strings.Fields(stdout), " "); got != want || stderr != "" || code != exitClean {
			t.Errorf("%s: exit code %d, %q %s, expected %q", files, code, got, stderr, want)
		}
	}
}
