package main

import (
	"bytes"
	"fmt"
	"maps"
	"regexp"
	"strconv"
	"strings"
)

// shown is how many tests of a requirement the table names.
const shown = 4

// state is how far a duty is proved.
type state string

const (
	open    state = ""
	obeyed  state = "obeyed"  // code cites it, no test does
	encoded state = "encoded" // a duty of behaviour that tests of codecs and parts cite, no endpoint's does
	proved  state = "proved"
)

// judge returns the state of a duty and the places that show it.
func judge(r *requirement, c *cited) (state, map[string]bool) {
	switch {
	case c == nil:
		return open, nil
	case r.codec && len(c.endpoint)+len(c.parts) > 0:
		all := maps.Clone(c.parts)
		maps.Copy(all, c.endpoint)
		return proved, all
	case len(c.endpoint) > 0:
		return proved, c.endpoint
	case len(c.parts) > 0:
		return encoded, c.parts
	}
	return obeyed, c.code
}

// render makes docs/conformance.md.
func render(groups []group, found map[int]*cited) []byte {
	var b bytes.Buffer
	b.WriteString(`# Conformance

Made by ` + "`go run ./tools/speccheck`" + ` from [requirements.md](requirements.md) and the tests and code that cite its numbers; do not
edit. A duty is about encoding or about behaviour; requirements.md says which.

- *proved*: a test cites the duty; where it is one of behaviour, a test at an endpoint, which exchanges messages.
- *encoded*: a duty of behaviour that only tests of codecs and other parts cite: its messages can be written and read,
  and no endpoint is known to do what it says.
- *obeyed*: code cites it, no test does.

A duty that was proved or encoded must stay so.

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
			st, _ := judge(&g.rows[i], found[g.rows[i].id])
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
		fmt.Fprintf(&b, "\n## %s\n\n| # | Lv | about | state | where |\n|---|---|---|---|---|\n", g.title)
		for i := range g.rows {
			r := &g.rows[i]
			st, where := judge(r, found[r.id])
			fmt.Fprintf(&b, "| R%d | %s | %s | %s | %s |\n", r.id, r.level, r.kind(), st, join(sorted(where)))
		}
	}
	return b.Bytes()
}

func join(list []string) string {
	more := ""
	if len(list) > shown {
		more = fmt.Sprintf("; %d more", len(list)-shown)
		list = list[:shown]
	}
	return strings.Join(list, "; ") + more
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
