package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rpcrdma/rpcrdma/cmd/internal/diag"
	"github.com/rpcrdma/rpcrdma/internal/cli"
	"github.com/rpcrdma/rpcrdma/internal/golden"
)

// finding has the members of a JSON line that the tests use.
type finding struct {
	Type, Rule, Severity, Help string
	Where                      *struct {
		File         string
		Line, Column int
	}
	Errors, Warnings, Hidden int
}

// runCommand runs the command without a terminal and with an empty environment.
func runCommand(t *testing.T, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	var out, errs bytes.Buffer
	code = run(args, environment{
		stdout: &out, stderr: &errs,
		getenv: func(string) string { return "" }, terminal: cli.IsTerminal,
	})
	return out.String(), errs.String(), code
}

func parseFindings(t *testing.T, lines string) []finding {
	t.Helper()
	var out []finding
	for _, l := range strings.Split(strings.TrimSpace(lines), "\n") {
		var f finding
		if err := json.Unmarshal([]byte(l), &f); err != nil {
			t.Fatalf("line %q: %v", l, err)
		}
		out = append(out, f)
	}
	return out
}

// ruleOf returns the rule after which a bad file is named. The name of the file may have a
// suffix.
func ruleOf(base string) string {
	best := ""
	for _, r := range diag.Rules() {
		if (base == r.Name || strings.HasPrefix(base, r.Name+"-")) && len(r.Name) > len(best) {
			best = r.Name
		}
	}
	return best
}

// badFiles returns the files of testdata/bad. Each has one fault, of the rule after which it is
// named. If it has a comment /*@*/, the fault is after the comment.
func badFiles(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("testdata/bad/*.x")
	if err != nil || len(files) < 60 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	return files
}

func TestEachBadFileHasOneFinding(t *testing.T) {
	for _, file := range badFiles(t) {
		base := strings.TrimSuffix(filepath.Base(file), ".x")
		t.Run(base, func(t *testing.T) {
			args := []string{"check", "-strict", "-I", "testdata/bad/inc"}
			stdout, _, code := runCommand(t, append(args, file)...)
			if code != exitFindings {
				t.Errorf("exit code %d, expected %d", code, exitFindings)
			}
			golden.CheckString(t, file+".golden", stdout)

			lines, _, _ := runCommand(t, append(args, "-format", "json", file)...)
			findings := parseFindings(t, lines)
			if n := len(findings); n != 2 || findings[n-1].Type != "summary" {
				t.Fatalf("%d lines, expected one finding and the summary:\n%s", n, lines)
			}
			f := findings[0]
			if f.Rule != ruleOf(base) {
				t.Errorf("rule %s, expected %s", f.Rule, ruleOf(base))
			}
			if f.Help == "" {
				t.Error("the finding has no help text")
			}
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			before, _, marked := strings.Cut(string(text), "/*@*/")
			if !marked {
				return
			}
			line := strings.Count(before, "\n") + 1
			column := len(before) - strings.LastIndex(before, "\n")
			// Findings of these rules are at the position of the missing character.
			if f.Rule != "missing-semicolon" && f.Rule != "missing-comma" {
				column += len("/*@*/")
			}
			if f.Where == nil || f.Where.Line != line || f.Where.Column != column {
				t.Errorf("found at %+v, expected %d:%d", f.Where, line, column)
			}
		})
	}
}

// TestRulesCovered checks that every rule has a bad file.
func TestRulesCovered(t *testing.T) {
	elsewhere := map[string]string{
		"not-text":            "TestNotText",
		"include-too-deep":    "TestIncludeDepth in sema",
		"sidecar-of-folder":   "TestFolderBind in sema",
		"sidecar-not-read":    "TestFolderBind in sema",
		"import-package":      "TestImportPackage",
		"import-views":        "TestViewsOfImport in gogen",
		"bad-origin-map":      "TestOriginMap in sema",
		"unknown-mark":        "TestMarksWithoutMeaningAreWarnings",
		"unclosed-definition": "TestDefinitionsThatNeverCloseAreErrors",
		"go-name-clash":       "TestNameClash",
	}
	have := map[string]bool{}
	for _, file := range badFiles(t) {
		have[ruleOf(strings.TrimSuffix(filepath.Base(file), ".x"))] = true
	}
	codes := map[string]bool{}
	for _, r := range diag.Rules() {
		if !have[r.Name] && elsewhere[r.Name] == "" {
			t.Errorf("no file testdata/bad/%s.x", r.Name)
		}
		if codes[r.Code] || r.Code == "" || r.Name == "" || r.Fix == "" {
			t.Errorf("rule %+v: duplicate code or missing field", r)
		}
		codes[r.Code] = true
	}
}
