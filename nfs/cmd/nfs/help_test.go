package main

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/rpcrdma/rpcrdma/internal/cli/completion/completiontest"
)

// try runs a command line without a server.
func try(ctx context.Context, args ...string) (stdout, stderr string, code int) {
	var out, errs bytes.Buffer
	p := &program{stdout: &out, stderr: &errs}
	code = p.report(p.run(ctx, args))
	return out.String(), errs.String(), code
}

// helpFlag matches a flag at the beginning of its text in the help.
var helpFlag = regexp.MustCompile(`(?m)^  (-[\w-]+)(?:, (-[\w-]+))?(?: [A-Z]+)?  `)

// The help of a command describes its flags and no others, is asked for in three ways, and fits a
// terminal.
func TestHelpDescribesEachFlag(t *testing.T) {
	for command := range commands(&program{}) {
		help, _, code := try(t.Context(), "help", command)
		for _, other := range [][]string{{command, "-h"}, {command, "-r", "--help"}} {
			if text, _, again := try(t.Context(), other...); text != help || code != 0 || again != 0 {
				t.Errorf("nfs %q prints %q, expected the help of %s", other, text, command)
			}
		}
		described := map[string]bool{}
		for _, m := range helpFlag.FindAllStringSubmatch(help, -1) {
			described[m[1]], described[m[2]] = true, true
		}
		delete(described, "")
		var p program
		p.define(command)
		p.flags.VisitAll(func(f *flag.Flag) {
			if !described["-"+f.Name] {
				t.Errorf("nfs help %s does not describe -%s", command, f.Name)
			}
			delete(described, "-"+f.Name)
		})
		if len(described) > 0 {
			t.Errorf("nfs help %s describes flags that the command lacks: %v", command, described)
		}
	}
	for topic := range topics {
		help, _, code := try(t.Context(), append([]string{"help"}, strings.Fields(topic)...)...)
		if code != 0 || len(help) < 40 {
			t.Errorf("help %q: exit code %d, %q", topic, code, help)
		}
		for line := range strings.Lines(help) {
			if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > 80 {
				t.Errorf("nfs help %s has %d columns: %s", topic, n, line)
			}
		}
	}
}

// The examples of the help are command lines without an error of usage.
func TestExamplesOfHelpParse(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(&interrupted{os.Interrupt}) // so that each ends at once
	n := 0
	for topic, text := range topics {
		for line := range strings.Lines(text) {
			words, ok := strings.CutPrefix(line, "  nfs ")
			if !ok || topic == "completion" {
				continue
			}
			words, _, _ = strings.Cut(words, "   ")
			words, _, _ = strings.Cut(words, "|")
			n++
			if _, errs, code := try(ctx, strings.Fields(words)...); code == exitUsage {
				t.Errorf("nfs %s: %s", words, errs)
			}
		}
	}
	if n < 12 {
		t.Errorf("found %d examples", n)
	}
}

// A wrong word is answered with the right one.
func TestWrongWordsAreAnsweredWithTheRightOne(t *testing.T) {
	for line, want := range map[string]string{
		"ptu": "did you mean nfs put?", "list h:/": "did you mean nfs ls?", "copy": "nfs get or nfs put?", "hlp": "nfs help?",
		"serve": "nfsserve", "get -resum a:/ b": `unknown flag "-resum"; did you mean -resume?`, "ls -la h:/": "did you mean -l?",
		"help gte": "did you mean get?", "help exit": "no help topic", "completion": "expected a shell", "completion csh": "bash, zsh, fish",
		"-l ls": "expected a command first",
	} {
		if _, errs, code := try(t.Context(), strings.Fields(line)...); code != exitUsage || !strings.Contains(errs, want) {
			t.Errorf("nfs %s: exit code %d, %s, expected %q", line, code, errs, want)
		}
	}
	if out, _, code := try(t.Context(), "--version"); code != 0 || !strings.HasPrefix(out, "nfs") {
		t.Errorf("--version: %q, exit code %d", out, code)
	}
}

// The help names each field of JSON lines.
func TestHelpNamesTheFieldsOfJSON(t *testing.T) {
	f := serve(t, "tcp")
	write(t, f.dir+"/a\xff", 10)
	dest := f.base + "/copy"
	var events bytes.Buffer
	(&meter{program: &program{stdout: &events}}).show(time.Now())
	lines := events.String() + f.done(t, "ls", "-json", target) + f.done(t, "get", "-r", "-json", target, dest)
	missing, _, _ := f.run(t.Context(), "ls", "-json", target+"/none")
	for line := range strings.Lines(lines + missing) {
		var fields map[string]any
		check(t, json.Unmarshal([]byte(line), &fields))
		for name := range fields {
			if !regexp.MustCompile(`\b` + name + `\b`).MatchString(helpJSON) {
				t.Errorf("nfs help json does not name %s of %s", name, line)
			}
		}
	}
}

var completionCases = []completiontest.Case{
	{Line: "nfs ", Want: []string{"ls", "cat", "get", "put", "help", "completion", "version"}, Not: "exit-codes"},
	{Line: "nfs p", Want: []string{"put"}, Not: "get"},
	{Line: "nfs help ", Want: []string{"ls", "exit-codes", "json"}},
	{Line: "nfs get -re", Want: []string{"-resume"}},
	{Line: "nfs ls -transport ", Want: []string{"rdma", "tcp"}},
	{Line: "nfs ls -provider ", Want: []string{"iwarp", "rdmatcp"}, Not: "tcp"},
	{Line: "nfs put main.g", Want: []string{"main.go"}},
	{Line: "nfs completion ", Want: []string{"bash", "zsh", "fish"}},
}

// The scripts complete commands, flags, values and files in their shells.
func TestScriptsCompleteInTheirShells(t *testing.T) {
	script := func(shell string) string {
		text, errs, code := try(t.Context(), "completion", shell)
		if code != 0 {
			t.Fatalf("completion %s: exit code %d, %s", shell, code, errs)
		}
		return text
	}
	t.Run("bash", func(t *testing.T) { completiontest.Bash(t, "nfs", script("bash"), completionCases) })
	t.Run("zsh", func(t *testing.T) { completiontest.Zsh(t, script("zsh"), completionCases) })
	t.Run("fish", func(t *testing.T) { completiontest.Fish(t, script("fish"), completionCases) })
}
