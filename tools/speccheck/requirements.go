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
	sections []section // of RFC 8166 and the other documents, where the duty comes from
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

// Headings of the columns that hold sections: of RFC 8166 or, by name, of another document; and of
// RFC 8167. The second may be missing, and its cells may be empty.
const (
	sectionColumn = rfc8166
	bidirColumn   = "BIDIR"
)

// parseRequirements reads the rows "| R1 | M | text | 3.3.1, 4.5 | ...", under headings
// "## A. Title", and the line codecLine above them.
func parseRequirements(text []byte) ([]group, error) {
	var groups []group
	want, column, bidir := 1, -1, -1
	codec := ""
	for i, line := range bytes.Split(text, []byte("\n")) {
		s := string(line)
		fault := func(format string, args ...any) error {
			return fmt.Errorf("docs/requirements.md:%d: %s", i+1, fmt.Sprintf(format, args...))
		}
		if title, ok := strings.CutPrefix(s, "## "); ok {
			groups, column, bidir = append(groups, group{title: title}), -1, -1
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
			column, bidir = slices.Index(cells, sectionColumn), slices.Index(cells, bidirColumn)
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
		if column < 0 || column >= len(cells) {
			return nil, fault("R%d: expected a column %q with the sections, or with -", id, sectionColumn)
		}
		sections, err := parseSections(rfc8166, cells[column])
		if err != nil {
			return nil, fault("R%d: %v", id, err)
		}
		if bidir > 0 && bidir < len(cells) && cells[bidir] != "" {
			more, err := parseSections(rfc8167, cells[bidir])
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
