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
edit. [rfc8166.md](rfc8166.md), [version2.md](version2.md) and [drafts.md](drafts.md) have the same by section of each
document. A duty is about encoding or about behaviour; requirements.md says which.

- *proved*: a test cites the duty. A duty of behaviour needs a test of an endpoint that exchanges messages.
- *encoded*: a duty of behaviour that only tests of codecs and other parts cite: its messages can be written and read,
  and no test shows an endpoint that does what it says.
- *obeyed*: code cites it, no test does.

A duty that was proved or encoded must stay so, and code must cite each that is proved. "Code" is where it is obeyed:
search that file for the number. ` + "`go run ./tools/speccheck -find R79`" + ` prints the lines, of code and of tests; it takes
a section too: ` + "`-find \"RFC 8166 3.4.6\"`, `-find \"version-two 4.2\"`" + `. Sections without a document are those of RFC 8166;
V2, XCHAR, RDMATCP and V1 are drafts, as requirements.md says.

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
				sections = append(sections, s.link())
			}
			fmt.Fprintf(&b, "| R%d | %s | %s | %s | %s | %s | %s |\n", r.id, r.level, r.kind(), st,
				strings.Join(sections, ", "), links(c.code), links(tests))
		}
	}
	return b.Bytes()
}

// page is a page of docs that has the sections of some documents.
type page struct{ name, head string }

// pages lists them.
var pages = []page{
	{pageV1, `# RFC 8166 by section, and RFC 8167, RFC 8797, RFC 8267 and RFC 5666

Made by ` + "`make conformance`" + `; do not edit. For each section that lays a duty on an implementation: the duties of
[requirements.md](requirements.md) that come from it, the code that obeys and the tests that prove. Sections of RFC 8166
come first. Then follow those of RFC 8167 (both directions), of RFC 8797 (private data of connection setup), of RFC 8267
(NFS), and of RFC 5666, which RFC 8166 replaced, for what only they say.

    go run ./tools/speccheck -find "RFC 8166 3.4.6"     # prints the lines

A section that is not here lays no duty on an implementation, and no code or test cites it.
[conformance.md](conformance.md) counts the duties that have code and tests.
[version2.md](version2.md) and [drafts.md](drafts.md) have the other documents.
`},
	{pageV2, `# Version 2 by section: draft-ietf-nfsv4-rpcrdma-version-two-00

Made by ` + "`make conformance`" + `; do not edit. For each section of
[the draft](../spec/draft-ietf-nfsv4-rpcrdma-version-two-00.txt) that lays a duty on an implementation: the duties of
[requirements.md](requirements.md) that come from it, the code that obeys and the tests that prove. At the end are the
sections of draft -07 that code cites; no connection speaks it ([version-two-drafts.md](version-two-drafts.md)).

    go run ./tools/speccheck -find "version-two 4.2"    # prints the lines

A section that is not here lays no duty on an implementation, and no code or test cites it.
[conformance.md](conformance.md) counts the duties that have code and tests.
[rfc8166.md](rfc8166.md) and [drafts.md](drafts.md) have the other documents.
`},
	{pageDrafts, `# Other drafts by section: transport characteristics, RDMA over TCP, version 1

Made by ` + "`make conformance`" + `; do not edit. For each section of three documents in ` + "`spec/`" + ` that lays a duty on an
implementation: the duties of [requirements.md](requirements.md) that come from it, the code that obeys and the tests
that prove. First come transport characteristics (XCHAR), then RDMA over TCP (RDMATCP), then the last draft of version 1
(V1), which became RFC 5666; where RFC 8166 has the same rule, code cites that.

    go run ./tools/speccheck -find "xchar 4.2"          # prints the lines
    go run ./tools/speccheck -find "rdmatcp 3.4"
    go run ./tools/speccheck -find "V1 3.4"

A section that is not here lays no duty on an implementation, and no code or test cites it.
[conformance.md](conformance.md) counts the duties that have code and tests.
[rfc8166.md](rfc8166.md) and [version2.md](version2.md) have the other documents.
`},
}

// bySection makes a page.
func (p page) bySection(groups []group, found *citations) []byte {
	var b bytes.Buffer
	b.WriteString(p.head)
	for _, d := range documents {
		if d.page != p.name {
			continue
		}
		for _, h := range contents[d.name] {
			s := section{d.name, h.number}
			rows, c := dutiesOf(groups, s), found.section(s)
			tests := slices.Concat(c.endpoint, c.parts)
			if len(rows)+len(c.code)+len(tests) == 0 {
				continue
			}
			fmt.Fprintf(&b, "\n## %s\n\n| # | Lv | duty | code | tests |\n|---|---|---|---|---|\n", s.heading())
			for _, r := range rows {
				c := found.duty(r.id)
				_, tests := stateOf(r, c)
				fmt.Fprintf(&b, "| R%d | %s | %s | %s | %s |\n", r.id, r.level, r.text, links(c.code), links(tests))
			}
			if len(c.code)+len(tests) > 0 {
				fmt.Fprintf(&b, "| | | *cites the section* | %s | %s |\n", links(c.code), links(tests))
			}
		}
	}
	return b.Bytes()
}

// dutiesOf returns the duties that come from a section.
func dutiesOf(groups []group, s section) []*requirement {
	var rows []*requirement
	for i := range groups {
		for j := range groups[i].rows {
			if r := &groups[i].rows[j]; slices.Contains(r.sections, s) {
				rows = append(rows, r)
			}
		}
	}
	return rows
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

// citationOf returns a comment that cites a duty, with the first section that it comes from.
func citationOf(groups []group, id int) string {
	for _, g := range groups {
		for i := range g.rows {
			if r := &g.rows[i]; r.id == id && len(r.sections) > 0 {
				return fmt.Sprintf("// %v; R%d", r.sections[0], id)
			}
		}
	}
	return fmt.Sprintf("// R%d", id)
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
