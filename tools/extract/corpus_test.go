package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rpcrdma/rpcrdma/internal/corpus"
)

// scriptUsual is the extraction script most RFCs with marked lines print.
const scriptUsual = `grep '^ *///' | sed 's?^ */// ??' | sed 's?^ *///$??'`

// TestCorpusMarked takes the marked lines of every IETF document and compares with an independent count and, where a
// shell is, with the usual script. The corpus has no marker without a blank, so both must agree line by line.
func TestCorpusMarked(t *testing.T) {
	docs := 0
	for _, name := range ietf(t) {
		doc := readFile(t, name)
		want := countMarked(doc)
		got := marked(documentLines([]byte(doc)))
		if len(got) != want {
			t.Errorf("%s: %d lines taken, %d counted", filepath.Base(name), len(got), want)
		}
		if want == 0 {
			continue
		}
		docs++
		parts := 0
		for _, p := range split(got) {
			parts += len(p.lines)
		}
		if parts < want-1 { // an empty line may end a document
			t.Errorf("%s: %d lines in parts, %d taken", filepath.Base(name), parts, want)
		}
		if diff := cmp.Diff(runScript(t, scriptUsual, doc), fileLines(string(text(got)))); diff != "" {
			t.Errorf("%s (-script +ours):\n%s", filepath.Base(name), diff)
		}
	}
	if docs < 10 {
		t.Errorf("%d documents with marked lines, want 10 or more", docs)
	}
}

// TestCorpusSections takes XDR by form from documents that have no marker. The counts are of definitions at the left
// margin, counted once in the documents with grep.
func TestCorpusSections(t *testing.T) {
	dir := filepath.Join(corpus.Dir(t), "ietf")
	tests := []struct {
		doc, sections     string
		definitions, most int // found, and the most lines
	}{
		{"rfc1813.txt", "2.5,2.6", 37, 200},
		{"rfc5531.txt", "9", 10, 130},
		{"rfc1833.txt", "2", 26, 300},
		{"rfc5666.txt", "4.3", 13, 90},
	}
	for _, tt := range tests {
		t.Run(tt.doc, func(t *testing.T) {
			name := filepath.Join(dir, tt.doc)
			if _, err := os.Stat(name); err != nil {
				t.Skip(err)
			}
			var out, errs bytes.Buffer
			if code := run([]string{"-doc", name, "-mode", "sections", "-section", tt.sections}, &out, &errs); code != exitOK || errs.Len() > 0 {
				t.Fatalf("exit code %d: %s", code, &errs)
			}
			n := 0
			lines := fileLines(out.String())
			for _, l := range lines {
				word, _, _ := strings.Cut(l, " ")
				if strings.Contains(" struct union enum typedef const program ", " "+word+" ") {
					n++
				}
				if strings.Contains(l, "[Page") {
					t.Errorf("page footer: %q", l)
				}
			}
			if n != tt.definitions || len(lines) > tt.most {
				t.Errorf("%d definitions in %d lines, want %d in at most %d", n, len(lines), tt.definitions, tt.most)
			}
		})
	}
}

// ietf lists the IETF documents of the corpus.
func ietf(t *testing.T) []string {
	names, err := filepath.Glob(filepath.Join(corpus.Dir(t), "ietf", "*.txt"))
	if err != nil || len(names) == 0 {
		t.Skipf("no IETF documents in the corpus: %v", err)
	}
	return names
}
