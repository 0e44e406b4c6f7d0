package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/rpcrdma/rpcrdma/internal/xdrdoc"
)

// head is the head of an erratum for file f.
const head = "erratum %\nfile f.x\nsection 1\nreason because\n"

// entry writes an erratum with hunks.
func entry(id, hunks string) string { return strings.Replace(head, "%", id, 1) + hunks + "\n" }

func TestParseErrata(t *testing.T) {
	list, err := parseErrata("E", []byte("# comment\nerratum P1\nfile f.x\nsection 7.3\nreason one\n two\n\tthree\n@@\n a\n-b\n+c\n \n\n# between\n@move\n-d\n@after\n e\n"))
	if err != nil {
		t.Fatal(err)
	}
	if len(list) != 1 || len(list[0].hunks) != 2 {
		t.Fatalf("got %+v", list)
	}
	e := list[0]
	if e.reason != "one two three" || e.line != 2 || e.section != "7.3" || e.file != "f.x" {
		t.Errorf("got %+v", e)
	}
	if h := e.hunks[0]; len(h.ops) != 4 || h.ops[3] != (hunkLine{' ', "", 12}) || h.ops[2] != (hunkLine{'+', "c", 11}) {
		t.Errorf("first hunk %+v", h)
	}
	if h := e.hunks[1]; h.to != "@after" || len(h.anchor) != 1 || h.anchor[0].text != "e" {
		t.Errorf("second hunk %+v", h)
	}
}

func TestParseErrataErrors(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"field first", "file f.x", "E:1: file: an entry begins with an erratum line"},
		{"hunk first", "@@", "E:1: @@: an entry begins with an erratum line"},
		{"bad id", "erratum P 1", `E:1: erratum "P 1": expected letters, digits, dot, dash and underscore only`},
		{"id twice", entry("P1", "@@\n-a") + "erratum P1", "E:7: erratum P1: named before at line 1"},
		{"unknown word", "erratum P1\ncolor red", `E:2: "color": unknown word, expected erratum, file, section, reason or a hunk`},
		{"empty field", "erratum P1\nfile", "E:2: file: found no value after it"},
		{"field twice", "erratum P1\nfile a\nfile b", "E:3: file: given twice"},
		{"field after hunk", "erratum P1\n@@\n-a\nfile b", "E:4: file: found after a hunk, expected above the hunks of its erratum"},
		{"no file", "erratum P1\nsection 1\nreason r\n@@\n-a", "E:1: erratum P1: file is missing"},
		{"no section", "erratum P1\nfile f\nreason r\n@@\n-a", "E:1: erratum P1: section is missing"},
		{"no reason", "erratum P1\nfile f\nsection 1\n@@\n-a", "E:1: erratum P1: reason is missing"},
		{"no hunk", entry("P1", ""), "E:1: erratum P1: has no hunk"},
		{"nothing changed", entry("P1", "@@\n a"), "E:1: erratum P1: the hunk at line 5 changes nothing"},
		{"no context", entry("P1", "@@\n+a"), "E:1: erratum P1: the hunk at line 5 has no context, so that it matches anywhere; add context, or use @start or @end"},
		{"unknown hunk", entry("P1", "@middle"), `E:5: "@middle": unknown directive, expected @@, @start, @end, @move, @before or @after`},
		{"after without move", entry("P1", "@@\n-a\n@after"), "E:7: @after: found without @move, expected right after the lines of one"},
		{"before and after", entry("P1", "@move\n-a\n@after\n b\n@after"), "E:9: @after: given twice"},
		{"after without context", entry("P1", "@move\n-a\n@after"), "E:1: erratum P1: the hunk at line 5: @after needs context lines"},
		{"added line in a move", entry("P1", "@move\n+a"), `E:6: found a '+' line in this part of @move, expected only "-"`},
		{"removed line as anchor", entry("P1", "@move\n-a\n@before\n-b"), `E:8: found a '-' line in this part of @move, expected only " "`},
		{"context at the start", entry("P1", "@start\n a"), `E:6: found a ' ' line in this part of @start, expected only "+"`},
		{"indented line after a field", "erratum P1\nfile f\n a", `E:3: " a" is outside a hunk; a hunk begins with @@, and an empty context line is one blank`},
		{"line outside a hunk", entry("P1", "@@\n-a\n\n-b c"), `E:8: "-b c" is outside a hunk; a hunk begins with @@, and an empty context line is one blank`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if _, err := parseErrata("E", []byte(tt.text)); err == nil || err.Error() != tt.want {
				t.Errorf("got  %v\nwant %s", err, tt.want)
			}
		})
	}
}

// numbered returns the lines of a text, the first one as document line 101.
func numbered(text string) []xdrdoc.Line {
	var lines []xdrdoc.Line
	for i, s := range strings.Split(text, "|") {
		lines = append(lines, xdrdoc.Line{Text: s, Num: 101 + i})
	}
	return lines
}

func TestApply(t *testing.T) {
	tests := []struct{ name, text, errata, want string }{
		{"replace", "a|b|c", entry("P1", "@@\n-b\n+B"), "101:a|7:B|103:c"},
		{"replace with context", "a|b|a|c|b", entry("P1", "@@\n c\n-b\n+B"), "101:a|102:b|103:a|104:c|8:B"},
		{"remove", "a|b|c", entry("P1", "@@\n-a\n-b"), "103:c"},
		{"insert", "a|c", entry("P1", "@@\n a\n+b\n c"), "101:a|7:b|102:c"},
		{"insert before", "a|c", entry("P1", "@@\n+b\n a"), "6:b|101:a|102:c"},
		{"start and end", "a", entry("P1", "@start\n+s\n@end\n+e"), "6:s|101:a|8:e"},
		{"move to the end", "a|b|c", entry("P1", "@move\n-a"), "102:b|103:c|101:a"},
		{"move before", "a|b|c", entry("P1", "@move\n-c\n@before\n a"), "103:c|101:a|102:b"},
		{"move after", "a|b|c|d", entry("P1", "@move\n-a\n-b\n@after\n c"), "103:c|101:a|102:b|104:d"},
		{"all match the extraction", "a|b", entry("P1", "@@\n-a\n+b") + entry("P2", "@@\n-b\n+a"), "7:b|14:a"},
		{"same place keeps order", "a", entry("P1", "@@\n a\n+1") + entry("P2", "@@\n a\n+2"), "101:a|7:1|14:2"},
		{"trailing blanks do not matter", "a", entry("P1", "@@\n-a  \n+b \t"), "7:b"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			list, err := parseErrata("E", []byte(tt.errata))
			if err != nil {
				t.Fatal(err)
			}
			got, err := apply(numbered(tt.text), list)
			if err != nil || show(got) != tt.want {
				t.Errorf("got  %s, %v\nwant %s", show(got), err, tt.want)
			}
		})
	}
}

func TestApplyErrors(t *testing.T) {
	tests := []struct{ name, text, errata, want string }{
		{"twice", "a|b|a", entry("P1", "@@\n-a"), "line 5: erratum P1: the old text has 2 matches, expected exactly one: at document lines 101, 103; add context lines"},
		{"nowhere", "x|y", entry("P1", "@@\n-typedef"), `line 5: erratum P1: the old text has no match, expected exactly one; no line resembles "typedef"`},
		{"nearly", "int  a;|int b;|char", entry("P1", "@@\n-int a;"), `line 5: erratum P1: the old text has no match, expected exactly one; nearest to "int a;": document line 101: "int  a;"; document line 102: "int b;"`},
		{"partly", "a|b|c", entry("P1", "@@\n-a\n b\n d"), `line 5: erratum P1: the old text has no match, expected exactly one; the first 2 of 3 lines match at document line 101, then document line 103 is "c" where the hunk has "d"`},
		{"past the end", "a|b", entry("P1", "@@\n-b\n c"), `line 5: erratum P1: the old text has no match, expected exactly one; the first 1 of 2 lines match at document line 102, then the end of the file where the hunk has "c"`},
		{"removed twice", "a|b", entry("P1", "@@\n-a") + entry("P2", "@@\n-a\n b"), "line 11: erratum P2: document line 101 is already removed or moved by P1"},
		{"moved and removed", "a|b", entry("P1", "@@\n-a") + entry("P2", "@move\n-a"), "line 11: erratum P2: document line 101 is already removed or moved by P1"},
		{"move into itself", "a|b|c", entry("P1", "@move\n-a\n-b\n@after\n a"), "line 5: erratum P1: @after: would move lines into themselves"},
		{"anchor nowhere", "a|b", entry("P1", "@move\n-a\n@after\n c"), `line 5: erratum P1: @after: the old text has no match, expected exactly one; no line resembles "c"`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			list, err := parseErrata("E", []byte(tt.errata))
			if err != nil {
				t.Fatal(err)
			}
			if _, err := apply(numbered(tt.text), list); err == nil || err.Error() != tt.want {
				t.Errorf("got  %v\nwant %s", err, tt.want)
			}
		})
	}
}

// show writes lines as number:text.
func show(lines []xdrdoc.Line) string {
	var s []string
	for _, l := range lines {
		s = append(s, fmt.Sprintf("%d:%s", l.Num, l.Text))
	}
	return strings.Join(s, "|")
}
