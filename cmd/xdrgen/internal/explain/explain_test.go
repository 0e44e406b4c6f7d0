package explain

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rpcrdma/rpcrdma/cmd/internal/diag"
	"github.com/rpcrdma/rpcrdma/cmd/internal/sema"
	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/gogen"
	"github.com/rpcrdma/rpcrdma/internal/golden"
)

func entries(t *testing.T) []Entry {
	t.Helper()
	es, err := Entries()
	if err != nil {
		t.Fatal(err)
	}
	return es
}

// TestEachRuleHasAText checks that every rule has a text, and every text a rule.
func TestEachRuleHasAText(t *testing.T) {
	all, err := load()
	if err != nil {
		t.Fatal(err)
	}
	for _, info := range diag.Rules() {
		if all[info.Code] == nil {
			t.Errorf("text/%s.txt has no part %s for %s", info.Code[:5], info.Code, info.Name)
		}
		delete(all, info.Code)
	}
	for code := range all {
		if !strings.HasPrefix(code, "XDR") {
			continue // rules of lint and compat, which the tests of the command check
		}
		t.Errorf("text/%s.txt explains %s, which is not the code of a rule", code[:5], code)
	}
}

// compile returns the findings of an example, and those of code generation if generate is set.
// root is the import path above the units.
func compile(t *testing.T, files []File, generate bool, root string) []diag.Diagnostic {
	t.Helper()
	dir := t.TempDir()
	for _, f := range files {
		name := filepath.Join(dir, filepath.FromSlash(f.Name))
		if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, f.Bytes(), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	r, err := sema.Compile(sema.Options{Files: []string{filepath.Join(dir, Unit)}, Include: []string{dir}, Generate: generate, ImportRoot: root})
	if err != nil {
		t.Fatal(err)
	}
	if r.Unit == nil || !generate {
		return r.Diags
	}
	_, more, err := gogen.Generate(r.Unit, r.Bind, gogen.Options{Package: "u", Views: r.Bind.Views})
	if err != nil {
		t.Fatal(err)
	}
	return append(r.Diags, more...)
}

// TestEachExampleHasItsFinding checks that each wrong example has exactly the finding that it
// explains, and each right one none.
func TestEachExampleHasItsFinding(t *testing.T) {
	noExample := map[string]bool{
		"include-too-deep":    true, // needs more than 64 files
		"sidecar-of-folder":   true, // depends on the name of the folder
		"sidecar-not-read":    true, // depends on the names of the files
		"unknown-mark":        true, // about a document
		"unclosed-definition": true, // about a document
	}
	forGen := map[string]bool{"import-package": true, "import-views": true, "go-name-clash": true}
	for _, e := range entries(t) {
		t.Run(e.Code+" "+e.Name, func(t *testing.T) {
			if len(strings.Fields(e.Words)) < 8 {
				t.Errorf("the explanation is too short: %q", e.Words)
			}
			if noExample[e.Name] != (len(e.Bad) == 0 && len(e.Good) == 0) {
				t.Fatalf("%d wrong files and %d right ones", len(e.Bad), len(e.Good))
			}
			if noExample[e.Name] {
				return
			}
			root := "example.org/units"
			if e.Name == "import-package" {
				root = ""
			}
			bad := compile(t, e.Bad, forGen[e.Name], root)
			if len(bad) != 1 || bad[0].Rule.Info().Code != e.Code {
				t.Errorf("wrong example: %s", list(bad))
			}
			if forGen[e.Name] && len(compile(t, e.Bad, false, root)) > 0 {
				t.Error("check reports the finding too, not only gen")
			}
			if good := compile(t, e.Good, true, root); len(good) > 0 {
				t.Errorf("right example: %s", list(good))
			}
		})
	}
}

func list(ds []diag.Diagnostic) string {
	out := "no finding"
	for i, d := range ds {
		if i == 0 {
			out = ""
		}
		p := d.Span.Position()
		out += "\n" + d.Rule.Info().Code + " " + d.Rule.Info().Name + ": " + d.Message + " at line " + string(rune('0'+p.Line%10))
	}
	return out
}

func TestTextIsPrinted(t *testing.T) {
	e, ok := Find(entries(t), "xdr0011")
	if byName, _ := Find(entries(t), "Missing-Comma"); !ok || byName.Code != e.Code {
		t.Fatal("not found by code and name")
	}
	golden.CheckString(t, "testdata/missing-comma.txt", e.Text())
	if _, ok := Find(entries(t), "XDR9999"); ok {
		t.Error("found XDR9999, which does not exist")
	}
}

func TestFaultyTextFilesAreRefused(t *testing.T) {
	for text, want := range map[string]string{
		"words\n":                        "f:1: text before the first code",
		"== XDR01\n":                     "f:1: code XDR01 is a duplicate, or not of the form",
		"== XDR0101\na\n== XDR0101\nb\n": "f:3: code XDR0101 is a duplicate",
	} {
		if err := parse("f", text, map[string]*Entry{}); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: %v", text, err)
		}
	}
}
