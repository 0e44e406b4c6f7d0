package lsp

import (
	"fmt"

	"github.com/rpcrdma/rpcrdma/cmd/internal/source"
)

// location returns a place as the client needs it. It reports false for a place in no file.
func (s *state) location(a *analysis, at source.Span) (location, bool) {
	if at.File == nil || at.File.Synthetic {
		return location{}, false
	}
	v := a.view(at.File)
	return location{URI: s.uri(v.path()), Range: v.span(at.Start, at.End, s.client.encoding)}, true
}

// where returns a place as words: "common.x:12".
func where(at source.Span) string {
	if at.File == nil {
		return "no file"
	}
	return fmt.Sprintf("%s:%d", at.File.Base(), at.Position().Line)
}
