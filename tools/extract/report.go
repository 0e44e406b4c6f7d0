package main

import (
	"fmt"
	"strings"

	"github.com/rpcrdma/rpcrdma/internal/xdrdoc"
)

// documentJSON is the report on one document.
type documentJSON struct {
	Name    string     `json:"name"`
	Version string     `json:"version"`
	Mode    string     `json:"mode"`
	Lines   int        `json:"lines"`
	Marked  int        `json:"marked_lines"`
	Units   []unitJSON `json:"units"`
	Notes   []string   `json:"notes"`
}

type unitJSON struct {
	unitEvent
	Detail []fileJSON `json:"detail"`
}

type fileJSON struct {
	Name   string        `json:"name"`
	Taken  []string      `json:"taken"` // line ranges of the document
	Errata []erratumJSON `json:"errata"`
}

type erratumJSON struct {
	ID      string `json:"id"`
	Line    int    `json:"line"` // in the errata file
	Section string `json:"section"`
	Reason  string `json:"reason"`
}

// report prints the lines extracted from a document and the errata applied.
func (p *printer) report(r *docResult) {
	d := describe(r)
	if p.json != nil {
		p.emit(event{Type: "document", Where: r.doc.name, Doc: &d})
		return
	}
	fmt.Fprintf(p.out, "%s, version %s, mode %s: %d lines, %d marked\n", d.Name, d.Version, d.Mode, d.Lines, d.Marked)
	for _, u := range d.Units {
		fmt.Fprintf(p.out, "  unit %s for %s: %d lines taken, %d errata\n", u.Name, u.Target, u.Taken, u.Errata)
		for _, f := range u.Detail {
			fmt.Fprintf(p.out, "    %s: document lines %s\n", f.Name, strings.Join(f.Taken, " "))
			for _, e := range f.Errata {
				fmt.Fprintf(p.out, "      %s (section %s): %s\n", e.ID, e.Section, e.Reason)
			}
		}
	}
	for _, n := range d.Notes {
		fmt.Fprintf(p.out, "  note: %s\n", n)
	}
}

func describe(r *docResult) documentJSON {
	d := documentJSON{
		Name: r.doc.name, Version: r.doc.version, Mode: r.doc.mode, Lines: r.lines, Marked: r.marked,
		Units: []unitJSON{}, Notes: append([]string{}, r.notes...),
	}
	for _, u := range r.units {
		uj := unitJSON{unitEvent: summarise(u)}
		for _, f := range u.files {
			fj := fileJSON{Name: f.name, Taken: ranges(f.taken), Errata: []erratumJSON{}}
			for _, e := range f.errata {
				fj.Errata = append(fj.Errata, erratumJSON{e.id, e.line, e.section, e.reason})
			}
			uj.Detail = append(uj.Detail, fj)
		}
		d.Units = append(d.Units, uj)
	}
	return d
}

// ranges writes the document lines of extracted text as N or FIRST-LAST.
func ranges(lines []xdrdoc.Line) []string {
	list := []string{}
	for first := 0; first < len(lines); {
		last := first
		for last+1 < len(lines) && follows(lines[last], lines[last+1]) {
			last++
		}
		s := fmt.Sprint(lines[first].Num)
		if last > first {
			s = fmt.Sprintf("%s-%d", s, lines[last].Num)
		}
		list = append(list, s)
		first = last + 1
	}
	return list
}
