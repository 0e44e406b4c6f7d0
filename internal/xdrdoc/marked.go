package xdrdoc

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

// MarkedLines returns the marked lines of a document.
func MarkedLines(lines []string) []Line {
	var out []Line
	for i, s := range lines {
		if text, ok := unmark(s); ok {
			out = append(out, Line{Text: text, Num: i + 1})
		}
	}
	return out
}

// Part is a piece of extracted XDR that becomes one file.
type Part struct {
	Name  string // from the document's mark, empty for the rest after the last FILE ENDS line
	Lines []Line
	Alone bool // the document says that the file is compiled without the others

	common int // number of lines at its front that the document has once, for all files
}

// Own returns the lines of a document's part i, from the file that has all parts.
func (p Part) Own(i int) []Line {
	if i == 0 {
		return p.Lines
	}
	return p.Lines[p.common:]
}

// fileEnds is the comment by which a document says that a file is complete. The name must be a
// plain file name.
var fileEnds = regexp.MustCompile(`^[ \t]*/\*[ \t]*FILE ENDS:[ \t]*([A-Za-z0-9_][A-Za-z0-9_.-]*);?[ \t]*\*/$`)

// fileBegins is the line by which a document says that another file begins. The NFS_ACL draft has
// it, with the text before the first one in each file.
var fileBegins = regexp.MustCompile(`^@@FILE[ \t]+([A-Za-z0-9_][A-Za-z0-9_.-]*)$`)

// Split cuts marked lines before each @@FILE line, which is dropped. Without any it cuts them after
// each FILE ENDS comment, which stays in the file it ends: lines after the last one form a part
// without name, unless all of them are empty.
func Split(lines []Line) []Part {
	var parts []Part
	start := 0
	for i, l := range lines {
		if fileBegins.MatchString(l.Text) {
			return begun(lines[:i], lines[i:])
		}
	}
	for i, l := range lines {
		if m := fileEnds.FindStringSubmatch(l.Text); m != nil {
			parts = append(parts, Part{Name: m[1], Lines: lines[start : i+1]})
			start = i + 1
		}
	}
	for _, l := range lines[start:] {
		if l.Text != "" {
			return append(parts, Part{Lines: lines[start:]})
		}
	}
	return parts
}

// begun cuts lines before each @@FILE line. Each file begins with the lines of common, and files of
// one name are one.
func begun(common, lines []Line) []Part {
	var parts []Part
	at := 0
	for _, l := range lines {
		m := fileBegins.FindStringSubmatch(l.Text)
		if m == nil {
			parts[at].Lines = append(parts[at].Lines, l)
			continue
		}
		at = slices.IndexFunc(parts, func(p Part) bool { return p.Name == m[1] })
		if at < 0 {
			at = len(parts)
			parts = append(parts, Part{Name: m[1], Lines: slices.Clone(common), common: len(common), Alone: true})
		}
	}
	return parts
}

// Assign returns the parts of a marked document for the files of its manifest block, in order. A
// single file gets all parts.
func Assign(parts []Part, files []string) ([]Part, error) {
	if len(files) == 1 {
		all := Part{Name: files[0]}
		for i, p := range parts {
			all.Lines = append(all.Lines, p.Own(i)...)
		}
		return []Part{all}, nil
	}
	var names []string
	for _, p := range parts {
		name := p.Name
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
