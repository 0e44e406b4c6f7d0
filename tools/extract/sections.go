package main

import (
	"fmt"
	"regexp"
	"strings"
)

// heading matches a section heading: a number at the left margin and a title. Lines in a table of
// contents end in a page number after dots and are not headings.
var (
	heading  = regexp.MustCompile(`^(?:Appendix )?([0-9]+(?:\.[0-9]+)*|[A-Z](?:\.[0-9]+)*)[.:]?[ \t]+[A-Z"]`)
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
	if len(n) == 1 && n[0] >= 'A' && !strings.HasPrefix(s, "Appendix ") && !strings.HasPrefix(s, n+".") {
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
