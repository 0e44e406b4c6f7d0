package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

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
			if l.Erratum != "" {
				added++
			} else if kept++; before[l.Num-101].Text != l.Text {
				t.Fatalf("line %d became %q", l.Num, l.Text)
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
