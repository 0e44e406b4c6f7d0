package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// editLine has the members of a JSON finding with its fix.
type editLine struct {
	Severity, Code, Message string
	Fix                     []struct {
		Where struct{ File string }
		From  int `json:"offset_bytes"`
		To    int `json:"end_offset_bytes"`
		Text  string
	}
}

// sarifEdits has the members of a SARIF log with the fixes.
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

// TestFixOutput applies the edits in JSON and in SARIF as an editor would, until none is left.
// For every bad file with a fix, the result must equal the one of check -fix.
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
		text = e.apply(text)
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

// TestOfferedFixes applies each fix on its own, in the bad files and in texts that a careless fix
// would damage. The finding must disappear, and no new error may appear.
func TestOfferedFixes(t *testing.T) {
	texts := map[string]string{"faulty.x": faulty}
	for _, file := range badFiles(t) {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		texts[filepath.Base(file)] = string(text)
	}
	for name, text := range noFix() {
		texts[strings.ReplaceAll(name, " ", "-")+".x"] = text
	}
	t.Chdir(t.TempDir())
	offered := 0
	for base, text := range texts {
		before := checkText(t, base, text)
		for _, f := range before {
			if len(f.Fix) == 0 {
				continue
			}
			offered++
			fixed := f.apply(text)
			errors := map[string]int{}
			for _, g := range before {
				errors[g.Code+g.Message]++
			}
			errors[f.Code+f.Message]--
			for _, g := range checkText(t, base, fixed) {
				key := g.Code + g.Message
				if errors[key]--; errors[key] < 0 && g.Severity == "error" {
					t.Errorf("%s: the fix of %q gives %q, with the finding %q", base, f.Message, fixed, g.Message)
				}
			}
		}
	}
	if offered < 40 {
		t.Errorf("there are %d fixes", offered)
	}
}

// noFix returns texts whose faults have no fix, or several.
func noFix() map[string]string {
	return map[string]string{
		"a word too many before a keyword": "const N = 4;\nstruct s {\n    string mo unsigned _name<N>;\n};\n",
		"semicolon after a case":           "union u switch (int d) { case 1; case 2: int a; };\n",
		"semicolon after default":          "union u switch (int d) { case 1: int a; default; };\n",
		"stray letter after a member":      "enum e { A = 1 x, B = 2 };\n",
		"word below a member":              "enum e { A = 1\n x,\n B = 2 };\n",
		"brackets that differ":             "struct s { int a<3]; int b[4>; };\n",
		"words behind a definition":        "struct s { int a; }\nx y z;\n",
		"two types":                        "struct s { int a nothing b; };\n",
		"a declaration without a type":     "struct s { int a\n b<3>; };\n",
		"number behind a constant":         "const A = 1 2;\n",
		"case without a colon":             "union u switch (int d) { case 1 case 2: int a; case 3 x: int b; };\n",
	}
}

// TestNoFix checks that a fault with several readings has no fix, and that check -fix does not
// change the file.
func TestNoFix(t *testing.T) {
	t.Chdir(t.TempDir())
	for name, text := range noFix() {
		for _, f := range checkText(t, "u.x", text) {
			if len(f.Fix) > 0 {
				t.Errorf("%s: there is a fix for %q: %q", name, f.Message, f.apply(text))
			}
		}
		_, _, code := runCommand(t, "check", "-fix", "u.x")
		if after, err := os.ReadFile("u.x"); err != nil || string(after) != text || code != exitFindings {
			t.Errorf("%s: exit code %d, %v, text %q", name, code, err, after)
		}
	}
}

// checkText writes a file and returns its findings by check -format json.
func checkText(t *testing.T, name, text string) []editLine {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	out, _, _ := runCommand(t, "check", "-errors", "0", "-format", "json", name)
	var found []editLine
	for line := range strings.Lines(out) {
		var e editLine
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatal(err)
		}
		if e.Message != "" {
			found = append(found, e)
		}
	}
	return found
}

// apply returns a text after the edits of one finding.
func (e editLine) apply(text string) string {
	for _, f := range slices.Backward(e.Fix) {
		text = text[:f.From] + f.Text + text[f.To:]
	}
	return text
}
