package main

import (
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"strings"
)

// printer writes results to stdout as text or as JSON lines, and everything else to stderr.
type printer struct {
	out, err io.Writer
	json     *json.Encoder // nil for text
	findings int
}

func (o *options) printer() *printer {
	p := &printer{out: o.stdout, err: o.stderr}
	if o.format == "json" {
		p.json = json.NewEncoder(o.stdout)
		p.json.SetEscapeHTML(false)
	}
	return p
}

// event is one line of JSON. Fields may be added, never changed.
type event struct {
	V       int           `json:"v"`
	Type    string        `json:"type"` // error, finding, note, changed, unit, document
	Code    string        `json:"code,omitempty"`
	Where   string        `json:"where,omitempty"`
	Message string        `json:"message,omitempty"`
	Help    string        `json:"help,omitempty"`
	DryRun  bool          `json:"dry_run,omitempty"`
	Unit    *unitEvent    `json:"unit,omitempty"`
	Doc     *documentJSON `json:"document,omitempty"`
}

func (p *printer) emit(e event) {
	e.V = 1
	e.Where = filepath.ToSlash(e.Where)
	_ = p.json.Encode(e) // a reader that has gone away needs no message
}

func (p *printer) failure(err error) {
	fmt.Fprintf(p.err, "extract: %v\n", err)
	if p.json != nil {
		p.emit(event{Type: "error", Code: "failed", Message: err.Error()})
	}
}

// finding prints a finding of -check: its place, the fault, and what to do. The message of code
// "differs" is a diff.
func (p *printer) finding(code, where, message, help string) {
	p.findings++
	switch {
	case p.json != nil:
		p.emit(event{Type: "finding", Code: code, Where: where, Message: message, Help: help})
	case code == "differs":
		fmt.Fprint(p.out, message)
	default:
		fmt.Fprintf(p.out, "%s: %s; %s\n", where, message, help)
	}
}

func (p *printer) note(where, message string) {
	fmt.Fprintf(p.err, "extract: %s: %s\n", where, message)
	if p.json != nil {
		p.emit(event{Type: "note", Where: where, Message: message})
	}
}

func (p *printer) changed(path string, dryRun bool) {
	if p.json != nil {
		p.emit(event{Type: "changed", Where: path, DryRun: dryRun})
		return
	}
	if dryRun {
		path += " (not written)"
	}
	fmt.Fprintln(p.out, path)
}

// summary prints one line for each unit of a document.
func (p *printer) summary(r *docResult) {
	for _, n := range r.notes {
		p.note(r.doc.name, n)
	}
	for _, u := range r.units {
		s := summarise(u)
		if p.json != nil {
			p.emit(event{Type: "unit", Where: r.doc.name, Unit: &s})
			continue
		}
		looked := "marked"
		if r.doc.mode == modeSections {
			looked = "in the sections"
		}
		fmt.Fprintf(p.out, "%s: %d lines %s, %d taken, %d errata, %d lines in %s\n",
			s.Name, s.Looked, looked, s.Taken, s.Errata, s.Lines, strings.Join(s.Files, " "))
	}
}

// unitEvent is the summary of a unit.
type unitEvent struct {
	Name   string   `json:"name"`
	Target string   `json:"target"`
	Files  []string `json:"files"`
	Looked int      `json:"looked_lines"` // marked lines, or lines of the sections
	Taken  int      `json:"taken_lines"`
	Errata int      `json:"errata"`
	Lines  int      `json:"lines"` // after errata
}

func summarise(u *unitResult) unitEvent {
	s := unitEvent{Name: u.unit.name, Target: u.unit.target, Looked: u.looked}
	for _, f := range u.files {
		s.Files = append(s.Files, f.name)
		s.Taken += len(f.taken)
		s.Errata += len(f.errata)
		s.Lines += len(f.lines)
	}
	return s
}
