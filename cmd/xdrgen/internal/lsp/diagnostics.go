package lsp

import (
	"maps"
	"slices"
	"strings"

	"github.com/rpcrdma/rpcrdma/cmd/internal/diag"
)

// maxShown limits the findings of a file that the client gets.
const maxShown = 200

// shown has the findings that the client has, by file and by unit: a file can be in several.
type shown map[string]map[string][]diagnostic

// forget removes a file, for which the client shows no findings any more.
func (s shown) forget(path string) { delete(s, path) }

// show sends the findings of a unit, in the place of the earlier ones. A nil analysis stands for no
// findings.
func (s *server) show(u *unit, a *analysis) {
	found := map[string][]diagnostic{}
	if a != nil {
		found = s.diagnostics(a)
	}
	for path, d := range s.texts { // the client learns that they have been checked
		if d.unit == u && found[path] == nil {
			found[path] = []diagnostic{}
		}
	}
	for path, by := range s.shown {
		if by[u.key] != nil && found[path] == nil {
			found[path] = nil // it had some
		}
	}
	for _, path := range slices.Sorted(maps.Keys(found)) {
		by := s.shown[path]
		if by == nil {
			by = map[string][]diagnostic{}
			s.shown[path] = by
		}
		if by[u.key] = found[path]; len(found[path]) == 0 {
			delete(by, u.key)
		}
		s.publish(path, by)
		if len(by) == 0 {
			s.shown.forget(path)
		}
	}
}

// publish sends the findings of a file.
func (s *server) publish(path string, by map[string][]diagnostic) {
	p := publishDiagnostics{URI: s.uri(path), Diagnostics: []diagnostic{}}
	if d := s.texts[path]; d != nil {
		p.Version = &d.version
	}
	for _, key := range slices.Sorted(maps.Keys(by)) {
		for _, d := range by[key] {
			same := func(o diagnostic) bool { return o.Range == d.Range && o.Code == d.Code && o.Message == d.Message }
			if len(by) == 1 || !slices.ContainsFunc(p.Diagnostics, same) {
				p.Diagnostics = append(p.Diagnostics, d)
			}
		}
	}
	s.out.notify("textDocument/publishDiagnostics", p)
}

// uri returns the URI of a file: the client's, if it has the file open.
func (s *state) uri(path string) documentURI {
	if d := s.texts[path]; d != nil {
		return d.uri
	}
	return uriOf(path)
}

// diagnostics returns the findings of a unit by file.
func (s *state) diagnostics(a *analysis) map[string][]diagnostic {
	out := map[string][]diagnostic{}
	if a.err != nil {
		path := a.files[0]
		out[path] = []diagnostic{{Severity: severityError, Source: "xdrgen", Message: a.err.Error()}}
	}
	for _, d := range a.result.Diags {
		path := a.place(d).path()
		if len(out[path]) < maxShown {
			out[path] = append(out[path], s.diagnostic(a, d))
		}
	}
	return out
}

// place returns the view of the file that a finding is shown in: the unit's first one, if the
// finding is about no place in a file.
func (a *analysis) place(d diag.Diagnostic) *view {
	f := d.Span.File
	if f == nil || f.Synthetic {
		f = a.result.Files[0]
	}
	return a.view(f)
}

func (s *state) diagnostic(a *analysis, d diag.Diagnostic) diagnostic {
	v, info := a.place(d), d.Info()
	out := diagnostic{Severity: severityWarning, Code: info.Code, Source: "xdrgen", Message: s.words(a, d)}
	if v.file == d.Span.File {
		out.Range = v.span(d.Span.Start, d.Span.End, s.client.encoding)
	}
	if d.Severity == diag.Error {
		out.Severity = severityError
	}
	if !s.client.related {
		return out
	}
	for _, r := range d.Related {
		if l, ok := s.location(a, r.Span); ok {
			out.Related = append(out.Related, related{l, r.Label})
		}
	}
	return out
}

// words returns the text of a finding, with its notes, the rule and the help.
func (s *state) words(a *analysis, d diag.Diagnostic) string {
	var b strings.Builder
	b.WriteString(d.Message)
	info := d.Info()
	for _, n := range d.Notes {
		b.WriteString("\nnote: " + n)
	}
	if !s.client.related {
		for _, r := range d.Related {
			b.WriteString("\nnote: " + r.Label + ": " + where(r.Span))
		}
	}
	b.WriteString("\nrule: " + strings.TrimSpace(info.Name+" "+info.Section))
	if h := d.HelpText(); h != "" {
		b.WriteString("\nhelp: " + h)
	}
	return b.String()
}
