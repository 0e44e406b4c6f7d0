package main

import (
	"fmt"
	"regexp"
	"slices"
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
	name   string // from the document's mark, empty for the rest after the last FILE ENDS line
	lines  []line
	common int  // number of lines at its front that the document has once, for all files
	alone  bool // the document says that the file is compiled without the others
}

// own returns the lines of a document's part i, from the file that has all parts.
func (p part) own(i int) []line {
	if i == 0 {
		return p.lines
	}
	return p.lines[p.common:]
}

// fileEnds is the comment by which a document says that a file is complete. The name must be a
// plain file name.
var fileEnds = regexp.MustCompile(`^[ \t]*/\*[ \t]*FILE ENDS:[ \t]*([A-Za-z0-9_][A-Za-z0-9_.-]*);?[ \t]*\*/$`)

// fileBegins is the line by which a document says that another file begins. The NFS_ACL draft has
// it, with the text before the first one in each file.
var fileBegins = regexp.MustCompile(`^@@FILE[ \t]+([A-Za-z0-9_][A-Za-z0-9_.-]*)$`)

// split cuts marked lines before each @@FILE line, which is dropped. Without any it cuts them after
// each FILE ENDS comment, which stays in the file it ends: lines after the last one form a part
// without name, unless all of them are empty.
func split(lines []line) []part {
	var parts []part
	start := 0
	for i, l := range lines {
		if fileBegins.MatchString(l.text) {
			return begun(lines[:i], lines[i:])
		}
	}
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

// begun cuts lines before each @@FILE line. Each file begins with the lines of common, and files of
// one name are one.
func begun(common, lines []line) []part {
	var parts []part
	at := 0
	for _, l := range lines {
		m := fileBegins.FindStringSubmatch(l.text)
		if m == nil {
			parts[at].lines = append(parts[at].lines, l)
			continue
		}
		at = slices.IndexFunc(parts, func(p part) bool { return p.name == m[1] })
		if at < 0 {
			at = len(parts)
			parts = append(parts, part{m[1], slices.Clone(common), len(common), true})
		}
	}
	return parts
}

// assign returns the parts of a marked document for the files of its manifest block, in order. A
// single file gets all parts.
func assign(parts []part, files []string) ([]part, error) {
	if len(files) == 1 {
		all := part{name: files[0]}
		for i, p := range parts {
			all.lines = append(all.lines, p.own(i)...)
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
		return nil, fmt.Errorf("the manifest names the files %q, the marks of the document name %q; name exactly those in the manifest, in this order", files, names)
	}
	return parts, nil
}
