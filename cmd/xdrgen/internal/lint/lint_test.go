package lint

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rpcrdma/rpcrdma/cmd/internal/diag"
	"github.com/rpcrdma/rpcrdma/cmd/internal/sema"
	"github.com/rpcrdma/rpcrdma/cmd/internal/source"
	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/plan"
	"github.com/rpcrdma/rpcrdma/internal/corpus"
)

// check lints a text. A sidecar follows it after a line "---".
func check(t *testing.T, text string, o Options) []diag.Diagnostic {
	t.Helper()
	dir := t.TempDir()
	text, bind, ok := strings.Cut(text, "---\n")
	files := map[string]string{"p.x": text}
	if ok {
		files["p.bind"] = bind
	}
	for name, s := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(s), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	r, err := sema.Compile(sema.Options{Files: []string{filepath.Join(dir, "p.x")}})
	if err != nil {
		t.Fatal(err)
	}
	if r.Unit == nil {
		t.Fatalf("%s: %s", text, r.Diags[0].Message)
	}
	o.Costs = plan.NewCosts(r.Unit)
	return Check(r.Unit, r.Bind, r.Files, o)
}

func show(d diag.Diagnostic) string {
	p := d.Span.Position()
	return fmt.Sprintf("%d:%d %s", p.Line, p.Column, d.Info().Name)
}

func showAll(ds []diag.Diagnostic) []string {
	var out []string
	for _, d := range ds {
		out = append(out, show(d))
	}
	return out
}

func TestEachRuleHasACase(t *testing.T) {
	for _, tt := range cases() {
		t.Run(tt.name, func(t *testing.T) {
			found := check(t, tt.text, Options{Advice: true})
			if d := cmp.Diff(tt.want, showAll(found)); d != "" {
				t.Errorf("findings (-want +got):\n%s", d)
			}
			for _, d := range found {
				if d.HelpText() == "" || len(d.Notes) == 0 || d.Message == "" {
					t.Errorf("%s: message %q, notes %q, help %q", show(d), d.Message, d.Notes, d.HelpText())
				}
			}
			if tt.good == "" {
				return
			}
			if d := check(t, tt.good, Options{Advice: true}); len(d) > 0 {
				t.Errorf("findings on the corrected text: %q", showAll(d))
			}
		})
	}
}

func TestRulesCovered(t *testing.T) {
	seen, codes := map[string]bool{}, map[string]bool{}
	for _, tt := range cases() {
		for _, w := range tt.want {
			seen[strings.Fields(w)[1]] = true
		}
	}
	for _, r := range Rules() {
		if !seen[r.Name] {
			t.Errorf("no test case has a finding of rule %s", r.Name)
		}
		if codes[r.Code] || r.Code == "" || r.Reason == "" || r.Fix == "" || r.Level == 0 {
			t.Errorf("rule %+v: duplicate code or missing field", r)
		}
		codes[r.Code] = true
	}
}

func TestLevelsChooseRules(t *testing.T) {
	text := "enum m { A = 1 };\nstruct s { opaque d<>; };\nstruct r { s x; };\n" +
		"program P { version V { void P_NULL(void) = 0; void P_PUT(m) = 1; r P_GET(void) = 2; } = 1; } = 0x20000001;\n"
	disable, err := ParseRules([]string{"unbounded-data"})
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		o    Options
		want []string
	}{
		{Options{}, []string{"2:12 unbounded-data"}},
		{Options{Advice: true}, []string{"1:6 enum-without-zero", "2:12 unbounded-data"}},
		{Options{Disable: disable}, nil},
	}
	for _, tt := range tests {
		if d := cmp.Diff(tt.want, showAll(check(t, text, tt.o))); d != "" {
			t.Errorf("%+v: %s", tt.o, d)
		}
	}
	if got := check(t, text, Options{})[0].Notes; len(got) != 2 || got[1] != "used by the result of P_GET through r" {
		t.Errorf("notes %q", got)
	}
}

func TestParseRules(t *testing.T) {
	for given, want := range map[string]string{
		"unbounded-dada": `found "unbounded-dada", expected unbounded-data`,
		"x":              `found "x", expected the name of a lint rule`,
	} {
		if _, err := ParseRules([]string{given}); err == nil || err.Error() != want {
			t.Errorf("%s: error %v, expected %s", given, err, want)
		}
	}
}

func FuzzIgnores(f *testing.F) {
	for _, s := range []string{"/* xdrgen:ignore a b */x", "// xdrgen:ignore", "/*", "\"/*\"\n/* xdrgen:ignore */", "/**//"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		file := source.NewFile("f.x", []byte(text))
		for _, i := range findIgnores(file) {
			if i.at.Text() != pragma || i.line < 1 || i.line > strings.Count(text, "\n")+1 {
				t.Fatalf("%q: %+v", text, i)
			}
		}
	})
}

// TestCorpusIsLinted lints every interface file that compiles on its own.
func TestCorpusIsLinted(t *testing.T) {
	dir := corpus.Dir(t)
	f, err := os.Open(filepath.Join(dir, "MANIFEST.tsv"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	count := map[string]int{}
	n := 0
	for s := bufio.NewScanner(f); s.Scan(); {
		file, _, _ := strings.Cut(s.Text(), "\t")
		if !strings.HasPrefix(file, "x/") {
			continue
		}
		r, err := sema.Compile(sema.Options{Files: []string{filepath.Join(dir, filepath.FromSlash(file))}})
		if err != nil {
			t.Fatal(err)
		}
		if r.Unit == nil {
			continue
		}
		n++
		for _, d := range Check(r.Unit, r.Bind, r.Files, Options{Advice: true}) {
			if !d.Span.Valid() {
				t.Errorf("%s: finding %q has no position", file, d.Message)
			}
			count[d.Info().Name]++
		}
	}
	if n < 25 {
		t.Errorf("only %d files", n)
	}
	t.Logf("%d files: %v", n, count)
}
