package main

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/lint"
)

func TestLintReportsHazards(t *testing.T) {
	dir := writeFiles(t, map[string]string{
		"ok/ok.x":   "struct a { int x; };\n",
		"bad/bad.x": "struct a { opaque x<>; };\nenum e { A = 1 };\n",
		"err/err.x": "struct a { nothing x; };\n",
	})
	t.Chdir(dir)
	tests := []struct {
		args  string
		rules string // found, in order
		code  int
	}{
		{"ok/ok.x", "", exitClean},
		{"bad/bad.x", "unbounded-data", exitFindings},
		{"-level advice bad/bad.x", "unbounded-data enum-without-zero", exitFindings},
		{"-disable unbounded-data bad/bad.x", "", exitClean},
		{"-level advice -disable unbounded-data,enum-without-zero bad/bad.x", "", exitClean},
		{"err/err.x", "undefined-type", exitFindings},
	}
	for _, tt := range tests {
		t.Run(tt.args, func(t *testing.T) {
			lines, _, code := runCommand(t, append([]string{"lint", "-format", "json"}, strings.Fields(tt.args)...)...)
			found := parseFindings(t, lines)
			var rules []string
			for _, f := range found[:len(found)-1] {
				rules = append(rules, f.Rule)
			}
			if last := found[len(found)-1]; last.Type != "summary" || last.Errors+last.Warnings != len(rules) {
				t.Errorf("last line %+v after %d findings", last, len(rules))
			}
			if got := strings.Join(rules, " "); code != tt.code || got != tt.rules {
				t.Errorf("exit code %d, rules %s; expected %d, %s", code, got, tt.code, tt.rules)
			}
		})
	}
	stdout, stderr, _ := runCommand(t, "lint", "bad/bad.x")
	const want = `bad/bad.x:1:12: warning: XDL0101 unbounded-data: a.x has no bound
  |
1 | struct a { opaque x<>; };
  |            ^^^^^^^^^^
  = note: a peer can send up to 4 GB, and each reader chooses a limit of its own
  = rule: RFC 4506 §8
  = help: declare the bound that the protocol intends: name<MAX>
`
	if stdout != want || stderr != "xdrgen: 0 errors, 1 warning\n" {
		t.Errorf("stdout\n%sexpected\n%sstderr %s", stdout, want, stderr)
	}
	if _, stderr, code := runCommand(t, "lint", "-disable", "unbounded", "ok/ok.x"); code != exitUsage || !strings.Contains(stderr, `found "unbounded", expected the name of a lint rule`) {
		t.Errorf("exit code %d: %s", code, stderr)
	}
	if out, _, _ := runCommand(t, "lint", "-format", "sarif", "bad/bad.x"); !json.Valid([]byte(out)) || !strings.Contains(out, `"XDL0101"`) {
		t.Errorf("sarif: %s", out)
	}
	if out, _, _ := runCommand(t, "lint", "-format", "github", "bad/bad.x"); !strings.HasPrefix(out, "::warning file=bad/bad.x,line=1,") {
		t.Errorf("github: %s", out)
	}
}

// TestLintSpec checks that the units of spec/x have no findings of three serious rules.
func TestLintSpec(t *testing.T) {
	units, err := filepath.Glob("../../spec/x/*")
	if err != nil || len(units) == 0 {
		t.Fatalf("no units: %v", err)
	}
	for _, dir := range units {
		files, err := filepath.Glob(dir + "/*.x")
		if err != nil || len(files) == 0 {
			continue
		}
		lines, stderr, _ := runCommand(t, append([]string{"lint", "-format", "json", "-I", "../../spec/x"}, files...)...)
		for _, f := range parseFindings(t, lines) {
			switch f.Rule {
			case "name-clash", "recursive-type", "elements-without-size":
				t.Errorf("%s: %s %v", dir, f.Rule, f.Where)
			}
		}
		if stderr != "" {
			t.Errorf("%s: %s", dir, stderr)
		}
	}
}

func TestHelpLintRules(t *testing.T) {
	text, _, code := runCommand(t, "help", "lint-rules")
	for _, r := range lint.Rules() {
		if code != exitClean || !strings.Contains(text, r.Code+" "+r.Name+" ("+r.Level.String()+")") || !strings.Contains(strings.Join(strings.Fields(text), " "), r.Reason) {
			t.Errorf("the help does not mention %s", r.Name)
		}
	}
}

// TestLintLeavesIncludedTextAlone checks an extension: the copies of included types have findings
// only for what the extension itself adds.
func TestLintLeavesIncludedTextAlone(t *testing.T) {
	dir := writeFiles(t, map[string]string{
		"base/base.x": "enum e { A = 1 };\nstruct a { opaque data<>; };\nunion u switch (e d) { case A: a a; };\nstruct all { u us<>; };\nprogram P { version V { void N(void) = 0; void DO(all) = 1; } = 1; } = 300000;\n",
		"ext/ext.x":   "#include \"base/base.x\"\nstruct b { opaque more<>; };\nB = 2;\ncase B: b b;\n", "ext/ext.bind": "amend e\namend u\n",
	})
	stdout, stderr, _ := runCommand(t, "lint", "-I", dir, dir+"/ext/ext.x")
	if !strings.Contains(stdout, "b.more has no bound") || strings.Contains(stdout, "all.us") || strings.Contains(stdout, "a.data") {
		t.Errorf("%s%s", stdout, stderr)
	}
}
