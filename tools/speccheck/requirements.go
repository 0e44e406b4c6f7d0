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
}

// group is a section of it.
type group struct {
	title string
	rows  []requirement
}

// parseRequirements reads the rows "| R1 | M | text | ...", under headings
// "## A. Title".
func parseRequirements(text []byte) ([]group, error) {
	var groups []group
	want := 1
	for i, line := range bytes.Split(text, []byte("\n")) {
		s := string(line)
		if title, ok := strings.CutPrefix(s, "## "); ok {
			groups = append(groups, group{title: title})
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
		g.rows = append(g.rows, requirement{id, strings.TrimSpace(cells[2]), strings.TrimSpace(cells[3])})
	}
	if want == 1 {
		return nil, fmt.Errorf("docs/requirements.md: no rows")
	}
	return groups, nil
}
