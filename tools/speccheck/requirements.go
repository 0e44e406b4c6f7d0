package main

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// requirement is one duty: a row of docs/requirements.md.
type requirement struct {
	id       int
	level    string // M, S, O or D
	text     string
	codec    bool      // a duty of encoding: a test of the codec proves it
	sections []section // where the duty comes from
}

// kind returns the word that the table uses for what the duty is about.
func (r *requirement) kind() string {
	if r.codec {
		return "encoding"
	}
	return "behaviour"
}

// group is a part of the list, with its heading.
type group struct {
	title string
	rows  []requirement
}

// codecLine begins the line that lists the duties of encoding. Every other duty is one of
// behaviour.
const codecLine = "Duties of encoding:"

// column is a column of a table that holds the sections of a document.
type column struct {
	index    int
	document *document
}

// sectionColumns finds those columns in the head of a table. They are in the order of documents.
func sectionColumns(head []string) []column {
	var out []column
	for i := range documents {
		if at := slices.Index(head, documents[i].column); at > 0 && documents[i].column != "" {
			out = append(out, column{at, &documents[i]})
		}
	}
	return out
}

// parseRequirements reads the rows "| R1 | M | text | 3.3.1, 4.5 | ...", under headings
// "## A. Title" and a head that names the documents' columns, and the line codecLine above them.
func parseRequirements(text []byte) ([]group, error) {
	var groups []group
	want := 1
	var columns []column
	codec := ""
	for i, line := range bytes.Split(text, []byte("\n")) {
		s := string(line)
		fault := func(format string, args ...any) error {
			return fmt.Errorf("docs/requirements.md:%d: %s", i+1, fmt.Sprintf(format, args...))
		}
		if title, ok := strings.CutPrefix(s, "## "); ok {
			groups, columns = append(groups, group{title: title}), nil
			continue
		}
		if list, ok := strings.CutPrefix(s, codecLine); ok {
			codec = list
			continue
		}
		cells := strings.Split(s, "|")
		for j := range cells {
			cells[j] = strings.TrimSpace(cells[j])
		}
		if strings.HasPrefix(s, "| # ") {
			columns = sectionColumns(cells)
			continue
		}
		if !strings.HasPrefix(s, "| R") {
			continue
		}
		id, err := strconv.Atoi(strings.TrimPrefix(cells[1], "R"))
		if err != nil || len(cells) < 5 || len(groups) == 0 {
			return nil, fault("expected | R<number> | level | text | under a heading")
		}
		if id != want {
			return nil, fault("found R%d, expected R%d: numbers run without gaps", id, want)
		}
		if len(columns) == 0 {
			return nil, fault("R%d: expected a column with the sections of a document, as %q", id, rfc8166)
		}
		var sections []section
		for _, c := range columns {
			if c.index >= len(cells) || cells[c.index] == "" && c.document.name == rfc8166 {
				return nil, fault("R%d: expected sections in the column %q, or -", id, c.document.column)
			}
			if cells[c.index] == "" {
				continue
			}
			more, err := parseSections(c.document.name, cells[c.index])
			if err != nil {
				return nil, fault("R%d: %v", id, err)
			}
			sections = append(sections, more...)
		}
		want++
		g := &groups[len(groups)-1]
		g.rows = append(g.rows, requirement{id, cells[2], cells[3], false, sections})
	}
	if want == 1 {
		return nil, fmt.Errorf("docs/requirements.md: found no rows, expected | R1 | level | text | under a heading")
	}
	isCodec := map[int]bool{}
	for _, id := range numbers(codec, want-1) {
		isCodec[id] = true
	}
	for i := range groups {
		for j := range groups[i].rows {
			r := &groups[i].rows[j]
			r.codec = isCodec[r.id]
		}
	}
	return groups, nil
}
