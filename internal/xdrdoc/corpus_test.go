package xdrdoc

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rpcrdma/rpcrdma/internal/corpus"
)

// readDocument returns a document of the corpus.
func readDocument(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(corpus.Dir(t), "ietf", name))
	if err != nil {
		t.Skipf("not in this corpus: %v", err)
	}
	return string(text)
}

// written returns lines as the text of a file.
func written(lines []Line) string {
	var s strings.Builder
	for _, l := range lines {
		s.WriteString(l.Text + "\n")
	}
	return s.String()
}

// TestIndentationChangesNothing extracts the same definitions from a document with any indentation.
func TestIndentationChangesNothing(t *testing.T) {
	tabs := strings.NewReplacer("\n        ", "\n\t")
	for _, name := range []string{"rfc1094.txt", "rfc1813.txt", "rfc1833.txt", "rfc5666.txt"} {
		doc := strings.ReplaceAll(readDocument(t, name), "\r", "")
		want, err := Extract([]byte(doc), Options{Mode: Sections})
		if err != nil {
			t.Fatal(err)
		}
		for form, text := range map[string]string{
			"one blank":   " " + strings.ReplaceAll(doc, "\n", "\n "),
			"four blanks": "    " + strings.ReplaceAll(doc, "\n", "\n    "),
			"a tab":       "\t" + strings.ReplaceAll(doc, "\n", "\n\t"),
			"tabs within": tabs.Replace(doc),
		} {
			got, err := Extract([]byte(text), Options{Mode: Sections})
			if err != nil || len(got.Lost) > 0 {
				t.Errorf("%s by %s: %v, not taken %+v", name, form, err, got.Lost)
				continue
			}
			if d := cmp.Diff(want, got, cmp.AllowUnexported(Part{}), cmp.Transformer("blanks", blanks)); d != "" {
				t.Errorf("%s by %s:\n%s", name, form, d)
			}
		}
	}
}

// blanks returns a text with its tabs replaced by blanks.
func blanks(s string) string {
	return strings.Repeat(" ", width(s)) + strings.TrimLeft(s, " \t")
}

// TestHeadingsAreAtTheMargin finds section headings at the left margin of the document, wherever
// that is, and no numbers further right.
func TestHeadingsAreAtTheMargin(t *testing.T) {
	for _, margin := range []string{"", " ", "\t", "     "} {
		doc := "1. One\n\n   struct a { int x; };\n\n   2. Two of a list\n\n   struct b { int x; };\n\n2. Two\n\n   struct c { int x; };\n"
		doc = margin + strings.ReplaceAll(strings.TrimSuffix(doc, "\n"), "\n", "\n"+margin) + "\n"
		for _, pages := range []string{"", "\n\n" + margin + "Author                [Page 1]\n\f\n" + margin + "RFC 9999   Title   2026\n\n"} {
			d, err := Extract([]byte(doc+pages), Options{Mode: Sections, Sections: "1"})
			if err != nil || !strings.Contains(written(d.Parts[0].Lines), "struct b") || strings.Contains(written(d.Parts[0].Lines), "struct c") {
				t.Errorf("margin %q, pages %v: %v, %+v", margin, pages != "", err, d.Parts)
			}
			if got := Headings([]byte(doc + pages)); len(got) != 2 || got[0] != (Heading{1, "1"}) || got[1] != (Heading{9, "2"}) {
				t.Errorf("margin %q: headings %v", margin, got)
			}
		}
	}
}
