package xdrdoc

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// FuzzExtract checks that no input panics, that every extracted line is the line of the document
// that it names, without marker or indentation, that line numbers rise, and that the text in place
// has the same words at those lines.
func FuzzExtract(f *testing.F) {
	names, err := filepath.Glob("../../spec/draft-*.txt")
	if err != nil || len(names) < 4 {
		f.Fatalf("found the documents %q, %v", names, err)
	}
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data[len(data)/2 : min(len(data)/2+4000, len(data))])
	}
	f.Add([]byte("\ufeff  ////* a */\r\n\f/// b\n/// /* FILE ENDS: c.x; */\n"))
	f.Add([]byte("4.3.  X\n  struct a {\n" + page + "  };\n  const B 1;\n  typedef enum {\n"))
	f.Add([]byte("<rfc>\n<sourcecode type=\"xdr\"><![CDATA[struct a {\n\topaque x&lt;4&gt;; /* -&gt; */\n};]]></sourcecode>\n"))
	f.Add([]byte("> /// @@FILE a.x\n> /// const A = 1;\n> /// @@PART b\n"))
	f.Add([]byte("/// /* to be added to enum e */\n/// /*\n/// A = 1, /* one */\n/// */\n/// /* In u: */\n/// case A: int x;\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		lines := Lines(data)
		if cut := pageBreaks(lines); len(cut) != len(lines) {
			t.Fatalf("%d lines, %d judged", len(lines), len(cut))
		}
		for _, mode := range []string{Marked, Sections} {
			d, err := Extract(data, Options{Mode: mode})
			if err != nil {
				continue
			}
			last := 0
			for i, p := range d.Parts {
				for _, l := range p.Own(i) {
					if l.Num <= last && !p.Alone || l.Num > len(lines) {
						t.Fatalf("line %d after line %d of %d", l.Num, last, len(lines))
					}
					last = l.Num
					lead, ok := strings.CutSuffix(lines[l.Num-1], l.Text)
					if lead = strings.Trim(lead, " \t"); !ok || lead != "" && (mode != Marked || lead != marker) {
						t.Fatalf("line %d is %q, extracted %q", l.Num, lines[l.Num-1], l.Text)
					}
				}
				checkPlaced(t, data, p.Lines)
			}
		}
		if _, err := sectionSpans(lines, "4.3"); err != nil && err.Error() == "" {
			t.Fatal("empty error")
		}
	})
}

// checkPlaced compares the lines of a file that has lines of its document in their order with the
// text in place.
func checkPlaced(t *testing.T, doc []byte, lines []Line) {
	t.Helper()
	got := strings.Split(string(Place(doc, lines)), "\n")
	last := 0
	for _, l := range lines {
		if l.Num <= last {
			return // a file that the document continues, by its name, after others
		}
		last = l.Num
		if in, out := bare(l.Text), bare(got[l.Num-1]); in != out {
			t.Fatalf("line %d is %q in place, extracted %q", l.Num, got[l.Num-1], l.Text)
		}
	}
}

// bare returns a text without blanks.
func bare(s string) string { return strings.Join(strings.Fields(s), "") }

// TestExtractionTakesLinearTime extracts texts that would be slow with an unbounded look-ahead.
// Each case is a megabyte or more and takes some ten milliseconds; in quadratic time it would take
// hours.
func TestExtractionTakesLinearTime(t *testing.T) {
	const n = 60_000
	tests := []struct{ name, doc string }{
		{"unclosed definitions", strings.Repeat("  struct a {\n", n)},
		{"unclosed comments", strings.Repeat("/* a\n", n)},
		{"names without brace", strings.Repeat("struct a\n", n)},
		{"footers", strings.Repeat("a [Page 1]\n\n\n", n)},
		{"pages", strings.Repeat(page, n)},
		{"braces", "struct a " + strings.Repeat("{\n", n)},
		{"empty lines", strings.Repeat("\n", n) + "a [Page 1]\n" + strings.Repeat("\n", n)},
		{"long line", "typedef " + strings.Repeat("a ", 8*n)},
		{"markers", strings.Repeat("////*\n", n)},
		{"headings", strings.Repeat("4.3. A\n", n)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			start := time.Now()
			lines := Lines([]byte(tt.doc))
			for _, mode := range []string{Marked, Sections} {
				if d, err := Extract([]byte(tt.doc), Options{Mode: mode}); err != nil {
					t.Logf("%s: %.80s", mode, err)
				} else {
					Place([]byte(tt.doc), d.Parts[0].Lines)
				}
			}
			_, _ = sectionSpans(lines, "4.3")
			if d := time.Since(start); d > 20*time.Second {
				t.Errorf("took %v for %d bytes", d, len(tt.doc))
			} else {
				t.Logf("%v for %d bytes", d, len(tt.doc))
			}
		})
	}
}
