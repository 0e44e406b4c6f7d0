package diag

import (
	"encoding/json"
	"io"

	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/source"
)

// jsonDiagnostic is one line of machine output. Fields may be added, not
// changed.
type jsonDiagnostic struct {
	V        int           `json:"v"`
	Type     string        `json:"type"` // "diagnostic"
	Severity string        `json:"severity"`
	Code     string        `json:"code"`
	Rule     string        `json:"rule"`
	Message  string        `json:"message"`
	Section  string        `json:"section,omitempty"`
	Where    *Place        `json:"where,omitempty"`
	Related  []jsonRelated `json:"related,omitempty"`
	Notes    []string      `json:"notes,omitempty"`
	Help     string        `json:"help,omitempty"`
	Fix      []jsonEdit    `json:"fix,omitempty"` // what check -fix does: all of them, in order
}

// jsonEdit replaces a stretch of a file: bytes offset_bytes to
// end_offset_bytes, which is where.
type jsonEdit struct {
	Where  *Place `json:"where"`
	Offset int    `json:"offset_bytes"`
	End    int    `json:"end_offset_bytes"`
	Text   string `json:"text"`
}

// Place is a span as machine output has it.
type Place struct {
	File      string      `json:"file"`
	Line      int         `json:"line"`
	Column    int         `json:"column"`
	EndLine   int         `json:"end_line"`
	EndColumn int         `json:"end_column"`
	Origin    *jsonOrigin `json:"origin,omitempty"`
}

type jsonOrigin struct {
	Document string `json:"document"`
	Line     int    `json:"line"`
	Erratum  string `json:"erratum,omitempty"`
}

type jsonRelated struct {
	Label string `json:"label"`
	Where *Place `json:"where"`
}

// Summary is the last line of machine output.
type Summary struct {
	V        int    `json:"v"`
	Type     string `json:"type"` // "summary"
	Errors   int    `json:"errors"`
	Warnings int    `json:"warnings"`
	Hidden   int    `json:"hidden"` // errors beyond the limit
}

// WriteJSON writes one finding as one line of JSON.
func WriteJSON(w io.Writer, d Diagnostic) error {
	info := d.Info()
	j := jsonDiagnostic{
		V: 1, Type: "diagnostic", Severity: d.Severity.String(), Code: info.Code, Rule: info.Name,
		Message: d.Message, Section: info.Section, Where: PlaceOf(d.Span), Notes: d.Notes, Help: d.HelpText(),
	}
	for _, r := range d.Related {
		j.Related = append(j.Related, jsonRelated{r.Label, PlaceOf(r.Span)})
	}
	for _, e := range d.Fix {
		j.Fix = append(j.Fix, jsonEdit{PlaceOf(e.Span), e.Span.Start, e.Span.End, e.Text})
	}
	return encodeLine(w, j)
}

// WriteJSONSummary writes the closing line of machine output.
func WriteJSONSummary(w io.Writer, errors, warnings, hidden int) error {
	return encodeLine(w, Summary{1, "summary", errors, warnings, hidden})
}

func encodeLine(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	return e.Encode(v)
}

// PlaceOf returns a span for machine output; nil where it is no place.
func PlaceOf(s source.Span) *Place {
	if !s.Valid() {
		return nil
	}
	a, b := s.Position(), s.EndPosition()
	p := &Place{File: s.File.Name, Line: a.Line, Column: a.Column, EndLine: b.Line, EndColumn: b.Column}
	if o, ok := s.Origin(); ok {
		p.Origin = &jsonOrigin{o.Document, o.Line, o.Erratum}
	}
	return p
}
