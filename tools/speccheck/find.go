package main

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// finder answers -find.
type finder struct {
	groups []group
	found  *citations
	out    strings.Builder
}

// find answers what cites a duty, as R79, a section, as "version-two 4.2", or a whole document. A
// section without a document is one of RFC 8166. The error says what exists instead.
func find(groups []group, found *citations, what string) (string, error) {
	f := &finder{groups: groups, found: found}
	if dutyAsked.MatchString(what) {
		return f.duty(strings.ToUpper(what))
	}
	if d := called(what); d != nil {
		return f.document(d)
	}
	m := sectionAsked.FindStringSubmatch(what)
	if m == nil {
		return "", fmt.Errorf("found %q, expected a duty, as R79, a section, as \"version-two 4.2\", or a document: %s", what, known())
	}
	name, number := strings.TrimSpace(m[1]), strings.ToUpper(m[2])
	if name == "" {
		return f.nameless(number)
	}
	if d := called(name); d != nil {
		return f.section(section{d.name, number})
	}
	if s := (section{otherRFC(name), number}); found.sections[s] != nil {
		return f.section(s)
	}
	return f.unknown(name, number)
}

var (
	dutyAsked = regexp.MustCompile(`^[Rr][1-9][0-9]*$`)
	// A name, "section" or "§" where the person writes it, and the number.
	sectionAsked = regexp.MustCompile(`^\s*(.*?)[\s,]*(?:§|(?i:\bsection|\bsec\.|\bappendix))?\s*\b([0-9]+(?:\.[0-9]+)*|[A-Za-z](?:\.[0-9]+)*)\.?\s*$`)
)

// known returns the documents with the names to ask by.
func known() string {
	var names []string
	for i := range documents {
		name := documents[i].name
		if short := documents[i].short(); short != name {
			name += " (" + short + ")"
		}
		names = append(names, name)
	}
	return strings.Join(names, ", ")
}

// otherRFC returns a name such as rfc5044 or 5044 in the form of citations. The tree may cite RFCs
// that lay no duty.
func otherRFC(name string) string {
	return "RFC " + strings.TrimPrefix(plainName(name), "rfc")
}

// lines prints places with their lines, in order, each once.
func (f *finder) lines(label string, places ...[]place) {
	list := slices.Concat(places...)
	slices.SortFunc(list, func(a, b place) int {
		if c := strings.Compare(a.file, b.file); c != 0 {
			return c
		}
		return a.line - b.line
	})
	for _, p := range slices.Compact(list) {
		fmt.Fprintf(&f.out, "  %s %s:%d: %s\n", label, p.file, p.line, p.symbol)
	}
}

// row prints a duty with what cites it.
func (f *finder) row(r *requirement) {
	c := f.found.duty(r.id)
	_, tests := stateOf(r, c)
	fmt.Fprintf(&f.out, "R%d %s\n", r.id, r.text)
	f.lines("code", c.code)
	f.lines("test", tests)
}

// duty answers for a duty, and says which sections it comes from.
func (f *finder) duty(id string) (string, error) {
	last := 0
	for i := range f.groups {
		for j := range f.groups[i].rows {
			r := &f.groups[i].rows[j]
			last = r.id
			if id != fmt.Sprintf("R%d", r.id) {
				continue
			}
			f.row(r)
			for _, s := range r.sections {
				fmt.Fprintf(&f.out, "  from %v %s\n", s, s.title())
			}
			return f.out.String(), nil
		}
	}
	return "", fmt.Errorf("found %s, expected a duty of docs/requirements.md, R1 to R%d", id, last)
}

// document lists the sections of a document that have duties or citations.
func (f *finder) document(d *document) (string, error) {
	fmt.Fprintf(&f.out, "%s: sections with duties or citations; docs/%s has them in full\n", d.name, d.page)
	f.list(d, func(string) bool { return true })
	return f.out.String(), nil
}

// list prints the sections of a document that wanted accepts, each with its duties in a line.
func (f *finder) list(d *document, wanted func(number string) bool) {
	for _, h := range contents[d.name] {
		s := section{d.name, h.number}
		c := f.found.section(s)
		var duties []string
		for _, r := range dutiesOf(f.groups, s) {
			duties = append(duties, fmt.Sprintf("R%d", r.id))
		}
		if n := len(c.code) + len(c.endpoint) + len(c.parts); n > 0 {
			duties = append(duties, map[bool]string{true: "cited once", false: fmt.Sprintf("cited %d times", n)}[n == 1])
		}
		if len(duties) > 0 && wanted(h.number) {
			fmt.Fprintf(&f.out, "  §%s %s: %s\n", h.number, h.title, strings.Join(duties, ", "))
		}
	}
}

// section answers for a section: its duties, what cites it, and the sections below.
func (f *finder) section(s section) (string, error) {
	d := lookup(s.doc)
	if !s.exists() {
		return "", fmt.Errorf("%s has no section %s; it has %s", s.doc, s.number, strings.Join(d.nearest(s.number), ", "))
	}
	fmt.Fprintf(&f.out, "%s\n", strings.TrimSpace(s.String()+" "+s.title()))
	rows, c := dutiesOf(f.groups, s), f.found.section(s)
	for _, r := range rows {
		f.row(r)
	}
	if tests := slices.Concat(c.endpoint, c.parts); len(c.code)+len(tests) > 0 {
		f.out.WriteString("citations of the section\n")
		f.lines("code", c.code)
		f.lines("test", tests)
	} else if len(rows) == 0 {
		f.out.WriteString("  no duty comes from this section, and nothing cites it\n")
	}
	if d != nil {
		below := len(f.out.String())
		f.list(d, func(number string) bool { return strings.HasPrefix(number, s.number+".") })
		if text := f.out.String(); len(text) > below {
			f.out.Reset()
			f.out.WriteString(text[:below] + "sections below\n" + text[below:])
		}
	}
	return f.out.String(), nil
}

// nameless answers for a section of RFC 8166, and names the other documents that have one of that
// number.
func (f *finder) nameless(number string) (string, error) {
	var others []string
	for i := range documents {
		d := &documents[i]
		if d.name != rfc8166 && (section{d.name, number}).exists() {
			others = append(others, fmt.Sprintf("%q", d.short()+" "+number))
		}
	}
	hint := ""
	if len(others) > 0 {
		hint = "other documents have a section " + number + ", too: -find " + strings.Join(others, ", ")
	}
	text, err := f.section(section{rfc8166, number})
	switch {
	case err != nil && hint != "":
		return "", fmt.Errorf("%w; %s", err, hint)
	case err == nil && hint != "":
		text += hint + "\n"
	}
	return text, err
}

// unknown is the answer for a document that has no row, or an RFC of which the section is not
// cited.
func (f *finder) unknown(name, number string) (string, error) {
	var cited []string
	rfc := otherRFC(name)
	for s := range f.found.sections {
		if s.doc == rfc {
			cited = append(cited, s.number)
		}
	}
	if len(cited) > 0 {
		slices.Sort(cited)
		return "", fmt.Errorf("nothing cites %s §%s; cited are its sections %s", rfc, number, strings.Join(cited, ", "))
	}
	return "", fmt.Errorf("found the document %q, expected one of these: %s; or an RFC that the code cites", name, known())
}
