package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// Every mutant finds its text once, and changes it. Whether tests kill it takes minutes: make
// mutants.
func TestMutantsApply(t *testing.T) {
	names := make(map[string]bool)
	for _, m := range mutants {
		if _, err := m.mutate("../.."); err != nil {
			t.Errorf("%s: %v", m.name, err)
		}
		if m.old == m.new || names[m.name] || len(m.tests) == 0 {
			t.Errorf("%s: changes nothing, is tested by nothing, or is there twice", m.name)
		}
		names[m.name] = true
		for _, pkg := range m.tests {
			if found, _ := filepath.Glob(filepath.Join("../..", pkg, "*_test.go")); len(found) == 0 {
				t.Errorf("%s: package %s has no tests", m.name, pkg)
			}
		}
	}
}

// module makes a module of one package, whose test expects that f returns 1.
func module(t *testing.T, f string) (root string) {
	t.Helper()
	root = t.TempDir()
	for name, text := range map[string]string{
		"go.mod":      "module m\n\ngo 1.24\n",
		"p/p.go":      "package p\n\nfunc f() int { return " + f + " }\n",
		"p/p_test.go": "package p\n\nimport \"testing\"\n\nfunc Test(t *testing.T) {\n\tif f() != 1 {\n\t\tt.Fail()\n\t}\n}\n",
	} {
		name = filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

// A mistake is killed, and a change without effect lives. Mutants that do not compile, and mutants
// that hang, are reported as such. Tests that fail without a mutant end the campaign.
func TestCampaign(t *testing.T) {
	if testing.Short() {
		t.Skip("runs the go command")
	}
	t.Setenv("GOFLAGS", "")
	for _, tt := range []struct {
		name, as, new string
		code          int
		says          string
	}{
		{"a mistake", "1", "2", 0, "killed in p"},
		{"none", "1", "0 + 1", 1, "LIVES"},
		{"no Go", "1", "true", 1, "does not compile"},
		// All goroutines sleep, which the runtime detects.
		{"endless", "1", "func() int { select {} }()", 0, "in p"},
		{"text not found", "1", "", 1, "text to replace 0 times"},
		{"tests that fail", "3 - 3", "1", 2, "fail without a mutant"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := mutant{name: tt.name, file: "p/p.go", old: "return " + tt.as, new: "return " + tt.new, tests: []string{"p"}}
			if tt.new == "" {
				m.old = "return 7"
			}
			var out bytes.Buffer
			code := campaign(context.Background(), &out, module(t, tt.as), []mutant{m}, time.Minute)
			if code != tt.code || !strings.Contains(out.String(), tt.says) {
				t.Errorf("exit %d:\n%s", code, &out)
			}
		})
	}
	t.Run("hangs", func(t *testing.T) {
		m := mutant{name: "hangs", file: "p/p.go", old: "return 1", new: "for { }\n\treturn 1", tests: []string{"p"}}
		r, _, err := m.try(context.Background(), module(t, "1"), 2*time.Second)
		if r != hangs || err != nil {
			t.Errorf("%v, %v", r, err)
		}
	})
}

// Mutants are chosen by a part of their name or file, and packages are run once each.
func TestChoose(t *testing.T) {
	list := []mutant{{name: "ab", file: "x/y.go", tests: []string{"p", "q"}}, {name: "cd", file: "x/z.go", tests: []string{"q"}}}
	for part, n := range map[string]int{"": 2, "b": 1, "z.go": 1, "x/": 2, "none": 0} {
		if got := choose(list, part); len(got) != n {
			t.Errorf("%q: %d chosen", part, len(got))
		}
	}
	var out bytes.Buffer
	if code := campaign(context.Background(), &out, ".", nil, time.Minute); code != 2 || !strings.Contains(out.String(), "no mutant") {
		t.Errorf("none chosen: exit %d: %s", code, &out)
	}
	if got := packages(list); strings.Join(got, " ") != "p q" {
		t.Errorf("packages %v", got)
	}
}
