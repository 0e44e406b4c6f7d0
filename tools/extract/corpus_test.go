package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rpcrdma/rpcrdma/internal/corpus"
	"github.com/rpcrdma/rpcrdma/internal/xdrdoc"
)

// scriptUsual is the extraction script most RFCs with marked lines print.
const scriptUsual = `grep '^ *///' | sed 's?^ */// ??' | sed 's?^ *///$??'`

// TestCorpusMarked extracts the marked lines of every IETF document, and compares with an
// independent count and, if there is a shell, with the usual script. The corpus has no marker
// without a blank, so both must agree line by line.
func TestCorpusMarked(t *testing.T) {
	docs := 0
	for _, name := range ietf(t) {
		doc := readFile(t, name)
		want := countMarked(doc)
		got := xdrdoc.MarkedLines(xdrdoc.Lines([]byte(doc)))
		if len(got) != want {
			t.Errorf("%s: %d lines taken, %d counted", filepath.Base(name), len(got), want)
		}
		if want == 0 {
			continue
		}
		docs++
		parts := 0
		for _, p := range xdrdoc.Split(got) {
			parts += len(p.Lines)
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

// TestCorpusSections takes XDR by form from documents that have no marker. The counts are of
// definitions at the left margin, counted once in the documents with grep.
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

// TestLost checks that a definition that never closes is left out, with exit code 3.
func TestLost(t *testing.T) {
	name := filepath.Join(t.TempDir(), "doc.txt")
	if err := os.WriteFile(name, []byte("struct a {\n  int x;\n\nstruct b { int y; };\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	var out, errs bytes.Buffer
	if code := run([]string{"-doc", name}, &out, &errs); code != exitFindings || !strings.Contains(errs.String(), "line 1 begins a definition that never closes") || !strings.Contains(out.String(), "struct b") {
		t.Errorf("exit code %d\n%s%s", code, &out, &errs)
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

// TestCorpusFileMarksAsTheDocumentsScript extracts the two files of the NFS_ACL draft, and compares
// them with the output of the script that the draft prints.
func TestCorpusFileMarksAsTheDocumentsScript(t *testing.T) {
	name := filepath.Join(corpus.Dir(t), "ietf/draft-ietf-nfsv4-nfs-acl.md")
	doc := readFile(t, name)
	_, script, _ := strings.Cut(doc, "~~~ sh\n#!/bin/sh\n")
	script, _, found := strings.Cut(script, "~~~")
	if !found {
		t.Fatal("the draft has no script")
	}
	t.Chdir(t.TempDir())
	runScript(t, script, doc)
	out, errs := do(t, exitOK, "-doc", name, "-o", "out")
	if out != "out/nfs_acl2.x\nout/nfs_acl3.x\n" || errs != "" {
		t.Errorf("stdout %q, stderr %q", out, errs)
	}
	for _, file := range []string{"nfs_acl2.x", "nfs_acl3.x"} {
		if diff := cmp.Diff(fileLines(readFile(t, file)), fileLines(readFile(t, "out/"+file))); diff != "" {
			t.Errorf("%s (-script +ours):\n%s", file, diff)
		}
	}
}
