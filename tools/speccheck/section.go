package main

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// section is a section of a document.
type section struct{ doc, number string }

// String returns "RFC 8166 §3.4.6".
func (s section) String() string { return s.doc + " §" + s.number }

// label returns the section as a cell of docs/conformance.md names it: "§3.4.6" for RFC 8166,
// "V2 §4.2" for the draft of version 2.
func (s section) label() string {
	return strings.TrimPrefix(lookup(s.doc).label+" §"+s.number, " ")
}

// heading returns the heading of the section in its page. The document that comes first in a page
// is not named there.
func (s section) heading() string {
	name := s.String()
	if s.doc == rfc8166 || s.doc == v2 {
		name = "§" + s.number
	}
	return name + " " + s.title()
}

// link returns a link to that heading, from another page in docs.
func (s section) link() string {
	var b strings.Builder
	for _, r := range strings.ToLower(s.heading()) {
		switch {
		case r == ' ':
			b.WriteByte('-')
		case r == '-', r == '_', '0' <= r && r <= '9', 'a' <= r && r <= 'z':
			b.WriteRune(r)
		}
	}
	return fmt.Sprintf("[%s](%s#%s)", s.label(), lookup(s.doc).page, b.String())
}

// exists reports whether the document has the section. A document without a row in documents may
// have any.
func (s section) exists() bool {
	return lookup(s.doc) == nil || slices.ContainsFunc(contents[s.doc], func(h heading) bool { return h.number == s.number })
}

// title returns the title of the section, or nothing if this command does not know the document.
func (s section) title() string {
	for _, h := range contents[s.doc] {
		if h.number == s.number {
			return h.title
		}
	}
	return ""
}

// parseSections reads a cell of a column whose numbers without a document are sections of doc: "-"
// for none, else "3.3.1, 4.5, RFC 5666 3.8".
func parseSections(doc, cell string) ([]section, error) {
	if cell == "-" {
		return nil, nil
	}
	var out []section
	for word := range strings.SplitSeq(cell, ", ") {
		s := section{doc, word}
		for _, other := range documents {
			if number, ok := strings.CutPrefix(word, other.name+" "); ok {
				s = section{other.name, number}
			}
		}
		if !s.exists() {
			return nil, fmt.Errorf("found %q, expected a section of %s, one of another document as \"RFC 5666 3.8\", or -", word, doc)
		}
		out = append(out, s)
	}
	return out, nil
}

// A citation of sections is "RFC 8166 §3.3.1", or "RFC 8166 §3.3.1, §4.5 and §7". A draft is cited
// by its file name, with the revision.
var (
	sectionsCited = regexp.MustCompile(`\b(RFC [0-9]{4}|draft-[a-z0-9-]+-[0-9]{2})\s+§§?` + number + `(?:(?:,|;|\s+and|\s+or|\s+to)\s+§` + number + `)*`)
	sectionNumber = regexp.MustCompile(`§(` + number + `)`)
)

const number = `(?:[0-9]+|[A-Z]\b)(?:\.[0-9]+)*`
