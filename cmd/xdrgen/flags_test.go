package main

import (
	"strings"
	"testing"

	"github.com/rpcrdma/rpcrdma/internal/cli"
	"github.com/rpcrdma/rpcrdma/internal/cli/completion"
)

// TestSharedFlags checks that every command that reads XDR files accepts the input flags and
// passes them to the compiler. The unit needs all of them.
func TestSharedFlags(t *testing.T) {
	t.Chdir(writeFiles(t, map[string]string{
		"units/base/base.x":    "typedef int base_t;\n",
		"units/base/base.bind": "package example.org/base\n",
		"u.x":                  "struct s { netid a; opaque b[LEN]; base_t c; };\n#ifdef EXTRA\ntypedef int extra;\n#endif\n",
		"data.bin":             "\x00\x00\x00\x01x\x00\x00\x00abcd\x00\x00\x00\x05",
		"out/none.go":          "",
	}))
	const flags = "-I units -D LEN=4 -D EXTRA -type netid=string<8> -import base/base.x -errors 3 -color never "
	for command, rest := range map[string]string{
		"check": "-strict u.x", "gen": "-o out -package out u.x", "diff": "-o out -package out u.x", "lint": "u.x",
		"compat": "u.x u.x", "dump": "-type s data.bin u.x", "json": "-type s data.bin u.x", "fmt": "-l u.x",
	} {
		stdout, stderr, code := runCommand(t, append([]string{command}, strings.Fields(flags+rest)...)...)
		if code == exitUsage || code == exitFailed || strings.Contains(stdout+stderr, "not declared") {
			t.Errorf("%s: exit code %d\n%s%s", command, code, stdout, stderr)
		}
	}
	for _, c := range testModel(t) {
		if c.Operands == completion.Words || c.Name == "corpus" {
			continue
		}
		for _, name := range []string{"-I", "-D", "-type", "-import", "-errors", "-color"} {
			if !c.Has(name) {
				t.Errorf("%s does not accept %s", c.Name, name)
			}
		}
	}
}

// TestStdinEverywhere reads a unit from standard input with each command that supports it.
func TestStdinEverywhere(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, args := range []string{"check -", "lint -", "gen -o out -package p -", "diff -o out -package p -", "fmt -"} {
		var out, errs strings.Builder
		code := run(strings.Fields(args), environment{
			stdin: strings.NewReader("struct  s { int a; };\n"), stdout: &out, stderr: &errs,
			getenv: func(string) string { return "" }, terminal: cli.IsTerminal,
		})
		if code != exitClean {
			t.Errorf("%s: exit code %d\n%s%s", args, code, out.String(), errs.String())
		}
	}
}
