package main

import (
	"fmt"
	"regexp"
	"strings"
)

// erratum is one reviewed correction of extracted XDR.
type erratum struct {
	id      string
	file    string
	section string
	reason  string
	line    int // of its erratum line
	hunks   []hunk
}

// hunk is one replacement. Lines keep their places in the errata file.
type hunk struct {
	kind   string // "@@", "@start", "@end" or "@move"
	line   int    // of the line that begins it
	ops    []hunkLine
	to     string     // "@move" only: "", "@before" or "@after"
	anchor []hunkLine // "@move" only: context lines of the destination
}

// hunkLine is a line of a hunk: ' ' context, '-' removed or moved, '+' added.
type hunkLine struct {
	op   byte
	text string
	num  int
}

var erratumID = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*$`)

// parseErrata reads an errata file, whose format is in doc.go. Its errors begin with name:line.
func parseErrata(name string, text []byte) ([]*erratum, error) {
	p := errataParser{seen: map[string]int{}}
	for i, l := range strings.Split(strings.ReplaceAll(string(text), "\r\n", "\n"), "\n") {
		if err := p.line(i+1, l); err != nil {
			return nil, fmt.Errorf("%s:%d: %w", name, i+1, err)
		}
	}
	for _, e := range p.list {
		if err := e.complete(); err != nil {
			return nil, fmt.Errorf("%s:%d: erratum %s: %w", name, e.line, e.id, err)
		}
	}
	return p.list, nil
}

type errataParser struct {
	list   []*erratum
	seen   map[string]int
	inHunk bool
	reason bool // the line before belongs to a reason
}

func (p *errataParser) line(num int, l string) error {
	reason := p.reason
	p.reason = false
	switch {
	case l == "":
		p.inHunk = false
		return nil
	case l[0] == '@':
		return p.directive(num, l)
	case p.inHunk && strings.IndexByte(" -+", l[0]) >= 0:
		return p.hunkLine(hunkLine{l[0], strings.TrimRight(l[1:], " \t"), num})
	case strings.TrimSpace(l) == "" || l[0] == '#':
		p.inHunk = false
		return nil
	}
	p.inHunk = false
	if reason && (l[0] == ' ' || l[0] == '\t') {
		e := p.list[len(p.list)-1]
		e.reason += " " + strings.TrimSpace(l)
		p.reason = true
		return nil
	}
	if strings.IndexByte(" \t-+", l[0]) >= 0 {
		return fmt.Errorf("%q is outside a hunk; a hunk begins with @@, and an empty context line is one blank", l)
	}
	key, value, _ := strings.Cut(l, " ")
	return p.field(num, key, strings.TrimSpace(value))
}

func (p *errataParser) field(num int, key, value string) error {
	if value == "" {
		return fmt.Errorf("%s: found no value after it", key)
	}
	if key == "erratum" {
		if !erratumID.MatchString(value) {
			return fmt.Errorf("erratum %q: expected letters, digits, dot, dash and underscore only", value)
		}
		if first, ok := p.seen[value]; ok {
			return fmt.Errorf("erratum %s: named before at line %d", value, first)
		}
		p.seen[value] = num
		p.list = append(p.list, &erratum{id: value, line: num})
		return nil
	}
	if len(p.list) == 0 {
		return fmt.Errorf("%s: an entry begins with an erratum line", key)
	}
	e := p.list[len(p.list)-1]
	if len(e.hunks) > 0 {
		return fmt.Errorf("%s: found after a hunk, expected above the hunks of its erratum", key)
	}
	switch key {
	case "file":
		return setOnce(key, &e.file, value)
	case "section":
		return setOnce(key, &e.section, value)
	case "reason":
		p.reason = true
		return setOnce(key, &e.reason, value)
	}
	return fmt.Errorf("%q: unknown word, expected erratum, file, section, reason or a hunk", key)
}

func (p *errataParser) directive(num int, l string) error {
	if len(p.list) == 0 {
		return fmt.Errorf("%s: an entry begins with an erratum line", l)
	}
	e := p.list[len(p.list)-1]
	switch l {
	case "@@", "@start", "@end", "@move":
		e.hunks = append(e.hunks, hunk{kind: l, line: num})
	case "@before", "@after":
		if !p.inHunk || e.hunks[len(e.hunks)-1].kind != "@move" {
			return fmt.Errorf("%s: found without @move, expected right after the lines of one", l)
		}
		h := &e.hunks[len(e.hunks)-1]
		if err := setOnce(l, &h.to, l); err != nil {
			return err
		}
	default:
		return fmt.Errorf("%q: unknown directive, expected @@, @start, @end, @move, @before or @after", l)
	}
	p.inHunk = true
	return nil
}

func (p *errataParser) hunkLine(l hunkLine) error {
	e := p.list[len(p.list)-1]
	h := &e.hunks[len(e.hunks)-1]
	want := " -+"
	switch {
	case h.kind == "@start" || h.kind == "@end":
		want = "+"
	case h.to != "":
		want = " "
	case h.kind == "@move":
		want = "-"
	}
	if strings.IndexByte(want, l.op) < 0 {
		return fmt.Errorf("found a %q line in this part of %s, expected only %q", l.op, h.kind, want)
	}
	if h.to != "" {
		h.anchor = append(h.anchor, l)
	} else {
		h.ops = append(h.ops, l)
	}
	return nil
}

// complete checks a whole erratum.
func (e *erratum) complete() error {
	for _, f := range []struct{ name, value string }{{"file", e.file}, {"section", e.section}, {"reason", e.reason}} {
		if f.value == "" {
			return fmt.Errorf("%s is missing", f.name)
		}
	}
	if len(e.hunks) == 0 {
		return fmt.Errorf("has no hunk")
	}
	for _, h := range e.hunks {
		changes, old := 0, 0
		for _, l := range h.ops {
			if l.op != ' ' {
				changes++
			}
			if l.op != '+' {
				old++
			}
		}
		switch {
		case changes == 0:
			return fmt.Errorf("the hunk at line %d changes nothing", h.line)
		case h.kind == "@@" && old == 0:
			return fmt.Errorf("the hunk at line %d has no context, so that it matches anywhere; add context, or use @start or @end", h.line)
		case h.to != "" && len(h.anchor) == 0:
			return fmt.Errorf("the hunk at line %d: %s needs context lines", h.line, h.to)
		}
	}
	return nil
}
