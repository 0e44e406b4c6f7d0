package main

import (
	"fmt"
	"sort"
	"strings"

	"github.com/rpcrdma/rpcrdma/internal/xdrdoc"
)

// edit collects the changes to one extracted file. All hunks match the file as extracted, so the
// order of errata only determines the order of lines that are added at the same place.
type edit struct {
	lines   []xdrdoc.Line
	removed []string              // by index: id of the erratum that removes or moves the line
	added   map[int][]xdrdoc.Line // before index; len(lines) is the end
}

// apply returns the extracted lines of a file with its errata in place, without which some
// documents do not compile (draft-ietf-nfsv4-rpcrdma-version-two-00 §7.3 and §7.4 among them;
// R320). Errors name the erratum and the lines of the document it searched.
func apply(lines []xdrdoc.Line, errata []*erratum) ([]xdrdoc.Line, error) {
	ed := edit{lines: lines, removed: make([]string, len(lines)), added: map[int][]xdrdoc.Line{}}
	for _, e := range errata {
		for _, h := range e.hunks {
			if err := ed.hunk(e, h); err != nil {
				return nil, fmt.Errorf("line %d: erratum %s: %w", h.line, e.id, err)
			}
		}
	}
	var out []xdrdoc.Line
	for i := range len(lines) + 1 {
		out = append(out, ed.added[i]...)
		if i < len(lines) && ed.removed[i] == "" {
			out = append(out, lines[i])
		}
	}
	return out, nil
}

func (ed *edit) hunk(e *erratum, h hunk) error {
	pos := 0
	switch h.kind {
	case "@end":
		pos = len(ed.lines)
	case "@@", "@move":
		var err error
		if pos, err = ed.find(h.ops); err != nil {
			return err
		}
	}
	if h.kind == "@move" {
		return ed.move(e, h, pos)
	}
	for _, l := range h.ops {
		switch l.op {
		case '+':
			ed.added[pos] = append(ed.added[pos], xdrdoc.Line{Text: l.text, Num: l.num, Erratum: e.id})
			continue
		case '-':
			if err := ed.remove(e, pos); err != nil {
				return err
			}
		}
		pos++
	}
	return nil
}

func (ed *edit) move(e *erratum, h hunk, from int) error {
	to := len(ed.lines)
	if h.to != "" {
		at, err := ed.find(h.anchor)
		if err != nil {
			return fmt.Errorf("%s: %w", h.to, err)
		}
		to = at
		if h.to == "@after" {
			to += len(h.anchor)
		}
		if to > from && to < from+len(h.ops) {
			return fmt.Errorf("%s: would move lines into themselves", h.to)
		}
	}
	for i := from; i < from+len(h.ops); i++ {
		if err := ed.remove(e, i); err != nil {
			return err
		}
	}
	ed.added[to] = append(ed.added[to], ed.lines[from:from+len(h.ops)]...)
	return nil
}

func (ed *edit) remove(e *erratum, i int) error {
	if ed.removed[i] != "" {
		return fmt.Errorf("document line %d is already removed or moved by %s", ed.lines[i].Num, ed.removed[i])
	}
	ed.removed[i] = e.id
	return nil
}

// find returns the index at which a hunk's old lines are. They must be at one place only.
func (ed *edit) find(ops []hunkLine) (int, error) {
	var old []string
	for _, l := range ops {
		if l.op != '+' {
			old = append(old, l.text)
		}
	}
	var at []int
	for i := 0; i+len(old) <= len(ed.lines); i++ {
		if ed.matches(i, old) == len(old) {
			at = append(at, i)
		}
	}
	switch len(at) {
	case 1:
		return at[0], nil
	case 0:
		return 0, fmt.Errorf("the old text has no match, expected exactly one; %s", ed.nearest(old))
	}
	var nums []string
	for _, i := range at {
		nums = append(nums, fmt.Sprint(ed.lines[i].Num))
	}
	if more := len(nums) - 10; more > 0 {
		nums = append(nums[:10], fmt.Sprintf("and %d more", more))
	}
	return 0, fmt.Errorf("the old text has %d matches, expected exactly one: at document lines %s; add context lines", len(at), strings.Join(nums, ", "))
}

// matches returns how many of the old lines are at index i, in order.
func (ed *edit) matches(i int, old []string) int {
	n := 0
	for n < len(old) && i+n < len(ed.lines) && ed.lines[i+n].Text == old[n] {
		n++
	}
	return n
}

// nearest describes the nearest match of the old lines: the longest one and the line at which it
// ends, or the lines most similar to the first old line.
func (ed *edit) nearest(old []string) string {
	best, at := 0, 0
	for i := range ed.lines {
		if n := ed.matches(i, old); n > best {
			best, at = n, i
		}
	}
	if best > 0 {
		have := "the end of the file"
		if at+best < len(ed.lines) {
			l := ed.lines[at+best]
			have = fmt.Sprintf("document line %d is %q", l.Num, l.Text)
		}
		return fmt.Sprintf("the first %d of %d lines match at document line %d, then %s where the hunk has %q", best, len(old), ed.lines[at].Num, have, old[best])
	}
	type candidate struct {
		l     xdrdoc.Line
		score int
	}
	var list []candidate
	for _, l := range ed.lines {
		if s := alike(l.Text, old[0]); 2*s >= len(old[0]) && s > 0 {
			list = append(list, candidate{l, s})
		}
	}
	if len(list) == 0 {
		return fmt.Sprintf("no line resembles %q", old[0])
	}
	sort.SliceStable(list, func(i, j int) bool { return list[i].score > list[j].score })
	var b strings.Builder
	for i, c := range list[:min(3, len(list))] {
		if i > 0 {
			b.WriteString("; ")
		}
		fmt.Fprintf(&b, "document line %d: %q", c.l.Num, c.l.Text)
	}
	return fmt.Sprintf("nearest to %q: %s", old[0], &b)
}

// alike counts the characters two lines share from both ends, blanks left out.
func alike(a, b string) int {
	a, b = strings.Join(strings.Fields(a), ""), strings.Join(strings.Fields(b), "")
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	a, b = a[n:], b[n:]
	for a != "" && b != "" && a[len(a)-1] == b[len(b)-1] {
		a, b, n = a[:len(a)-1], b[:len(b)-1], n+1
	}
	return n
}
