package bind

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/rpcrdma/rpcrdma/cmd/internal/diag"
	"github.com/rpcrdma/rpcrdma/cmd/internal/source"
)

// FuzzParse parses any text as a sidecar. Parse must not panic, each finding must be in the file
// and have help, and spaces and comments must not change the result.
func FuzzParse(f *testing.F) {
	for _, pattern := range []string{"../../xdrgen/testdata/*/*.bind", "../../../spec/x/*/*.bind"} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			f.Fatalf("%s: %v", pattern, err)
		}
		for _, name := range files {
			text, err := os.ReadFile(name)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(string(text))
		}
	}
	f.Fuzz(func(t *testing.T, text string) {
		read := func(text string) (*File, []string) {
			file := source.NewFile("u.bind", []byte(text))
			var found []string
			out := Parse(file, func(d diag.Diagnostic) {
				if s := d.Span; s.File != file || s.Start < 0 || s.End < s.Start || s.End > len(text) {
					t.Errorf("%s: span %d to %d of %d", d.Message, s.Start, s.End, len(text))
				}
				if d.Message == "" || d.HelpText() == "" {
					t.Errorf("a finding without message or help: %+v", d)
				}
				found = append(found, d.Message)
			})
			return out, found
		}
		var plain []string
		for line := range strings.SplitSeq(text, "\n") {
			var words []string
			for _, w := range strings.FieldsFunc(line, blankRune) {
				if w[0] == '#' {
					break
				}
				words = append(words, w)
			}
			plain = append(plain, strings.Join(words, "\t")+" # comment\r")
		}
		a, found := read(text)
		b, again := read(strings.Join(plain, "\n"))
		if d := cmp.Diff(found, again); d != "" {
			t.Errorf("findings: %s", d)
		}
		for i, g := range a.Given { // a type has spaces as written
			a.Given[i].Text = strings.Join(strings.FieldsFunc(g.Text, blankRune), "\t")
		}
		if d := cmp.Diff(a, b, cmpopts.IgnoreTypes(source.Span{})); d != "" {
			t.Errorf("statements: %s", d)
		}
	})
}

func blankRune(r rune) bool { return r < 0x80 && blank(byte(r)) }
