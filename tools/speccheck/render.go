package main

import (
	"bytes"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// shown is how many tests of a requirement the table names.
const shown = 4

// render makes docs/conformance.md.
func render(groups []group, found map[int]*cited) []byte {
	var b bytes.Buffer
	b.WriteString(`# Conformance

Made by ` + "`go run ./tools/speccheck`" + ` from [requirements.md](requirements.md) and the tests and code that cite its numbers; do not
edit. *proved*: a test cites the duty. *obeyed*: code cites it, no test does yet. A duty that was proved must stay so.

| group | duties | proved | obeyed only |
|---|---|---|---|
`)
	var all, proved, obeyed int
	for _, g := range groups {
		if len(g.rows) == 0 {
			continue
		}
		p, o := 0, 0
		for _, r := range g.rows {
			switch c := found[r.id]; {
			case c == nil:
			case len(c.proofs) > 0:
				p++
			default:
				o++
			}
		}
		fmt.Fprintf(&b, "| %s | %d | %d | %d |\n", g.title, len(g.rows), p, o)
		all, proved, obeyed = all+len(g.rows), proved+p, obeyed+o
	}
	fmt.Fprintf(&b, "| all | %d | %d | %d |\n", all, proved, obeyed)
	for _, g := range groups {
		if len(g.rows) == 0 {
			continue
		}
		fmt.Fprintf(&b, "\n## %s\n\n| # | Lv | state | where |\n|---|---|---|---|\n", g.title)
		for _, r := range g.rows {
			state, where := "", ""
			switch c := found[r.id]; {
			case c == nil:
			case len(c.proofs) > 0:
				state, where = "proved", join(sorted(c.proofs))
			default:
				state, where = "obeyed", join(sorted(c.code))
			}
			fmt.Fprintf(&b, "| R%d | %s | %s | %s |\n", r.id, r.level, state, where)
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

var provedRow = regexp.MustCompile(`(?m)^\| R(\d+) \| \w+ \| proved \|`)

// lostProofs returns the requirements that are proved in the old table and
// not in the new one.
func lostProofs(old, table []byte) []int {
	now := map[string]bool{}
	for _, m := range provedRow.FindAllSubmatch(table, -1) {
		now[string(m[1])] = true
	}
	var lost []int
	for _, m := range provedRow.FindAllSubmatch(old, -1) {
		if !now[string(m[1])] {
			id, _ := strconv.Atoi(string(m[1]))
			lost = append(lost, id)
		}
	}
	return lost
}
