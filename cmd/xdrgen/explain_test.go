package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rpcrdma/rpcrdma/cmd/internal/diag"
	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/explain"
)

func TestExplainPrintsTheText(t *testing.T) {
	for _, c := range []struct {
		args           string
		code           int
		stdout, stderr string
	}{
		{"XDR0101", exitClean, "XDR0101 undefined-type (error)\n", ""},
		{"undefined-type", exitClean, "XDR0101 undefined-type (error)\n", ""},
		{"xdr0101 XDR0702", exitClean, "\n\nXDR0702 bare-unsigned (warning)\n", ""},
		{"-list", exitClean, "XDR0702 warning  bare-unsigned            write unsigned int\n", ""},
		{"XDL0101", exitClean, "XDL0101 unbounded-data (lint)\n", ""},
		{"field-added", exitClean, "field-added (compat)\n", ""},
		{"field-added", exitClean, "\nEffect: the wire: breaks; Go source: ok; an old peer can read what a new one sends: no; a new peer can read what an old one sends: no\n\nBefore:\n", ""},
		{"dead-default", exitClean, "\nHelp: remove the default, or make the discriminant an int if values may be added\n\nWrong:\n", ""},
		{"unbounded-dat", exitUsage, "", "did you mean unbounded-data?"},
		{"", exitUsage, "", "no code: give one, such as XDR0101"},
		{"undefined-typ", exitUsage, "", "did you mean undefined-type?"},
		{"zzz", exitUsage, "", "xdrgen explain -list shows them all"},
		{"-list XDR0101", exitUsage, "", "found -list and a code; expected one of them"},
	} {
		stdout, stderr, code := runCommand(t, append([]string{"explain"}, strings.Fields(c.args)...)...)
		if code != c.code || !strings.Contains(stdout, c.stdout) || !strings.Contains(stderr, c.stderr) {
			t.Errorf("explain %s: exit code %d\n%s%s", c.args, code, stdout, stderr)
		}
	}
	stdout, _, _ := runCommand(t, "explain", "-list")
	if n := strings.Count(stdout, "\n"); n != len(diag.Rules())+len(otherRules()) {
		t.Errorf("%d lines for %d rules", n, len(diag.Rules())+len(otherRules()))
	}
}

// TestOtherTexts checks the examples of lint and compat rules. A wrong lint example has exactly the
// finding, and a right one has no finding. The two versions of a compat example differ by exactly
// the change.
func TestOtherTexts(t *testing.T) {
	texts, err := explain.Others()
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range otherRules() {
		e := texts[o.code]
		delete(texts, o.code)
		if e == nil || len(e.Bad) == 0 || len(e.Good) == 0 || o.kind == "lint" && len(strings.Fields(e.Words)) < 8 {
			t.Errorf("text/%s.txt: %s %s has no words or examples", o.code[:5], o.code, o.name)
			continue
		}
		t.Run(o.code+" "+o.name, func(t *testing.T) {
			t.Chdir(t.TempDir())
			for dir, files := range map[string][]explain.File{"bad": e.Bad, "good": e.Good} {
				if err := os.Mkdir(dir, 0o777); err != nil {
					t.Fatal(err)
				}
				for _, f := range files {
					if err := os.WriteFile(filepath.Join(dir, f.Name), f.Bytes(), 0o666); err != nil {
						t.Fatal(err)
					}
				}
			}
			if o.kind == "lint" {
				if got := rulesIn(t, "lint", "-level", "advice", "bad/u.x"); got != o.name && o.name != "bad-ignore" {
					t.Errorf("wrong example: %q", got)
				}
				if got := rulesIn(t, "lint", "-level", "advice", "good/u.x"); got != "" {
					t.Errorf("right example: %q", got)
				}
				return
			}
			if got := " " + rulesIn(t, "compat", "-all", "bad/u.x", "good/u.x") + " "; !strings.Contains(got, " "+o.name+" ") {
				t.Errorf("changes %q", got)
			}
		})
	}
	for code := range texts {
		t.Errorf("text/%s.txt explains %s, which is not the code of a rule", code[:5], code)
	}
}

// rulesIn runs a command and returns the names of the rules that it prints.
func rulesIn(t *testing.T, args ...string) string {
	t.Helper()
	stdout, stderr, code := runCommand(t, append([]string{args[0], "-format", "json"}, args[1:]...)...)
	if code != exitClean && code != exitFindings {
		t.Fatal(stderr)
	}
	var out []string
	for line := range strings.Lines(stdout) {
		var l struct{ Type, Rule string }
		if err := json.Unmarshal([]byte(line), &l); err != nil {
			t.Fatal(err)
		}
		if l.Type != "summary" {
			out = append(out, l.Rule)
		}
	}
	return strings.Join(out, " ")
}
