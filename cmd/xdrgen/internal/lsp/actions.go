package lsp

import (
	"slices"
	"strings"

	"github.com/rpcrdma/rpcrdma/cmd/internal/diag"
	"github.com/rpcrdma/rpcrdma/cmd/internal/source"
)

// The kinds of code actions.
const (
	kindFix    = "quickfix"
	kindFixAll = "source.fixAll"
)

// actions answers textDocument/codeAction: the fixes of the findings in a range, and all fixes of
// the document that xdrgen check -fix would apply. A document is not changed, nor a file that was
// extracted from one.
func (s *state) actions(q query) (any, error) {
	out := []codeAction{}
	f, e := q.view.file, s.client.encoding
	if !s.client.literals || !q.analysis.changeable(f) {
		return out, nil
	}
	start, end := q.view.offset(q.params.Range.Start, e), q.view.offset(q.params.Range.End, e)
	only := func(kind string) bool {
		return len(q.params.Context.Only) == 0 || slices.ContainsFunc(q.params.Context.Only, func(o string) bool {
			return kind == o || strings.HasPrefix(kind, o+".")
		})
	}
	for _, d := range q.analysis.result.Diags {
		if !only(kindFix) || len(d.Fix) == 0 || d.Span.File != f || d.Span.Start > end || d.Span.End < start {
			continue
		}
		if edit, ok := s.edits(q.analysis, d.Fix); ok {
			title, _, _ := strings.Cut(d.HelpText(), "\n")
			out = append(out, codeAction{Title: title, Kind: kindFix, Diagnostics: []diagnostic{s.diagnostic(q.analysis, d)}, IsPreferred: true, Edit: edit})
		}
	}
	if all := diag.Fixable(q.analysis.result.Diags, f); len(all) > 0 && only(kindFixAll) {
		var fixes []diag.Edit
		for _, d := range all {
			fixes = append(fixes, d.Fix...)
		}
		if edit, ok := s.edits(q.analysis, fixes); ok {
			out = append(out, codeAction{Title: "Apply all fixes of xdrgen check", Kind: kindFixAll, Edit: edit})
		}
	}
	return out, nil
}

// changeable reports whether fixes may change a file.
func (a *analysis) changeable(f *source.File) bool {
	return !f.Synthetic && f.Document == nil && f.Origin == nil
}

// edits returns edits of files as the client applies them. It reports false if one of the files may
// not be changed.
func (s *state) edits(a *analysis, fixes []diag.Edit) (workspaceEdit, bool) {
	byPath := map[string][]textEdit{}
	var paths []string
	for _, fix := range fixes {
		if !a.changeable(fix.Span.File) {
			return workspaceEdit{}, false
		}
		v := a.view(fix.Span.File)
		if byPath[v.path()] == nil {
			paths = append(paths, v.path())
		}
		byPath[v.path()] = append(byPath[v.path()], textEdit{v.span(fix.Span.Start, fix.Span.End, s.client.encoding), fix.Text})
	}
	return s.workspaceEdit(paths, byPath), true
}

// workspaceEdit returns edits of files, with the versions of the open ones if the client takes
// them.
func (s *state) workspaceEdit(paths []string, byPath map[string][]textEdit) workspaceEdit {
	var out workspaceEdit
	for _, path := range paths {
		if !s.client.documentChanges {
			if out.Changes == nil {
				out.Changes = map[documentURI][]textEdit{}
			}
			out.Changes[s.uri(path)] = byPath[path]
			continue
		}
		e := documentEdit{Edits: byPath[path]}
		e.TextDocument.URI = s.uri(path)
		if d := s.texts[path]; d != nil {
			e.TextDocument.Version = &d.version
		}
		out.DocumentChanges = append(out.DocumentChanges, e)
	}
	return out
}
