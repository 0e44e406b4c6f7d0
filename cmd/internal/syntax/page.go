package syntax

import (
	"bytes"
	"regexp"

	"github.com/rpcrdma/rpcrdma/cmd/internal/diag"
)

// The lines between two pages of an RFC or draft: a footer and a header.
var (
	pageFooter = regexp.MustCompile(`^\S[^\n;{}]*\[Page [0-9ivxlc]+\][ \t\r]*$`)
	pageHeader = regexp.MustCompile(`^(?:RFC [0-9]+|(?i:internet-draft))\s[^\n;{}]*[ \t][A-Z][a-z]+ [0-9]{4}[ \t\r]*$`)
)

// pageBreak reports the lines of a page break that were left in the text, as one fault, and skips
// them. The scanner is at the first character of a line that is not blank.
func pageBreak(s *scanner) bool {
	start, end := s.pos, s.pos
	for pos := start; pos < len(s.text); {
		line := s.text[pos:endOfLine(s.text, pos)]
		footer := bytes.Contains(line, []byte("[Page ")) && pageFooter.Match(line)
		if !footer && !pageHeader.Match(line) {
			break
		}
		end = pos + len(bytes.TrimRight(line, " \t\r"))
		pos += len(line)
		pos += len(s.text[pos:]) - len(bytes.TrimLeft(s.text[pos:], " \t\r\n\f"))
	}
	if end == start {
		return false
	}
	s.pos = end
	s.report(diag.New(diag.SyntaxError, s.span(start, min(end, endOfLine(s.text, start))), "found a page break of a document, expected XDR").
		Helpf("remove the footer and the header of the page; or give the document itself: it is read without its page breaks").
		Replace(s.span(start, end), ""))
	return true
}

// alone reports whether only blanks are before a position in its line.
func alone(text []byte, pos int) bool {
	line := text[bytes.LastIndexByte(text[:pos], '\n')+1 : pos]
	return len(bytes.TrimLeft(line, " \t")) == 0
}
