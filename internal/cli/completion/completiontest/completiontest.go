// Package completiontest runs completion scripts in the shells that they are for. A test skips where its shell is not
// installed.
package completiontest

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rpcrdma/rpcrdma/internal/cli/completion"
)

// Case is a command line whose last word is under way.
type Case struct {
	Line string
	Want []string // all of them are completions of the word
	Not  string   // which is none
}

// Bash holds a script for bash against the cases, in the current folder.
func Bash(t *testing.T, tool, script string, cases []Case) {
	t.Helper()
	bash, file := shell(t, "bash", script)
	for _, c := range cases {
		words := strings.Split(c.Line, " ")
		for i := range words {
			words[i] = completion.Quote(words[i])
		}
		c.check(t, exec.Command(bash, "--norc", "-c", "source "+completion.Quote(file)+" && COMP_WORDS=("+strings.Join(words, " ")+
			") COMP_CWORD=$((${#COMP_WORDS[@]}-1)) && _"+tool+"; printf '%s\\n' \"${COMPREPLY[@]}\""))
	}
}

// Fish holds a script for fish against the cases, in the current folder.
func Fish(t *testing.T, script string, cases []Case) {
	t.Helper()
	fish, file := shell(t, "fish", script)
	for _, c := range cases {
		c.check(t, exec.Command(fish, "--no-config", "-c", "source "+completion.QuoteFish(file)+"; complete -C "+completion.QuoteFish(c.Line)))
	}
}

// Zsh runs a script with the functions of zsh's completion replaced by ones that print what they are given: each case
// wants words of that in place of completions.
func Zsh(t *testing.T, tool, script string, cases []Case) {
	t.Helper()
	zsh, file := shell(t, "zsh", script)
	const stub = `compdef() { : }; _describe() { print -l -- ${(P)2} }; _arguments() { print -l -- "$@" }; `
	for _, c := range cases {
		words := strings.Split(c.Line, " ")
		for i := range words {
			words[i] = completion.Quote(words[i])
		}
		c.check(t, exec.Command(zsh, "-f", "-c", stub+"source "+completion.Quote(file)+"; words=("+strings.Join(words, " ")+"); CURRENT=$#words; _"+tool))
	}
}

// shell finds a shell and writes its script to a file.
func shell(t *testing.T, name, script string) (bin, file string) {
	t.Helper()
	bin, err := exec.LookPath(name)
	if err != nil {
		t.Skipf("%s is not installed", name)
	}
	file = filepath.Join(t.TempDir(), "script")
	if err := os.WriteFile(file, []byte(script), 0o666); err != nil {
		t.Fatal(err)
	}
	return bin, file
}

// check holds the lines that a command prints, each up to a tab, against the case.
func (c *Case) check(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("%q: %v %s", c.Line, err, out)
	}
	var have []string
	for line := range strings.Lines(string(out)) {
		word, _, _ := strings.Cut(line, "\t")
		have = append(have, strings.TrimSuffix(strings.TrimSpace(word), "/"))
	}
	for _, w := range c.Want {
		if !slices.Contains(have, w) {
			t.Errorf("%q: no %s in %q", c.Line, w, have)
		}
	}
	if c.Not != "" && slices.Contains(have, c.Not) {
		t.Errorf("%q: %s in %q", c.Line, c.Not, have)
	}
}
