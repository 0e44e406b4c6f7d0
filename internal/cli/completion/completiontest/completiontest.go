// Package completiontest runs completion scripts in their shells. A test skips if its shell is not
// installed.
package completiontest

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/cli/completion"
	"github.com/rpcrdma/rpcrdma/internal/witness"
)

// Case is a command line whose last word is to be completed.
type Case struct {
	Line string
	Want []string // completions that must be among those offered
	Not  string   // a completion that must not be
}

// Bash checks a script for bash with the cases, in the current folder.
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

// Fish checks a script for fish with the cases, in the current folder.
func Fish(t *testing.T, script string, cases []Case) {
	t.Helper()
	fish, file := shell(t, "fish", script)
	for _, c := range cases {
		c.check(t, exec.Command(fish, "--no-config", "-c", "source "+completion.QuoteFish(file)+"; complete -C "+completion.QuoteFish(c.Line)))
	}
}

// Zsh checks a script for zsh with the cases, in the current folder. It types each line and a tab
// into an interactive zsh, in a pseudo-terminal, with zsh's own completion system.
func Zsh(t *testing.T, script string, cases []Case) {
	t.Helper()
	zsh, file := shell(t, "zsh", script)
	setup := filepath.Join(t.TempDir(), "setup")
	if err := os.WriteFile(setup, []byte(fmt.Sprintf(zshSetup, completion.Quote(file))), 0o666); err != nil {
		t.Fatal(err)
	}
	args := []string{"-f", "-c", zshDriver, "zsh", setup}
	for _, c := range cases {
		args = append(args, c.Line)
	}
	// The limit is for a zsh that waits for input.
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	out, err := exec.CommandContext(ctx, zsh, args...).CombinedOutput()
	replies := strings.Split(string(out), "end of matches\n")
	if err != nil || len(replies) != len(cases)+1 {
		t.Fatalf("zsh: %v, found %d replies, expected %d\n%s", err, len(replies)-1, len(cases), out)
	}
	for i, c := range cases {
		c.checkLines(t, replies[i])
	}
}

// zshDriver starts a zsh in a pseudo-terminal and has it source $1. Then it types each further
// argument, a tab, and a key that clears the line.
const zshDriver = `
zmodload zsh/zpty
zpty inner zsh -f -i
zpty -w inner "source ${(q)1}"
zpty -r -m inner out '*READY*' || exit 1
shift
for typed; do
    zpty -w -n inner $typed$'\t\x18'
    zpty -r -m inner out '*DONE*' || exit 1
    for line in ${(f)out//$'\r'}; do [[ $line == 'match '* ]] && print -r -- ${line#match }; done
    print 'end of matches'
done
`

// zshSetup loads the completion system and the script, and prints each match on a line of its own.
const zshSetup = `
unsetopt prompt_cr prompt_sp beep zle
PROMPT=
autoload -Uz compinit
compinit -D -u
source %s
compadd() {
    if [[ ${@[1,(i)(-|--)]} == *-(O|A|D)\ * ]]; then # fills an array for another function
        builtin compadd "$@"
        return
    fi
    local -a matches
    builtin compadd -A matches "$@"
    ((${#matches})) && print -rl -- "" "match "$^matches
    builtin compadd "$@"
}
finish() { BUFFER=; print -r -- "" DO''NE }
zle -N finish
bindkey '^X' finish
setopt zle
print REA''DY
`

// shell finds a shell and writes its script to a file.
func shell(t *testing.T, name, script string) (bin, file string) {
	t.Helper()
	bin = witness.Program(t, name)
	file = filepath.Join(t.TempDir(), "script")
	if err := os.WriteFile(file, []byte(script), 0o666); err != nil {
		t.Fatal(err)
	}
	return bin, file
}

// check compares the lines that a command prints, each up to a tab, with the case.
func (c *Case) check(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("%q: %v %s", c.Line, err, out)
	}
	c.checkLines(t, string(out))
}

func (c *Case) checkLines(t *testing.T, out string) {
	t.Helper()
	var have []string
	for line := range strings.Lines(out) {
		word, _, _ := strings.Cut(line, "\t")
		have = append(have, strings.TrimSuffix(strings.TrimSpace(word), "/"))
	}
	for _, w := range c.Want {
		if !slices.Contains(have, w) {
			t.Errorf("%q: found %q, expected %s among them", c.Line, have, w)
		}
	}
	if c.Not != "" && slices.Contains(have, c.Not) {
		t.Errorf("%q: found %q, expected no %s", c.Line, have, c.Not)
	}
}
