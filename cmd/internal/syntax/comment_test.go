package syntax

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rpcrdma/rpcrdma/cmd/internal/diag"
	"github.com/rpcrdma/rpcrdma/cmd/internal/source"
)

// TestCommentText checks that the text of a comment in the tree is UTF-8 without control
// characters.
func TestCommentText(t *testing.T) {
	text := "/* \xa9 Andr\xe9, \u00e9t\u00e9 \ufeff\x1b[31m\r\n *  two\tthree \xff */\nstruct s { int a; /* \x80 */ };\n"
	file := NewParser().Parse(source.NewFile("f.x", []byte(text)), &Context{
		Macros: map[string]string{}, Include: func(string, source.Span) {}, Report: func(d diag.Diagnostic) { t.Error(d.Message) },
	})
	want := []string{"\u00a9 Andr\u00e9, \u00e9t\u00e9 \ufffd[31m", " two\tthree \u00ff"}
	if d := cmp.Diff(want, file.Defs[0].Doc); d != "" {
		t.Error(d)
	}
	if tail := file.Defs[0].Fields[0].Tail; strings.TrimSpace(tail) != "\ufffd" {
		t.Errorf("tail %q", tail)
	}
}
