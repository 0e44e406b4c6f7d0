package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// FuzzExtract checks that no input panics, that every extracted line is the line of the document
// that the origin map names, without marker or indentation, that line numbers rise, and that
// extraction depends on its input only.
func FuzzExtract(f *testing.F) {
	for _, name := range []string{docV1, docV2, docXchar} {
		data, err := os.ReadFile(filepath.Join(specDir, name))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data[len(data)/2 : min(len(data)/2+4000, len(data))])
	}
	f.Add([]byte("\ufeff  ////* a */\r\n\f/// b\n/// /* FILE ENDS: c.x; */\n"))
	f.Add([]byte("4.3.  X\n  struct a {\n" + page + "  };\n  const B 1;\n  typedef enum {\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		lines := documentLines(data)
		cut := pageBreaks(lines)
		if len(cut) != len(lines) {
			t.Fatalf("%d lines, %d judged", len(lines), len(cut))
		}
		for _, mode := range []string{modeMarked, modeSections} {
			parts, _, err := extractSingle(data, mode, "")
			if err != nil {
				continue
			}
			last := 0
			for _, p := range parts {
				for _, l := range p.lines {
					if l.num <= last || l.num > len(lines) {
						t.Fatalf("line %d after line %d of %d", l.num, last, len(lines))
					}
					last = l.num
					lead, ok := strings.CutSuffix(lines[l.num-1], l.text)
					if lead = strings.Trim(lead, " \t"); !ok || lead != "" && (mode != modeMarked || lead != marker) {
						t.Fatalf("line %d is %q, extracted %q", l.num, lines[l.num-1], l.text)
					}
				}
				_, places, err := readOrigin(string(originMap("d.txt", p.lines)))
				if err != nil || len(places) != len(p.lines) {
					t.Fatalf("origin map of %d lines has %d: %v", len(p.lines), len(places), err)
				}
				for i, at := range places {
					if at.num != p.lines[i].num {
						t.Fatalf("origin of line %d is %d, want %d", i+1, at.num, p.lines[i].num)
					}
				}
			}
		}
		if _, err := sectionSpans(lines, "4.3"); err != nil && err.Error() == "" {
			t.Fatal("empty error")
		}
	})
}

// FuzzErrata checks that no errata file and no extracted text panics, and that each line of the
// text remains or is in an erratum.
func FuzzErrata(f *testing.F) {
	for _, name := range []string{docV1, docV2, docXchar} {
		data, err := os.ReadFile(filepath.Join(specDir, "errata", name))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(data), "typedef xcharid uint32;\nconst A 1;")
	}
	f.Add(entry("P1", "@move\n-a\n@after\n b"), "a\nb")
	f.Fuzz(func(t *testing.T, errata, x string) {
		list, err := parseErrata("E", []byte(errata))
		if err != nil {
			return
		}
		before := numbered(strings.ReplaceAll(x, "\n", "|"))
		after, err := apply(before, list)
		if err != nil {
			return
		}
		added, kept := 0, 0
		for _, l := range after {
			if l.erratum != "" {
				added++
			} else if kept++; before[l.num-101].text != l.text {
				t.Fatalf("line %d became %q", l.num, l.text)
			}
		}
		for _, e := range list {
			for _, h := range e.hunks {
				for _, o := range h.ops {
					if o.op == '+' {
						added--
					} else if o.op == '-' && h.kind != "@move" {
						kept++
					}
				}
			}
		}
		if added != 0 || kept != len(before) {
			t.Fatalf("%d lines added beyond the errata, %d of %d accounted for", added, kept, len(before))
		}
	})
}

// TestLinear extracts texts that would be slow with an unbounded look-ahead. Each case is a
// megabyte or more and takes some ten milliseconds; in quadratic time it would take hours.
func TestLinear(t *testing.T) {
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
			lines := documentLines([]byte(tt.doc))
			for _, mode := range []string{modeMarked, modeSections} {
				if _, _, err := extractSingle([]byte(tt.doc), mode, ""); err != nil {
					t.Logf("%s: %.80s", mode, err)
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
