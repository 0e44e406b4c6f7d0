package diag

import (
	"encoding/json"
	"io"

	"github.com/rpcrdma/rpcrdma/cmd/internal/source"
)

// jsonDiagnostic is a line of JSON output. Fields may be added but not changed.
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
	Fix      []jsonEdit    `json:"fix,omitempty"` // all edits of check -fix, in order
}

// jsonEdit replaces a segment of a file: the bytes from offset_bytes up to but not including
// end_offset_bytes. Where is the same place.
type jsonEdit struct {
	Where  *Place `json:"where"`
	Offset int    `json:"offset_bytes"`
	End    int    `json:"end_offset_bytes"`
	Text   string `json:"text"`
}

// Place is a span in JSON output.
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

// Summary is the last line of JSON output.
type Summary struct {
	V        int    `json:"v"`
	Type     string `json:"type"` // "summary"
	Errors   int    `json:"errors"`
	Warnings int    `json:"warnings"`
	Hidden   int    `json:"hidden"` // errors beyond the limit
}

// WriteJSON writes a finding as a line of JSON.
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

// WriteJSONSummary writes the last line of JSON output.
func WriteJSONSummary(w io.Writer, errors, warnings, hidden int) error {
	return encodeLine(w, Summary{1, "summary", errors, warnings, hidden})
}

func encodeLine(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	return e.Encode(v)
}

// PlaceOf returns a span for JSON output, or nil if the span is not valid.
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
