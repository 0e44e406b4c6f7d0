package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// editLine is what of a JSON finding says how to mend it.
type editLine struct {
	Fix []struct {
		Where struct{ File string }
		From  int `json:"offset_bytes"`
		To    int `json:"end_offset_bytes"`
		Text  string
	}
}

// sarifEdits is the same of a SARIF log.
type sarifEdits struct {
	Runs []struct {
		Results []struct {
			Fixes []struct {
				ArtifactChanges []struct {
					Replacements []struct {
						DeletedRegion   struct{ StartLine, StartColumn, EndLine, EndColumn int }
						InsertedContent struct{ Text string }
					}
				}
			}
		}
	}
}

// TestFixOutput applies the edits in JSON and in SARIF as an editor would,
// until none is left: the outcome is that of check -fix, for every bad file
// with a fix.
func TestFixOutput(t *testing.T) {
	texts := map[string]string{}
	for _, file := range badFiles(t) {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		texts[filepath.Base(file)] = string(text)
	}
	t.Chdir(t.TempDir())
	mended := 0
	for base, text := range texts {
		put := func(content string) {
			if err := os.WriteFile(base, []byte(content), 0o666); err != nil {
				t.Fatal(err)
			}
		}
		put(text)
		runCommand(t, "check", "-fix", base)
		want, err := os.ReadFile(base)
		if err != nil {
			t.Fatal(err)
		}
		if string(want) != text {
			mended++
		}
		for format, apply := range map[string]func(*testing.T, string, string) string{"json": applyJSON, "sarif": applySARIF} {
			got := text
			for range 3 {
				put(got)
				out, _, _ := runCommand(t, "check", "-format", format, base)
				before := got
				if got = apply(t, got, out); got == before {
					break // no edit is left
				}
			}
			if got != string(want) {
				t.Errorf("%s: by the %s %q, by -fix %q", base, format, got, want)
			}
		}
	}
	if mended < 10 {
		t.Errorf("%d files have a fix", mended)
	}
}

func applyJSON(t *testing.T, text, lines string) string {
	t.Helper()
	for line := range strings.Lines(lines) {
		var e editLine
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatal(err)
		}
		for _, f := range slices.Backward(e.Fix) {
			text = text[:f.From] + f.Text + text[f.To:]
		}
	}
	return text
}

func applySARIF(t *testing.T, text, log string) string {
	t.Helper()
	var s sarifEdits
	if err := json.Unmarshal([]byte(log), &s); err != nil {
		t.Fatal(err)
	}
	offset := func(line, column int) int { // columns are characters
		at := 0
		for range line - 1 {
			at += strings.IndexByte(text[at:], '\n') + 1
		}
		return at + len(string([]rune(text[at:])[:column-1]))
	}
	for _, r := range s.Runs[0].Results {
		for _, f := range r.Fixes {
			for _, c := range f.ArtifactChanges {
				for _, e := range slices.Backward(c.Replacements) {
					d := e.DeletedRegion
					text = text[:offset(d.StartLine, d.StartColumn)] + e.InsertedContent.Text + text[offset(d.EndLine, d.EndColumn):]
				}
			}
		}
	}
	return text
}
