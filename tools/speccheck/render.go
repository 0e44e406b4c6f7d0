package main

import (
	"bytes"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// shown is the number of places that a cell of a table names at most.
const shown = 4

// state is the degree to which a duty is proved.
type state string

const (
	open    state = ""
	obeyed  state = "obeyed"  // code cites it, no test does
	encoded state = "encoded" // a duty of behaviour: only tests of parts cite it
	proved  state = "proved"
)

// stateOf returns the state of a duty and the tests that show it.
func stateOf(r *requirement, c *cited) (state, []place) {
	switch {
	case r.codec && len(c.endpoint)+len(c.parts) > 0:
		return proved, append(slices.Clone(c.parts), c.endpoint...)
	case len(c.endpoint) > 0:
		return proved, c.endpoint
	case len(c.parts) > 0:
		return encoded, c.parts
	case len(c.code) > 0:
		return obeyed, nil
	}
	return open, nil
}

// conformance makes docs/conformance.md.
func conformance(groups []group, found *citations) []byte {
	var b bytes.Buffer
	b.WriteString(`# Conformance

Made by ` + "`make conformance`" + ` from [requirements.md](requirements.md) and the code and tests that cite its numbers; do not
edit. [rfc8166.md](rfc8166.md) has the same by section of RFC 8166, RFC 8167 and RFC 8797. A duty is about encoding or
about behaviour; requirements.md says which.

- *proved*: a test cites the duty. A duty of behaviour needs a test of an endpoint that exchanges messages.
- *encoded*: a duty of behaviour that only tests of codecs and other parts cite: its messages can be written and read,
  and no test shows an endpoint that does what it says.
- *obeyed*: code cites it, no test does.

A duty that was proved or encoded must stay so, and code must cite each that is proved. "Code" is where it is obeyed:
search that file for the number. ` + "`go run ./tools/speccheck -find R79`" + ` prints the lines, of code and of tests; it takes
a section too: ` + "`-find 3.4.6`, `-find \"RFC 8167 5.3\"`" + `.

| group | duties | proved | encoded only | obeyed only |
|---|---|---|---|---|
`)
	total := map[state]int{}
	duties := 0
	for _, g := range groups {
		if len(g.rows) == 0 {
			continue
		}
		n := map[state]int{}
		for i := range g.rows {
			st, _ := stateOf(&g.rows[i], found.duty(g.rows[i].id))
			n[st]++
			total[st]++
		}
		duties += len(g.rows)
		fmt.Fprintf(&b, "| %s | %d | %d | %d | %d |\n", g.title, len(g.rows), n[proved], n[encoded], n[obeyed])
	}
	fmt.Fprintf(&b, "| all | %d | %d | %d | %d |\n", duties, total[proved], total[encoded], total[obeyed])
	for _, g := range groups {
		if len(g.rows) == 0 {
			continue
		}
		fmt.Fprintf(&b, "\n## %s\n\n| # | Lv | about | state | section | code | tests |\n|---|---|---|---|---|---|---|\n", g.title)
		for i := range g.rows {
			r := &g.rows[i]
			c := found.duty(r.id)
			st, tests := stateOf(r, c)
			var sections []string
			for _, s := range r.sections {
				sections = append(sections, fmt.Sprintf("[%v](rfc8166.md#%s)", s, s.anchor()))
			}
			fmt.Fprintf(&b, "| R%d | %s | %s | %s | %s | %s | %s |\n", r.id, r.level, r.kind(), st,
				strings.Join(sections, ", "), links(c.code), links(tests))
		}
	}
	return b.Bytes()
}

// bySection makes docs/rfc8166.md.
func bySection(groups []group, found *citations) []byte {
	var b bytes.Buffer
	b.WriteString(`# RFC 8166, RFC 8167 and RFC 8797 by section

Made by ` + "`make conformance`" + `; do not edit. For each section that lays a duty on an implementation: the duties of
[requirements.md](requirements.md) that come from it, the code that obeys and the tests that prove. Sections of RFC 8166
come first. Then follow those of RFC 8167 (both directions), of RFC 8797 (private data of connection setup), and of
RFC 5666, which RFC 8166 replaced, for what only they say. The code's comments hold the number: search the file for it,
or run ` + "`go run ./tools/speccheck -find 3.4.6`" + `, or ` + "`-find \"RFC 8167 5.3\"`" + `, which prints the lines. A section that is not
here lays no duty on an implementation. A duty without code and tests is not implemented yet.
`)
	for _, s := range sectionOrder {
		var rows []*requirement
		for i := range groups {
			for j := range groups[i].rows {
				if r := &groups[i].rows[j]; slices.Contains(r.sections, s) {
					rows = append(rows, r)
				}
			}
		}
		if len(rows) == 0 && len(found.sections[s]) == 0 {
			continue
		}
		fmt.Fprintf(&b, "\n## %s\n\n| # | Lv | duty | code | tests |\n|---|---|---|---|---|\n", s.heading())
		for _, r := range rows {
			c := found.duty(r.id)
			_, tests := stateOf(r, c)
			fmt.Fprintf(&b, "| R%d | %s | %s | %s | %s |\n", r.id, r.level, r.text, links(c.code), links(tests))
		}
		if at := found.sections[s]; len(at) > 0 {
			fmt.Fprintf(&b, "| | | *cites the section* | %s | |\n", links(at))
		}
	}
	return b.Bytes()
}

// links returns places as links to their files, sorted, each file and symbol once, and at most as
// many as shown. There are no line numbers in them: they would change with every edit.
func links(places []place) string {
	var list []string
	for _, p := range places {
		name := strings.TrimSpace(path.Join(path.Base(path.Dir(p.file)), path.Base(p.file)) + " " + p.symbol)
		if strings.HasSuffix(p.file, "_test.go") || strings.Contains(p.file, "/verbstest/") {
			name = path.Dir(p.file) + " " + p.symbol
		}
		list = append(list, fmt.Sprintf("[%s](../%s)", name, p.file))
	}
	slices.Sort(list)
	list = slices.Compact(list)
	more := ""
	if len(list) > shown {
		more = fmt.Sprintf("; %d more", len(list)-shown)
		list = list[:shown]
	}
	return strings.Join(list, "; ") + more
}

// find returns the lines that cite a duty, R79, or the duties and the code of a section, 3.4.6 or
// RFC 8167 5.3. It reports false if there is no such duty or section.
func find(groups []group, found *citations, what string) (string, bool) {
	var b strings.Builder
	lines := func(places []place, label string) {
		places = slices.Clone(places)
		slices.SortFunc(places, func(a, b place) int {
			if c := strings.Compare(a.file, b.file); c != 0 {
				return c
			}
			return a.line - b.line
		})
		for _, p := range slices.Compact(places) {
			fmt.Fprintf(&b, "  %s %s:%d: %s\n", label, p.file, p.line, p.symbol)
		}
	}
	sections, err := parseSections(rfc8166, strings.Replace(what, "§", "", 1))
	isSection := err == nil && len(sections) == 1
	ok := isSection
	for _, g := range groups {
		for i := range g.rows {
			r := &g.rows[i]
			if what != fmt.Sprintf("R%d", r.id) && !(isSection && slices.Contains(r.sections, sections[0])) {
				continue
			}
			ok = true
			c := found.duty(r.id)
			_, tests := stateOf(r, c)
			fmt.Fprintf(&b, "R%d %s\n", r.id, r.text)
			lines(c.code, "code")
			lines(tests, "test")
		}
	}
	if isSection && len(found.sections[sections[0]]) > 0 {
		fmt.Fprintf(&b, "%v %s\n", sections[0], sections[0].title())
		lines(found.sections[sections[0]], "code")
	}
	if isSection && b.Len() == 0 {
		fmt.Fprintf(&b, "%s: no duty comes from this section, and no code cites it\n", sections[0].heading())
	}
	return b.String(), ok
}

// uncited returns the duties that are proved and that no product code cites.
func uncited(groups []group, found *citations) []int {
	var out []int
	for _, g := range groups {
		for i := range g.rows {
			r := &g.rows[i]
			c := found.duty(r.id)
			if st, _ := stateOf(r, c); st == proved && len(c.code) == 0 {
				out = append(out, r.id)
			}
		}
	}
	return out
}

var stateRow = regexp.MustCompile(`(?m)^\| R(\d+) \| \w+ \| \w+ \| (proved|encoded) \|`)

// loss is a duty whose state has become worse.
type loss struct {
	id       int
	was, now state
}

// losses returns the duties that are proved or encoded in the old table, and less in the new one.
func losses(old, table []byte) []loss {
	rank := map[state]int{encoded: 1, proved: 2}
	now := map[string]state{}
	for _, m := range stateRow.FindAllSubmatch(table, -1) {
		now[string(m[1])] = state(m[2])
	}
	var lost []loss
	for _, m := range stateRow.FindAllSubmatch(old, -1) {
		if was, is := state(m[2]), now[string(m[1])]; rank[is] < rank[was] {
			id, _ := strconv.Atoi(string(m[1]))
			lost = append(lost, loss{id, was, is})
		}
	}
	return lost
}
