package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The example of the help is a mutant, and the parts of the form that it does not show have their
// effect.
func TestParseTry(t *testing.T) {
	example := strings.ReplaceAll(tryHelp[strings.Index(tryHelp, "\t#"):strings.Index(tryHelp, "Between")], "\n\t", "\n")
	text := strings.TrimPrefix(example, "\t") + "file ./a/b.go\n<<<<\nx\n  # y\n====\n>>>>\ntests c\n<<<<\r\nz\r\n====\r\n\r\n>>>>\r\n"
	got, err := parseTry("dir/f.txt", text)
	want := []mutant{
		{"one Call too many in flight", "rdmaio/internal/credit/v1.go", "return r.inFlight < r.granted", "return r.inFlight <= r.granted", []string{"rdmaio/internal/credit", "rdmaio"}},
		{"f.txt:13", "a/b.go", "x\n  # y", "", []string{"a"}},
		{"f.txt:19", "a/b.go", "z", "", []string{"c"}},
	}
	if d := cmp.Diff(want, got, cmp.AllowUnexported(mutant{})); d != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, d)
	}
	for text, says := range map[string]string{
		"<<<<\na\n====\nb\n>>>>":               "f:1: expected a file line",
		"file a.go\n<<<<\na\n====\nb":          "f:2: this mutant has no end",
		"file a.go\n<<<<\na\n>>>>":             "f:2: this mutant has no end",
		"file a.go\n<<<<\na\n====\na\n>>>>":    "f:6: the mutant changes nothing",
		"file a.go\n<<<<\n====\na\n>>>>":       "f:5: the mutant changes nothing",
		"files a.go":                           `f:1: found "files a.go"`,
		"file a.go\ntests \n":                  `f:2: found "tests "`,
		"file a.go\n<<<<\na\n====\nb\n>>>>\n!": `f:7: found "!"`,
	} {
		if _, err := parseTry("f", text); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v, expected %q", text, err, says)
		}
	}
}
