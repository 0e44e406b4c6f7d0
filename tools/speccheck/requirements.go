package main

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
)

// requirement is one row of docs/requirements.md.
type requirement struct {
	id    int
	level string // M, S, O or D
	text  string
	codec bool // a duty of encoding: a test of the codec proves it
}

// kind returns the word of the table for what the duty is about.
func (r *requirement) kind() string {
	if r.codec {
		return "encoding"
	}
	return "behaviour"
}

// group is a section of it.
type group struct {
	title string
	rows  []requirement
}

// codecLine begins the line that lists the duties of encoding. Every other duty is one of behaviour.
const codecLine = "Duties of encoding:"

// parseRequirements reads the rows "| R1 | M | text | ...", under headings
// "## A. Title", and the line codecLine above them.
func parseRequirements(text []byte) ([]group, error) {
	var groups []group
	want := 1
	codec := ""
	for i, line := range bytes.Split(text, []byte("\n")) {
		s := string(line)
		if title, ok := strings.CutPrefix(s, "## "); ok {
			groups = append(groups, group{title: title})
			continue
		}
		if list, ok := strings.CutPrefix(s, codecLine); ok {
			codec = list
			continue
		}
		if !strings.HasPrefix(s, "| R") {
			continue
		}
		cells := strings.Split(s, "|")
		id, err := strconv.Atoi(strings.TrimPrefix(strings.TrimSpace(cells[1]), "R"))
		if err != nil || len(cells) < 5 || len(groups) == 0 {
			return nil, fmt.Errorf("docs/requirements.md:%d: expected | R<number> | level | text | under a heading", i+1)
		}
		if id != want {
			return nil, fmt.Errorf("docs/requirements.md:%d: found R%d, expected R%d: numbers run without gaps", i+1, id, want)
		}
		want++
		g := &groups[len(groups)-1]
		g.rows = append(g.rows, requirement{id, strings.TrimSpace(cells[2]), strings.TrimSpace(cells[3]), false})
	}
	if want == 1 {
		return nil, fmt.Errorf("docs/requirements.md: no rows")
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
