package xdrdoc

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestMarkersAreRemoved(t *testing.T) {
	tests := []struct {
		in, want string
		ok       bool
	}{
		{"/// struct a {", "struct a {", true},
		{"   /// struct a {", "struct a {", true},
		{"\t/// x", "x", true},
		{"///struct a {", "struct a {", true},
		{"///    indented", "   indented", true},
		{"///\ttab", "tab", true},
		{"///", "", true},
		{"   ///", "", true},
		{"////*", "/*", true}, // P13
		{"   ////* x */", "/* x */", true},
		{"/// /*", "/*", true},
		{"/// %#include <x.h>", "%#include <x.h>", true},
		{"////", "", false},
		{"/////////////////", "", false},
		{"//// x", "", false},
		{"// x", "", false},
		{"x /// y", "", false},
		{"sed -n -e 's:^ */// ::p' -e 's:^ *///$::p'", "", false},
		{"   grep '^ *///' | sed 's?^ /// ??' | sed 's?^ *///$??'", "", false},
		{"\"///\" is the sentinel", "", false},
		{"<CODE BEGINS>", "", false},
		{"", "", false},
	}
	for _, tt := range tests {
		if got, ok := unmark(tt.in); got != tt.want || ok != tt.ok {
			t.Errorf("unmark(%q) = %q, %v, want %q, %v", tt.in, got, ok, tt.want, tt.ok)
		}
	}
}

// show writes lines as number:text.
func show(lines []Line) string {
	var s []string
	for _, l := range lines {
		s = append(s, fmt.Sprintf("%d:%s", l.Num, l.Text))
	}
	return strings.Join(s, "|")
}

func showParts(parts []Part) []string {
	var s []string
	for _, p := range parts {
		s = append(s, p.Name+" "+show(p.Lines))
	}
	return s
}

func TestMarksDivideTheXDR(t *testing.T) {
	tests := []struct {
		name, doc string
		want      []string
	}{
		{"no mark", "/// a\nprose\n/// b", []string{" 1:a|3:b"}},
		{"none marked", "prose", nil},
		{
			"two files", "/// a\n/// /* FILE ENDS: one.x; */\n\n/// b\n/// /* FILE ENDS: two.x; */",
			[]string{"one.x 1:a|2:/* FILE ENDS: one.x; */", "two.x 4:b|5:/* FILE ENDS: two.x; */"},
		},
		{"rest", "/// /* FILE ENDS: one.x */\n/// b", []string{"one.x 1:/* FILE ENDS: one.x */", " 2:b"}},
		{"empty rest is dropped", "/// /* FILE ENDS: one.x; */\n///\n///", []string{"one.x 1:/* FILE ENDS: one.x; */"}},
		{"path is not a file name", "/// /* FILE ENDS: ../one.x; */", []string{" 1:/* FILE ENDS: ../one.x; */"}},
		{"hidden file is not a file name", "/// /* FILE ENDS: .x; */", []string{" 1:/* FILE ENDS: .x; */"}},
		{"not a comment", "/// FILE ENDS: one.x;", []string{" 1:FILE ENDS: one.x;"}},
		{
			"files that begin", "/// a\n/// @@FILE one.x\n/// b\nprose\n/// @@FILE two.x\n/// c\n/// @@FILE one.x\n/// d",
			[]string{"one.x 1:a|3:b|8:d", "two.x 1:a|6:c"},
		},
		{"nothing in common", "/// @@FILE one.x\n/// a\n/// /* FILE ENDS: one.x; */", []string{"one.x 2:a|3:/* FILE ENDS: one.x; */"}},
		{"path begins no file", "/// @@FILE ../one.x\n/// a", []string{" 1:@@FILE ../one.x|2:a"}},
		{"unmarked", "/* FILE ENDS: one.x; */\n/// a", []string{" 2:a"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := showParts(Split(MarkedLines(Lines([]byte(tt.doc)))))
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestTheManifestNamesTheFiles(t *testing.T) {
	two := func() []Part {
		return Split(MarkedLines(Lines([]byte("/// a\n/// /* FILE ENDS: one.x; */\n/// b\n/// /* FILE ENDS: two.x; */"))))
	}
	got, err := Assign(two(), []string{"all.x"})
	if err != nil || len(got) != 1 || len(got[0].Lines) != 4 {
		t.Errorf("one file takes all: got %v, %v", showParts(got), err)
	}
	if got, err = Assign(two(), []string{"one.x", "two.x"}); err != nil || len(got) != 2 {
		t.Errorf("names agree: got %v, %v", showParts(got), err)
	}
	const want = `the manifest names the files ["two.x" "one.x"], the marks of the document name ["one.x" "two.x"]; name exactly those in the manifest, in this order`
	if _, err = Assign(two(), []string{"two.x", "one.x"}); err == nil || err.Error() != want {
		t.Errorf("names differ: got %v, want %s", err, want)
	}
	rest := Split(MarkedLines(Lines([]byte("/// /* FILE ENDS: one.x; */\n/// b"))))
	if _, err = Assign(rest, []string{"one.x", "two.x"}); err == nil || !strings.Contains(err.Error(), "lines after the last mark") {
		t.Errorf("rest without name: got %v", err)
	}
}
