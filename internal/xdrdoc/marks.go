package xdrdoc

import (
	"fmt"
	"regexp"
	"strings"
)

// Mark is a marked line that looks like a mark between files, and has no known meaning. It is left
// out of the XDR, unless it is a comment.
type Mark struct {
	Num  int // line of the document, from 1
	Text string
}

// comment reports whether the line is a comment of the XDR.
func (m Mark) comment() bool { return strings.HasPrefix(strings.TrimLeft(m.Text, " \t"), "/*") }

// Fate says what became of the line.
func (m Mark) Fate() string {
	if m.comment() {
		return "it stays in the XDR as a comment"
	}
	return "it is left out of the XDR"
}

// Note returns a description of the mark.
func (m Mark) Note() string {
	return fmt.Sprintf("line %d looks like a mark between files, and has no known meaning: %q; %s; the known marks are \"@@FILE name.x\" before a file and \"/* FILE ENDS: name.x; */\" after it", m.Num, m.Text, m.Fate())
}

// likeMark matches lines that XDR does not have, and comments that name a file at its beginning or
// end.
var likeMark = regexp.MustCompile(`^[ \t]*(?:@|</?CODE\b|---|\+\+\+|===|>>>` +
	`|/\*[ \t]*(?:FILE|BEGIN|END|START)(?:S|ED|NING)?\b.*[A-Za-z0-9_-]\.[xh]\b.*\*/$` +
	`|/\*[ \t]*FILE[ \t]+[A-Z]+\b.*\*/$)`)

// TakeMarks returns the marked lines that look like marks between files and are not known, and the
// lines without these marks.
func TakeMarks(lines []Line) (rest []Line, out []Mark) {
	var sc scanner
	for _, l := range lines {
		inside := sc.comment
		m := Mark{l.Num, l.Text}
		if sc.line(l.Text); !inside && likeMark.MatchString(l.Text) && !fileBegins.MatchString(l.Text) && !fileEnds.MatchString(l.Text) {
			if out = append(out, m); !m.comment() {
				continue
			}
		}
		rest = append(rest, l)
	}
	return rest, out
}
