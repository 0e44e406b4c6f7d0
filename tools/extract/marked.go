package main

import (
	"fmt"
	"regexp"
	"strings"
)

const marker = "///"

// unmark returns the text of a marked line, by the rule of mode marked in doc.go.
func unmark(s string) (string, bool) {
	s, ok := strings.CutPrefix(strings.TrimLeft(s, " \t"), marker)
	if !ok {
		return "", false
	}
	if strings.HasPrefix(s, "/") && !strings.HasPrefix(s, "/*") {
		return "", false // a rule of slashes, not the marker
	}
	if s != "" && (s[0] == ' ' || s[0] == '\t') {
		s = s[1:]
	}
	return s, true
}

// marked returns the marked lines of a document.
func marked(lines []string) []line {
	var out []line
	for i, s := range lines {
		if text, ok := unmark(s); ok {
			out = append(out, line{text: text, num: i + 1})
		}
	}
	return out
}

// part is a piece of extracted XDR that becomes one file.
type part struct {
	name  string // from the document's FILE ENDS line, empty for the rest after the last one
	lines []line
}

// fileEnds is the comment by which a document says that a file is complete. The name must be a
// plain file name.
var fileEnds = regexp.MustCompile(`^[ \t]*/\*[ \t]*FILE ENDS:[ \t]*([A-Za-z0-9_][A-Za-z0-9_.-]*);?[ \t]*\*/$`)

// split cuts marked lines after each FILE ENDS comment, which stays in the file it ends. Lines
// after the last one form a part without name, unless all of them are empty.
func split(lines []line) []part {
	var parts []part
	start := 0
	for i, l := range lines {
		if m := fileEnds.FindStringSubmatch(l.text); m != nil {
			parts = append(parts, part{name: m[1], lines: lines[start : i+1]})
			start = i + 1
		}
	}
	for _, l := range lines[start:] {
		if l.text != "" {
			return append(parts, part{lines: lines[start:]})
		}
	}
	return parts
}

// assign returns the parts of a marked document for the files of its manifest block, in order. A
// single file gets all parts.
func assign(parts []part, files []string) ([]part, error) {
	if len(files) == 1 {
		all := part{name: files[0]}
		for _, p := range parts {
			all.lines = append(all.lines, p.lines...)
		}
		return []part{all}, nil
	}
	var names []string
	for _, p := range parts {
		name := p.name
		if name == "" {
			name = "(lines after the last mark)"
		}
		names = append(names, name)
	}
	if strings.Join(names, " ") != strings.Join(files, " ") {
		return nil, fmt.Errorf("the manifest names the files %q, the FILE ENDS marks of the document name %q; name exactly those in the manifest, in this order", files, names)
	}
	return parts, nil
}
