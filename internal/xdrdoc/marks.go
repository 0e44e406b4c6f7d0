package xdrdoc

import (
	"fmt"
	"regexp"
)

// Mark is a marked line that looks like a mark between files, and has no known meaning. It stays in
// the XDR.
type Mark struct {
	Num  int // line of the document, from 1
	Text string
}

// Note returns a description of the mark.
func (m Mark) Note() string {
	return fmt.Sprintf("line %d looks like a mark between files, and has no known meaning, so it stays in the XDR: %q; the known marks are \"@@FILE name.x\" before a file and \"/* FILE ENDS: name.x; */\" after it", m.Num, m.Text)
}

// likeMark matches lines that XDR does not have, and comments that name a file at its beginning or
// end.
var likeMark = regexp.MustCompile(`^[ \t]*(?:@|</?CODE\b|---|\+\+\+|===|>>>` +
	`|/\*[ \t]*(?:FILE|BEGIN|END|START)(?:S|ED|NING)?\b.*[A-Za-z0-9_-]\.[xh]\b.*\*/$` +
	`|/\*[ \t]*FILE[ \t]+[A-Z]+\b.*\*/$)`)

// UnknownMarks returns the marked lines that look like marks between files, without the known
// marks.
func UnknownMarks(lines []Line) []Mark {
	var out []Mark
	var sc scanner
	for _, l := range lines {
		inside := sc.comment
		if sc.line(l.Text); inside {
			continue
		}
		if likeMark.MatchString(l.Text) && !fileBegins.MatchString(l.Text) && !fileEnds.MatchString(l.Text) {
			out = append(out, Mark{l.Num, l.Text})
		}
	}
	return out
}
