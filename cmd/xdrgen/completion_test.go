package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
)

func testModel(t *testing.T) []command {
	t.Helper()
	parser, err := kong.New(&commandLine{}, kong.Name("xdrgen"), kong.NoDefaultHelp())
	if err != nil {
		t.Fatal(err)
	}
	return completionModel(parser.Model)
}

// TestCompletionModel holds that every command is in the main help, has help of
// its own, and that every flag is in that help.
func TestCompletionModel(t *testing.T) {
	for _, c := range testModel(t) {
		if c.name == "help" {
			for _, topic := range c.args {
				if _, ok := help(topic); !ok {
					t.Errorf("no help %s", topic)
				}
			}
			continue
		}
		text, ok := help(c.name)
		if c.help == "" || !ok {
			t.Errorf("%s: line of the main help %q, help of its own %v", c.name, c.help, ok)
		}
		for _, f := range c.flags {
			if !strings.Contains(text, f.name+" ") {
				t.Errorf("help %s does not speak of %s", c.name, f.name)
			}
			if f.kind == oneOf && len(f.values) < 2 {
				t.Errorf("%s %s: values %v", c.name, f.name, f.values)
			}
		}
	}
}

func shellScript(t *testing.T, shell string) (bin, file string) {
	t.Helper()
	text, stderr, code := runCommand(t, "completion", shell)
	if code != exitClean {
		t.Fatal(stderr)
	}
	bin, err := exec.LookPath(shell)
	if err != nil {
		t.Skipf("%s is not installed", shell)
	}
	dir := writeFiles(t, map[string]string{
		"script": text, "work/a.x": "", "work/b.txt": "", "work/sub/c.x": "",
		"bin/xdrgen": "#!/bin/sh\n[ \"$1 $2 $3\" = \"completion -types a.x\" ] && echo alpha && echo beta\n", // no more is asked of it
	})
	if err := os.Chmod(filepath.Join(dir, "bin/xdrgen"), 0o777); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", filepath.Join(dir, "bin")+string(filepath.ListSeparator)+os.Getenv("PATH"))
	t.Chdir(filepath.Join(dir, "work"))
	return bin, filepath.Join(dir, "script")
}

// completionCases are command lines whose last word is under way, and the
// completions of it.
var completionCases = []struct {
	line string
	want []string // all must be there
	not  string
}{
	{"xdrgen c", []string{"check", "completion"}, "gen"},
	{"xdrgen check -f", []string{"-format"}, "-strict"},
	{"xdrgen check -format ", []string{"text", "json", "sarif", "github"}, "a.x"},
	{"xdrgen check ", []string{"a.x", "sub"}, "b.txt"},
	{"xdrgen check -I ", []string{"sub"}, "a.x"},
	{"xdrgen dump -as b", []string{"base64"}, "raw"},
	{"xdrgen dump ", []string{"a.x", "b.txt"}, "raw"},
	{"xdrgen completion ", []string{"bash", "zsh", "fish"}, "a.x"},
	{"xdrgen explain XDR010", []string{"XDR0101"}, "XDR0201"},
	{"xdrgen fmt ", []string{"a.x", "sub"}, "b.txt"},
	{"xdrgen compat ", []string{"a.x", "sub"}, "b.txt"},
	{"xdrgen dump b.txt a.x -type ", []string{"alpha", "beta"}, "a.x"},
	{"xdrgen json -type be", []string{"beta"}, "alpha"},
	{"xdrgen lint -disable unb", []string{"unbounded-data", "unbounded-list"}, "recursive-type"},
	{"xdrgen compat -allow so", []string{"source"}, "wire"},
	{"xdrgen explain undefined-t", []string{"undefined-type"}, "XDR0101"},
	{"xdrgen help si", []string{"sidecar"}, "check"},
}

func checkCompletion(t *testing.T, line, out string, want []string, not string) {
	t.Helper()
	have := map[string]bool{}
	for _, l := range strings.Split(out, "\n") {
		word, _, _ := strings.Cut(l, "\t")
		have[strings.TrimSuffix(strings.TrimSpace(word), "/")] = true
	}
	for _, w := range want {
		if !have[w] {
			t.Errorf("%q: no %s in %q", line, w, out)
		}
	}
	if have[not] {
		t.Errorf("%q: %s in %q", line, not, out)
	}
}

func TestBashCompletion(t *testing.T) {
	bash, file := shellScript(t, "bash")
	for _, c := range completionCases {
		words := strings.Split(c.line, " ")
		for i := range words {
			words[i] = quoteShell(words[i])
		}
		out, err := exec.Command(bash, "--norc", "-c", "source "+quoteShell(file)+" && COMP_WORDS=("+strings.Join(words, " ")+
			") COMP_CWORD=$((${#COMP_WORDS[@]}-1)) && _xdrgen; printf '%s\\n' \"${COMPREPLY[@]}\"").CombinedOutput()
		if err != nil {
			t.Errorf("%q: %v %s", c.line, err, out)
		}
		checkCompletion(t, c.line, string(out), c.want, c.not)
	}
}

func TestFishCompletion(t *testing.T) {
	fish, file := shellScript(t, "fish")
	for _, c := range completionCases {
		out, err := exec.Command(fish, "--no-config", "-c", "source "+quoteFish(file)+"; complete -C "+quoteFish(c.line)).CombinedOutput()
		if err != nil {
			t.Errorf("%q: %v %s", c.line, err, out)
		}
		checkCompletion(t, c.line, string(out), c.want, c.not)
	}
}

// TestZshCompletion runs the script with the functions of zsh's completion
// replaced by ones that print what they are given.
func TestZshCompletion(t *testing.T) {
	zsh, file := shellScript(t, "zsh")
	const stub = `compdef() { : }; _describe() { print -l -- ${(P)2} }; _arguments() { print -l -- "$@" }; `
	for _, c := range []struct{ words, current, want string }{
		{"xdrgen c", "2", "check:check the files of one unit"},
		{"xdrgen check -f", "3", "*-format:value:(text json sarif github)"},
		{"xdrgen check ''", "3", `*:file:_files -g "*.x"`},
		{"xdrgen completion ''", "3", "*:word:(bash zsh fish)"},
		{"xdrgen dump -type ''", "4", "*-type:type:_xdrgen_types"},
	} {
		out, err := exec.Command(zsh, "-f", "-c", stub+"source "+quoteShell(file)+"; words=("+c.words+"); CURRENT="+c.current+"; _xdrgen").CombinedOutput()
		if err != nil || !strings.Contains(string(out), c.want) {
			t.Errorf("%q: %v %s", c.words, err, out)
		}
	}
}

// TestCompletionTypes prints what a script asks for.
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
