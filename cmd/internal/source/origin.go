package source

import (
	"fmt"
	"sort"
	"strconv"
	"strings"
)

// Place is a line of a document or of its errata.
type Place struct {
	Document string
	Line     int
	Erratum  string // name of the erratum that added the line; empty for a line of the document
}

// String returns "document:line", or "errata/document:line (erratum)" for a line of the errata.
func (p Place) String() string {
	if p.Erratum != "" {
		return fmt.Sprintf("errata/%s:%d (%s)", p.Document, p.Line, p.Erratum)
	}
	return fmt.Sprintf("%s:%d", p.Document, p.Line)
}

// Origin maps the lines of an extracted file to lines of the document.
type Origin struct {
	runs []run
}

type run struct {
	first, last int
	place       Place // of the first line
}

// At returns the place of a line, counted from 1. It reports false if the map does not have the
// line.
func (o *Origin) At(line int) (Place, bool) {
	i := sort.Search(len(o.runs), func(i int) bool { return o.runs[i].last >= line })
	if i == len(o.runs) || line < o.runs[i].first {
		return Place{}, false
	}
	p := o.runs[i].place
	p.Line += line - o.runs[i].first
	return p, true
}

// ParseOrigin parses the origin map that the extractor writes beside a .x file (format version
// 1). A header line is followed by one line for each run of lines: either "FIRST-LAST DOCUMENT
// LINE" or "FIRST-LAST errata DOCUMENT NAME LINE". A run of one line has one number, FIRST.
func ParseOrigin(text []byte) (*Origin, error) {
	lines := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
	head := strings.Fields(lines[0])
	if len(head) != 3 || head[0] != "xdr-origin" {
		return nil, fmt.Errorf("line 1: found %q, expected %q", lines[0], "xdr-origin 1 DOCUMENT")
	}
	if head[1] != "1" {
		return nil, fmt.Errorf("line 1: found origin map version %q, expected 1: extract the document again with this version of the tools", head[1])
	}
	o := &Origin{}
	next := 1
	for i, l := range lines[1:] {
		r, err := parseRun(strings.Fields(l))
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", i+2, err)
		}
		if r.first != next {
			return nil, fmt.Errorf("line %d: found a run that begins at line %d, expected %d", i+2, r.first, next)
		}
		next = r.last + 1
		o.runs = append(o.runs, r)
	}
	return o, nil
}

func parseRun(w []string) (run, error) {
	var r run
	switch {
	case len(w) == 3:
		r.place.Document = w[1]
	case len(w) == 5 && w[1] == "errata":
		r.place.Document, r.place.Erratum = w[2], w[3]
	default:
		return r, fmt.Errorf("found %d words, expected LINES DOCUMENT LINE or LINES errata DOCUMENT NAME LINE", len(w))
	}
	var err error
	if r.place.Line, err = lineNumber(w[len(w)-1]); err != nil {
		return r, err
	}
	first, last, ranged := strings.Cut(w[0], "-")
	if r.first, err = lineNumber(first); err != nil {
		return r, err
	}
	r.last = r.first
	if ranged {
		if r.last, err = lineNumber(last); err != nil {
			return r, err
		}
	}
	if r.last < r.first {
		return r, fmt.Errorf("found run %q, expected its last line not to be before its first", w[0])
	}
	return r, nil
}

func lineNumber(s string) (int, error) {
	n, err := strconv.Atoi(s)
	if err != nil || n < 1 {
		return 0, fmt.Errorf("found %q, expected a line number", s)
	}
	return n, nil
}
