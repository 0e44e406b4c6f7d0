package reference

import (
	"fmt"
	"net/url"
	"regexp"
	"sort"
	"strings"

	"github.com/rpcrdma/rpcrdma/cmd/internal/source"
	"github.com/rpcrdma/rpcrdma/internal/xdrdoc"
)

// heading is the heading of a section.
type heading = xdrdoc.Heading

// places finds the places of declarations in documents.
type places struct {
	sections map[*source.File][]heading // of the documents
}

// maxText limits the lines, in bytes, that a link can search for.
const maxText = 200

// place is a line of a file or a document.
type place struct {
	document string // name, such as "rfc8166.txt"
	line     int
	section  string // number, or ""
	erratum  string // that added the line
	text     string // of the line
}

// of looks up a place.
func (p *places) of(at source.Span) place {
	if at.File == nil {
		return place{}
	}
	out := place{document: at.File.Base(), line: at.Position().Line}
	if l := at.File.LineSpan(out.line); l.End-l.Start <= maxText {
		out.text = strings.TrimSpace(l.Text())
	}
	if o, ok := at.Origin(); ok {
		out.document, out.line, out.erratum = o.Document, o.Line, o.Erratum
	}
	if at.File.Document == nil {
		return out
	}
	all, ok := p.sections[at.File]
	if !ok {
		all = xdrdoc.Headings(at.File.Document)
		p.sections[at.File] = all
	}
	if i := sort.Search(len(all), func(i int) bool { return all[i].Line > out.line }); i > 0 {
		out.section = all[i-1].Number
	}
	return out
}

// rfc matches the name of an RFC's text.
var rfc = regexp.MustCompile(`^rfc([1-9][0-9]{0,4})\.[a-z]+$`)

// sectionURL returns the address of the section in an RFC, or "" for another document.
func (p place) sectionURL() string {
	m := rfc.FindStringSubmatch(p.document)
	switch {
	case m == nil || p.erratum != "":
		return ""
	case p.section == "":
		return "https://www.rfc-editor.org/rfc/rfc" + m[1]
	}
	return rfcURL(m[1], p.section)
}

// rfcURL returns the address of a section.
func rfcURL(number, section string) string {
	kind := "section-"
	if section[0] >= 'A' {
		kind = "appendix-"
	}
	return "https://www.rfc-editor.org/rfc/rfc" + number + "#" + kind + section
}

// lineURL returns the address of the line in an RFC's text, or "" for another document.
func (p place) lineURL() string {
	m := rfc.FindStringSubmatch(p.document)
	if m == nil || p.erratum != "" || p.text == "" {
		return ""
	}
	words := strings.ReplaceAll(url.QueryEscape(strings.Join(firstWords(p.text), " ")), "+", "%20")
	return "https://www.rfc-editor.org/rfc/rfc" + m[1] + ".txt#:~:text=" + strings.ReplaceAll(words, "-", "%2D")
}

// firstWords returns the words of a line up to the name that it declares.
func firstWords(s string) []string {
	words := strings.Fields(s)
	if len(words) > 2 && words[0] != "typedef" {
		words = words[:2]
	}
	return words
}

// sectionText returns the section in words: "RFC 8166, section 4.1", or "section 2" in a document
// that is not an RFC.
func (p place) sectionText() string {
	var words []string
	if m := rfc.FindStringSubmatch(p.document); m != nil {
		words = append(words, "RFC "+m[1])
	}
	switch {
	case p.section == "":
	case p.section[0] >= 'A':
		words = append(words, "appendix "+p.section)
	default:
		words = append(words, "section "+p.section)
	}
	return strings.Join(words, ", ")
}

// String returns the place in words: "nfs.x:12".
func (p place) String() string {
	if p.erratum != "" {
		return fmt.Sprintf("erratum %s of %s", p.erratum, p.document)
	}
	return fmt.Sprintf("%s:%d", p.document, p.line)
}
