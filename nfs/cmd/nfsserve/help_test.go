package main

import (
	"bytes"
	"flag"
	"os"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/rpcrdma/rpcrdma/internal/cli/completion/completiontest"
)

// try runs a command line that ends by itself.
func try(t *testing.T, args ...string) (stdout, stderr string, code int) {
	var out, errs bytes.Buffer
	code = run(t.Context(), args, &out, &errs)
	return out.String(), errs.String(), code
}

// The help describes the flags and no others, and fits a terminal.
func TestHelpDescribesEachFlag(t *testing.T) {
	help, errs, code := try(t, "-h")
	if again, _, _ := try(t, "help"); code != 0 || errs != "" || again != help {
		t.Errorf("exit code %d, %s", code, errs)
	}
	described := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^  -([\w-]+)(?: [A-Z]+)?  `).FindAllStringSubmatch(help, -1) {
		described[m[1]] = true
	}
	set := flag.NewFlagSet("nfsserve", flag.ContinueOnError)
	new(options).define(set)
	set.VisitAll(func(f *flag.Flag) {
		if !described[f.Name] {
			t.Errorf("the help does not describe -%s", f.Name)
		}
		delete(described, f.Name)
	})
	if len(described) > 0 {
		t.Errorf("the help describes flags that do not exist: %v", described)
	}
	for line := range strings.Lines(help) {
		if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > 80 {
			t.Errorf("the help has %d columns: %s", n, line)
		}
	}
}

// The version is printed, without files to serve.
func TestVersionIsPrinted(t *testing.T) {
	for _, word := range []string{"-version", "--version", "version"} {
		if out, errs, code := try(t, word); code != 0 || errs != "" || !strings.HasPrefix(out, "nfsserve") || strings.Count(out, "\n") != 1 {
			t.Errorf("%s: exit code %d, %s%s", word, code, out, errs)
		}
	}
}

// Wrong words are errors of usage on stderr, with the right word.
func TestWrongWordsAreAnsweredWithTheRightOne(t *testing.T) {
	for line, want := range map[string]string{
		"-exprot /e dir": `unknown flag "-exprot"; did you mean -export?`, "": "expected DIR", "-provider ibverbs=x dir": "make build-ibverbs",
		"-completion csh": "bash, zsh, fish", "-grace 5 dir": "a duration with its unit",
	} {
		if strings.Contains(helpText, "ibverbs[=DEVICE]") && strings.Contains(line, "ibverbs") {
			continue // this build has the provider
		}
		out, errs, code := try(t, strings.Fields(line)...)
		if code != 2 || out != "" || !strings.Contains(errs, want) {
			t.Errorf("nfsserve %s: exit code %d, %s%s, expected %q", line, code, out, errs, want)
		}
	}
	if _, errs, code := try(t, "-portmap", "off", "-tcp", "127.0.0.1:0", "-rdma", "", t.TempDir()+"/none"); code != 1 || errs == "" {
		t.Errorf("a directory that does not exist: exit code %d, %s", code, errs)
	}
}

// The command lines for clients have the host and what the client cannot ask for.
func TestAdviceForClients(t *testing.T) {
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		o           options
		tcp, rdma   string
		mapped      bool
		mount, list string
	}{
		{options{provider: "rdmatcp"}, "127.0.0.1:2049", "127.0.0.1:20049", false,
			"-o vers=3,nolock,tcp,port=2049,mountport=2049,mountproto=tcp 127.0.0.1:/export", "ls -provider rdmatcp -port 20049 -mountport 2049 127.0.0.1:/export"},
		{options{provider: "iwarp"}, "127.0.0.1:2049", "127.0.0.1:20049", true, "-o nolock 127.0.0.1:/export", "ls 127.0.0.1:/export"},
		{options{provider: "iwarp"}, "192.0.2.7:2049", "192.0.2.7:20049", true, "192.0.2.7:/export", "ls 192.0.2.7:/export"},
		{options{}, "[2001:db8::1]:2049", "", true, "[2001:db8::1]:/export", "ls -transport tcp [2001:db8::1]:/export"},
		{options{}, "127.0.0.1:99", "", false,
			"-o vers=3,nolock,tcp,port=99,mountport=99,mountproto=tcp 127.0.0.1:/export", "ls -transport tcp -port 99 -mountport 99 127.0.0.1:/export"},
		{options{}, "0.0.0.0:2049", "", true, host + ":/export", "ls -transport tcp " + host + ":/export"},
	} {
		tt.o.Export = "/export"
		want := "to mount it, as root: mount -t nfs " + tt.mount + " /mnt\nwithout a mount: nfs " + tt.list + "\n"
		if got := tt.o.advice(tt.tcp, tt.rdma, tt.mapped); got != want {
			t.Errorf("found %q, expected %q", got, want)
		}
	}
	if got := word("a b'c"); got != `'a b'\''c'` {
		t.Errorf("%s is not quoted for a shell", got)
	}
}

var completionCases = []completiontest.Case{
	{Line: "nfsserve -st", Want: []string{"-state", "-strict-cookies"}},
	{Line: "nfsserve -fs ", Want: []string{"dir", "zip", "mem"}, Not: "main.go"},
	{Line: "nfsserve -portmap o", Want: []string{"own", "off"}, Not: "auto"},
	{Line: "nfsserve -ro main.g", Want: []string{"main.go"}},
}

// The scripts complete flags, values and files in their shells.
func TestScriptsCompleteInTheirShells(t *testing.T) {
	script := func(shell string) string {
		text, errs, code := try(t, "-completion", shell)
		if code != 0 || !strings.Contains(text, "nfsserve -completion "+shell) {
			t.Fatalf("%s: exit code %d, %s", shell, code, errs)
		}
		return text
	}
	t.Run("bash", func(t *testing.T) { completiontest.Bash(t, "nfsserve", script("bash"), completionCases) })
	t.Run("zsh", func(t *testing.T) { completiontest.Zsh(t, script("zsh"), completionCases) })
	t.Run("fish", func(t *testing.T) { completiontest.Fish(t, script("fish"), completionCases) })
}
