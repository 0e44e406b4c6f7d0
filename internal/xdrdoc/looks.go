package xdrdoc

import (
	"bytes"
	"regexp"
)

var (
	// markedDefinition is a marked line that begins a definition. A comment of an interface file
	// does not end like this.
	markedDefinition = regexp.MustCompile(`(?m)^[ \t>]*///[ \t]*(?:(?:struct|union|enum|program)\b.*\{|(?:typedef|const)\b.*;)[ \t\r]*$`)
	// titleLine is a heading of Markdown. A line of the C preprocessor has no capital there.
	titleLine = regexp.MustCompile(`^#{1,6} [A-Z]`)
)

// enoughHeadings is the number of headings that identify a document. One could be in a comment.
const enoughHeadings = 2

// IsDocument reports whether a text is a protocol document and not an interface file: a marked
// line begins a definition, or the text has tags of HTML or XML, fences of Markdown, or several
// headings. A text with a zero byte is not a document.
func IsDocument(text []byte) bool {
	if bytes.IndexByte(text, 0) >= 0 {
		return false
	}
	if markedDefinition.Match(text) {
		return true
	}
	headings := 0
	var sc scanner
	for _, s := range RawLines(text) {
		inside := sc.comment
		if sc.line(s); inside {
			continue
		}
		if marksUp.MatchString(s) || fence.MatchString(s) {
			return true
		}
		if headingNumber(s) != "" || titleLine.MatchString(s) {
			headings++
		}
		if headings == enoughHeadings {
			return true
		}
	}
	return false
}
