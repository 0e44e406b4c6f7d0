package sema

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestFaultsOfPeopleHaveFindings checks the findings of files with faults that people make:
// truncated text, missing braces, keywords of other languages.
func TestFaultsOfPeopleHaveFindings(t *testing.T) {
	text, err := os.ReadFile("testdata/broken.txt")
	if err != nil {
		t.Fatal(err)
	}
	cases := strings.Split(string(text), "\n== ")[1:]
	for _, c := range cases {
		name, rest, _ := strings.Cut(c, "\n")
		input, want, ok := strings.Cut(rest, "\n--\n")
		if !ok {
			t.Fatalf("%s: no line --", name)
		}
		t.Run(name, func(t *testing.T) {
			r := compileFiles(t, Options{}, map[string]string{"u/u.x": input + "\n"}, "u/u.x")
			if diff := cmp.Diff(strings.TrimSpace(want), strings.TrimSpace(said(r))); diff != "" {
				t.Errorf("%s\n%s", input, diff)
			}
		})
	}
	if len(cases) < 30 {
		t.Errorf("only %d cases", len(cases))
	}
}

// said returns the findings of a result, one in each line.
func said(r *Result) string {
	var out strings.Builder
	for _, d := range r.Diags {
		p := d.Span.Position()
		fmt.Fprintf(&out, "%d:%d: %s: %s; %s\n", p.Line, p.Column, d.Rule.Info().Name, d.Message, d.HelpText())
	}
	return out.String()
}
