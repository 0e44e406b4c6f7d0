package format

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/rpcrdma/rpcrdma/cmd/internal/diag"
	"github.com/rpcrdma/rpcrdma/cmd/internal/source"
	"github.com/rpcrdma/rpcrdma/cmd/internal/syntax"
)

const byteOrderMark = "\ufeff"

// Source returns the formatted text of a file. macros are those of -D, and determine which
// branches of an #if are formatted. If the file has syntax errors, Source returns them and no
// text. An error means a bug in the formatter.
func Source(p *syntax.Parser, f *source.File, macros map[string]string) ([]byte, []diag.Diagnostic, error) {
	if d := check(p, f, macros); diag.HasErrors(d) {
		return nil, d, nil
	}
	text := string(f.Text)
	mark := strings.HasPrefix(text, byteOrderMark)
	text = strings.TrimPrefix(text, byteOrderMark)
	returns := strings.Contains(text, "\r\n")
	text = strings.TrimRight(strings.ReplaceAll(text, "\r\n", "\n"), "\r")

	plain := source.NewFile(f.Name, []byte(text))
	pieces := syntax.Pieces(plain, macros)
	l := layout{text: text}
	out := render(l.lines(pieces))

	after := source.NewFile(f.Name, []byte(out))
	if err := same(plain, after, pieces, syntax.Pieces(after, macros)); err != nil {
		return nil, nil, fmt.Errorf("%s is not formatted: that would change its text: %w. This is a bug in xdrgen; please report it with the file", f.Name, err)
	}
	if returns {
		out = strings.ReplaceAll(out, "\n", "\r\n")
	}
	if mark {
		out = byteOrderMark + out
	}
	return []byte(out), nil, nil
}

// check returns the syntax errors in a file.
func check(p *syntax.Parser, f *source.File, macros map[string]string) []diag.Diagnostic {
	if len(f.Text) > source.MaxSize || bytes.IndexByte(f.Text, 0) >= 0 {
		return []diag.Diagnostic{diag.New(diag.NotText, source.Span{File: f}, "%s is not a text file, or larger than %d bytes", f.Base(), source.MaxSize)}
	}
	var out []diag.Diagnostic
	c := &syntax.Context{
		Macros:  map[string]string{},
		Include: func(string, source.Span) {},
		Report: func(d diag.Diagnostic) {
			if d.Severity == diag.Error {
				out = append(out, d)
			}
		},
	}
	for k, v := range macros {
		c.Macros[k] = v
	}
	p.Parse(f, c)
	diag.Sort(out, []*source.File{f})
	return out
}

// same returns an error for the first piece that differs between two texts. It compares the
// words of comments, and the text of other pieces except newlines at the end.
func same(old, new *source.File, a, b []syntax.Piece) error {
	for i := range max(len(a), len(b)) {
		if i >= len(a) || i >= len(b) {
			return fmt.Errorf("%d pieces would become %d", len(a), len(b))
		}
		x, y := string(old.Text[a[i].Start:a[i].End]), string(new.Text[b[i].Start:b[i].End])
		switch a[i].Kind {
		case syntax.Comment:
			x, y = strings.Join(strings.Fields(x), " "), strings.Join(strings.Fields(y), " ")
		case syntax.CLine, syntax.Directive:
			x, y = strings.TrimRight(x, "\n"), strings.TrimRight(y, "\n")
		}
		if a[i].Kind != b[i].Kind || x != y {
			return fmt.Errorf("line %d: %s would become %s", old.Position(a[i].Start).Line, diag.Quote(x), diag.Quote(y))
		}
	}
	return nil
}
