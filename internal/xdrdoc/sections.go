package xdrdoc

import (
	"fmt"
	"regexp"
	"strings"
)

// heading matches a section heading: a number at the left margin and a title. Lines in a table of
// contents end in a page number after dots and are not headings.
var (
	heading  = regexp.MustCompile(`^(?:(?i:appendix) )?([0-9]+(?:\.[0-9]+)*|[A-Z](?:\.[0-9]+)*)[.:]?[ \t]+[A-Z"]`)
	appendix = regexp.MustCompile(`^(?i:appendix) `)
	contents = regexp.MustCompile(`(\. ?){3,} *[0-9]+$`)
)

// headingNumber returns the section number a heading line carries, "" for any other line. A single
// letter is an appendix only if a dot follows it or the word Appendix precedes it.
func headingNumber(s string) string {
	m := heading.FindStringSubmatch(s)
	if m == nil || contents.MatchString(s) {
		return ""
	}
	n := m[1]
	if len(n) == 1 && n[0] >= 'A' && !appendix.MatchString(s) && !strings.HasPrefix(s, n+".") {
		return ""
	}
	return n
}

// span is a half-open range of line indexes.
type span struct{ from, to int }

// sectionSpans returns where a section is in a document, with its subsections and without its
// heading. A number that occurs twice (a draft with a flat table of contents) gives two spans.
func sectionSpans(lines []string, section string) ([]span, error) {
	var spans []span
	var seen []string
	open := -1
	left := margin(lines)
	for i, s := range lines {
		if width(s) != left {
			continue
		}
		n := headingNumber(strings.TrimLeft(s, " \t"))
		if n == "" {
			continue
		}
		seen = append(seen, n)
		if n != section && !strings.HasPrefix(n, section+".") {
			if open >= 0 {
				spans = append(spans, span{open, i})
			}
			open = -1
		} else if open < 0 {
			open = i + 1
		}
	}
	if open >= 0 {
		spans = append(spans, span{open, len(lines)})
	}
	if spans == nil {
		if len(seen) == 0 {
			return nil, fmt.Errorf("section %s: the document has no numbered headings at the left margin", section)
		}
		return nil, fmt.Errorf("section %s: no such heading; the document has %s", section, strings.Join(limit(seen, 40), " "))
	}
	return spans, nil
}

// limit cuts a list for a message.
func limit(list []string, n int) []string {
	if len(list) <= n {
		return list
	}
	return append(list[:n:n], fmt.Sprintf("and %d more", len(list)-n))
}

// sections returns the definitions under several sections, in the order named, and how many lines
// were looked at.
func (r *blockReader) sections(names []string) (taken []Line, looked int, bad []Unclosed, err error) {
	for _, s := range names {
		number, table := strings.CutPrefix(s, tablePrefix)
		spans, err := sectionSpans(r.lines, number)
		if err != nil {
			return nil, 0, nil, err
		}
		before := len(taken)
		for _, sp := range spans {
			looked += sp.to - sp.from
			lines, b := r.read(sp)
			if table {
				lines, b = r.table(sp), nil
			}
			bad = append(bad, b...)
			if len(taken) > 0 && len(lines) > 0 && lines[0].Num > 1 && r.lines[lines[0].Num-2] == "" {
				taken = append(taken, Line{Num: lines[0].Num - 1})
			}
			taken = append(taken, lines...)
		}
		if len(taken) == before && table {
			return nil, 0, nil, fmt.Errorf("section %s: holds no line of the form NAME NUMBER", number)
		}
		if len(taken) == before {
			return nil, 0, nil, fmt.Errorf("section %s: holds no XDR definition", s)
		}
	}
	return taken, looked, bad, nil
}

// ReadSections returns the definitions under several sections of a document, in the order named. It
// also returns how many lines were looked at, and the definitions that begin and never close.
func ReadSections(lines, names []string) (taken []Line, looked int, lost []Unclosed, err error) {
	r := &blockReader{lines: lines, cut: pageBreaks(lines)}
	return r.sections(names)
}

// Heading is the heading of a section.
type Heading struct {
	Line   int    // of the document, from 1
	Number string // "4.2", or "A.1" of an appendix
}

// Headings returns the numbered headings of a text, in order. Those in a table of contents, and
// lines of XDR, are left out.
func Headings(doc []byte) (out []Heading) {
	lines := Lines(doc)
	left := margin(lines)
	for i, s := range lines {
		if width(s) != left {
			continue
		}
		if n := headingNumber(strings.TrimLeft(s, " \t")); n != "" {
			out = append(out, Heading{i + 1, n})
		}
	}
	return out
}
