package page

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/rpcrdma/rpcrdma/cmd/internal/diag"
	"github.com/rpcrdma/rpcrdma/cmd/internal/dynamic"
	"github.com/rpcrdma/rpcrdma/cmd/internal/source"
	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/document"
	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/explain"
	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/gogen"
	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/message"
	"github.com/rpcrdma/rpcrdma/internal/xdrdoc"
)

// maxErrors is the number of errors that are shown, as in a terminal without the flag -errors.
// After it come no warnings either.
const (
	maxErrors   = 20
	maxFindings = 200
)

// Checked is the answer about a unit.
type Checked struct {
	Failure  string    `json:"failure,omitempty"`  // why it was not compiled
	Document bool      `json:"document"`           // the text is a document
	Files    []string  `json:"files,omitempty"`    // that the document divides its XDR into
	Findings []Finding `json:"findings"`           // at most 20 errors, in order of place
	Errors   int       `json:"errors"`             // of all findings
	Warnings int       `json:"warnings"`           // of all findings
	Hidden   int       `json:"hidden"`             // findings that were left out
	Types    []string  `json:"types,omitempty"`    // that bytes can have, if there are no errors
	Programs bool      `json:"programs,omitempty"` // bytes can be RPC messages: it has programs
	Results  []string  `json:"results,omitempty"`  // procedures that a reply can answer
	Messages []string  `json:"messages,omitempty"` // structs that messages begin with
	Explain  []Meaning `json:"explain,omitempty"`  // for the codes above
}

// Finding is one finding. Lines and columns count from 1, columns in characters.
type Finding struct {
	Severity string `json:"severity"` // error or warning
	Code     string `json:"code"`
	Rule     string `json:"rule"`
	Message  string `json:"message"`
	Text     string `json:"text"` // as in a terminal: the place, the lines, the rule and the help
	Line     int    `json:"line"` // of the user's text; 0 if it is elsewhere, or nowhere
	Column   int    `json:"column"`
	EndLine  int    `json:"end_line"`
	EndCol   int    `json:"end_column"`
	Fixable  bool   `json:"fixable"` // request fix changes the text
}

// Meaning is the explanation of a code.
type Meaning struct {
	Code string `json:"code"`
	Text string `json:"text"`
}

// Check compiles a unit and returns its findings. An empty text has no findings.
func (s *Session) Check(u Unit) Checked {
	out := Checked{Findings: []Finding{}, Document: u.document()}
	if strings.TrimSpace(u.Text) == "" {
		return out
	}
	if out.Document {
		if doc, err := xdrdoc.Extract([]byte(u.Text), xdrdoc.Options{}); err == nil {
			for _, p := range doc.Parts {
				if p.Name != "" && len(out.Files) < maxFindings {
					out.Files = append(out.Files, p.Name)
				}
			}
		}
	}
	found, err := s.findings(u)
	if err != nil {
		out.Failure = failed(err)
		return out
	}
	out.Errors, out.Warnings = diag.Count(found)
	shown, hidden := diag.Limit(found, maxErrors)
	if len(shown) > maxFindings {
		shown, hidden = shown[:maxFindings], hidden+len(shown)-maxFindings
	}
	out.Hidden = hidden
	for _, d := range diag.NotedOnce(shown) {
		out.Findings = append(out.Findings, s.finding(d))
	}
	out.Explain = meanings(shown)
	if r := s.result; r.Unit != nil {
		out.Types, out.Results = dynamic.Names(r.Unit), dynamic.Procedures(r.Unit)
		out.Programs = len(out.Results) > 0
		for _, b := range message.Sidecars(r) {
			for _, m := range b.Messages {
				out.Messages = append(out.Messages, m.Struct)
			}
		}
	}
	return out
}

// findings returns all findings about a unit, in the order of "xdrgen check".
func (s *Session) findings(u Unit) ([]diag.Diagnostic, error) {
	r, err := s.compile(u)
	if err != nil {
		return nil, err
	}
	found := r.Diags
	if r.Unit != nil {
		found = append(slices.Clone(found), gogen.Warnings(r.Unit, r.Bind)...)
		diag.Sort(found, r.Files)
	}
	return found, nil
}

// failed returns the words for an error of the compilation.
func failed(err error) string {
	if c := (document.ChoiceError{}); errors.As(err, &c) {
		return strings.ReplaceAll(c.Error(), "-file", "the field File:")
	}
	return err.Error()
}

// finding returns a finding as JSON has it.
func (s *Session) finding(d diag.Diagnostic) Finding {
	var text strings.Builder
	_ = diag.WriteText(&text, d, diag.TextOptions{}) // a Builder takes everything
	info := d.Info()
	f := Finding{
		Severity: d.Severity.String(), Code: info.Code, Rule: info.Name, Message: d.Message, Text: text.String(),
		Fixable: s.fixable(d),
	}
	if p := diag.PlaceOf(d.Span); p != nil && s.own(d.Span.File) {
		f.Line, f.Column, f.EndLine, f.EndCol = p.Line, p.Column, p.EndLine, p.EndColumn
	}
	return f
}

// own reports whether a file is the text of the user, and not the sidecar.
func (s *Session) own(f *source.File) bool {
	return f != nil && f.Name == s.unit.name() && !f.Synthetic
}

// fixable reports whether a finding has a fix that changes only the user's text. Documents are not
// changed.
func (s *Session) fixable(d diag.Diagnostic) bool {
	other := func(e diag.Edit) bool { return !s.own(e.Span.File) || e.Span.File.Document != nil }
	return len(d.Fix) > 0 && !slices.ContainsFunc(d.Fix, other)
}

// Fixed is the answer about a fix.
type Fixed struct {
	Failure string `json:"failure,omitempty"`
	Text    string `json:"text"` // of the unit's file
}

// Fix returns the text of a unit with the fix of one finding, by its index in Checked.Findings.
func (s *Session) Fix(u Unit, index int) Fixed {
	found, err := s.findings(u)
	if err != nil {
		return Fixed{Failure: failed(err)}
	}
	if index < 0 || index >= len(found) || !s.fixable(found[index]) {
		return Fixed{Failure: fmt.Sprintf("finding %d has no fix that changes the text alone", index)}
	}
	d := found[index]
	return Fixed{Text: string(diag.Apply(d.Fix[0].Span.File, d.Fix))}
}

// meanings returns the explanations for findings, once for each code.
func meanings(found []diag.Diagnostic) []Meaning {
	entries, err := explain.Entries()
	if err != nil {
		return nil
	}
	var out []Meaning
	seen := map[string]bool{}
	for _, d := range found {
		code := d.Info().Code
		if e, ok := explain.Find(entries, code); ok && !seen[code] {
			out = append(out, Meaning{code, e.Text()})
		}
		seen[code] = true
	}
	return out
}
