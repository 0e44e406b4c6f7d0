package xdrdoc

import (
	"errors"
	"fmt"
	"strings"
)

// Modes of extraction.
const (
	Marked   = "marked"   // the lines that begin with three slashes
	Sections = "sections" // the definitions, by their form
)

// Options select the XDR of a document.
type Options struct {
	Mode     string // Marked or Sections; if empty, the document decides
	Sections string // with Sections: numbers, separated by commas; if empty, the whole document
}

// Document is the XDR of a document.
type Document struct {
	Mode  string
	Parts []Part // at least one

	Lost     []Unclosed // definitions that were not taken
	Repeated int        // number of repeated definitions that were left out
	Marks    []Mark     // marks that have no known meaning
}

// Notes describes the lines that may need attention.
func (d *Document) Notes() []string {
	var out []string
	for _, m := range d.Marks {
		out = append(out, m.Note())
	}
	for _, b := range d.Lost {
		out = append(out, b.Note())
	}
	if d.Repeated > 0 {
		out = append(out, fmt.Sprintf("left out %d definitions that repeat an earlier one word for word", d.Repeated))
	}
	return out
}

// ErrNoXDR is the error for a document without XDR.
var ErrNoXDR = errors.New("found no XDR: no line begins with ///, and no line begins a definition")

// Extract takes the XDR out of a document that no manifest describes. If it fails, the result has
// the reasons in Lost.
func Extract(doc []byte, o Options) (*Document, error) {
	d := &Document{Mode: o.Mode}
	if strings.HasPrefix(string(doc), "\xff\xfe") || strings.HasPrefix(string(doc), "\xfe\xff") {
		return d, errors.New("the document is encoded in UTF-16, expected UTF-8: convert it")
	}
	lines := Lines(doc)
	all := MarkedLines(lines)
	if d.Mode == "" {
		d.Mode = Sections
		if len(all) > 0 && o.Sections == "" {
			d.Mode = Marked
		}
	}
	if d.Mode == Marked {
		if len(all) == 0 {
			return d, errors.New("found no line that begins with ///, which -mode marked needs; try -mode sections")
		}
		all = RevealPieces(all)
		all, d.Marks = TakeMarks(all)
		d.Parts = Split(all)
		return d, nil
	}
	return d, d.read(doc, lines, o.Sections)
}

// read takes the definitions of a document, by their form.
func (d *Document) read(doc []byte, lines []string, sections string) (err error) {
	r := &blockReader{lines: lines, cut: pageBreaks(lines), seen: map[string]int{}}
	for i, other := range otherCode(RawLines(doc)) {
		r.cut[i] = r.cut[i] || other
	}
	var taken []Line
	if sections == "" {
		taken, d.Lost = r.read(span{0, len(lines)})
	} else if taken, _, d.Lost, err = r.sections(strings.Split(sections, ",")); err != nil {
		return err
	}
	d.Repeated = r.repeated
	if len(taken) == 0 {
		return ErrNoXDR
	}
	d.Parts = []Part{{Lines: taken}}
	return nil
}
