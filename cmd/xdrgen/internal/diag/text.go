package diag

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/source"
)

// TextOptions says how findings look.
type TextOptions struct {
	Color bool
}

const (
	bold   = "\x1b[1m"
	red    = "\x1b[1;31m"
	yellow = "\x1b[1;33m"
	blue   = "\x1b[1;34m"
	reset  = "\x1b[0m"

	maxLine = 160 // characters of a source line that are shown
)

// WriteText writes one finding for people:
//
//	file.x:12:9: error: XDR0101 undefined-type: ...
//	   --> document.txt:345
//	   |
//	12 |     foo bar;
//	   |     ^^^
//	   = note: ...
//	   = help: ...
func WriteText(w io.Writer, d Diagnostic, o TextOptions) error {
	t := textWriter{o: o}
	info := d.Info()
	tint := red
	if d.Severity == Warning {
		tint = yellow
	}
	head := d.Severity.String() + ":"
	t.printf("%s %s %s %s: %s\n", t.paint(bold, where(d.Span)), t.paint(tint, head), info.Code, info.Name, clean(d.Message))
	t.gutter = gutter(d)
	t.excerpt(d.Span, tint, "")
	for _, r := range d.Related {
		t.printf("%s%s %s\n", strings.Repeat(" ", t.gutter+1), t.paint(blue, "::"), where(r.Span)+" "+clean(r.Label))
		t.excerpt(r.Span, blue, "")
	}
	for _, n := range d.Notes {
		t.printf("%s= note: %s\n", strings.Repeat(" ", t.gutter+1), clean(n))
	}
	if info.Section != "" {
		t.printf("%s= rule: %s\n", strings.Repeat(" ", t.gutter+1), info.Section)
	}
	if h := d.HelpText(); h != "" {
		t.printf("%s= help: %s\n", strings.Repeat(" ", t.gutter+1), clean(h))
	}
	_, err := io.WriteString(w, t.b.String())
	return err
}

type textWriter struct {
	o      TextOptions
	b      strings.Builder
	gutter int // width of line numbers
}

func (t *textWriter) printf(format string, args ...any) { fmt.Fprintf(&t.b, format, args...) }

func (t *textWriter) paint(tint, s string) string {
	if !t.o.Color || s == "" {
		return s
	}
	return tint + s + reset
}

// excerpt shows the first line of a span with a mark under it.
func (t *textWriter) excerpt(s source.Span, tint, label string) {
	if !s.Valid() {
		return
	}
	pad := strings.Repeat(" ", t.gutter)
	if p, ok := s.Origin(); ok {
		t.printf("%s %s %s\n", pad, t.paint(blue, "-->"), p)
	}
	pos := s.Position()
	line := s.File.Line(pos.Line)
	width := 1
	if end := s.EndPosition(); end.Line == pos.Line {
		width = max(end.Column-pos.Column, 1)
	} else {
		width = max(utf8.RuneCountInString(line)-pos.Column+1, 1)
	}
	shown, from := window(line, pos.Column-1)
	lead, mark := []rune(shown), min(width, maxLine)
	blank := make([]rune, 0, pos.Column)
	for i := 0; i < pos.Column-1-from; i++ {
		if i < len(lead) && lead[i] == '\t' {
			blank = append(blank, '\t')
		} else {
			blank = append(blank, ' ')
		}
	}
	t.printf("%s %s\n", pad, t.paint(blue, "|"))
	t.printf("%s %s %s\n", t.paint(blue, fmt.Sprintf("%*d", t.gutter, pos.Line)), t.paint(blue, "|"), printable(shown))
	t.printf("%s %s %s%s\n", pad, t.paint(blue, "|"), string(blank), t.paint(tint, strings.Repeat("^", mark)+label))
}

// window returns the part of a line that is shown, and at which character it
// begins, so that a mark at character col stays in view.
func window(line string, col int) (string, int) {
	r := []rune(line)
	if len(r) <= maxLine {
		return line, 0
	}
	from := min(max(col-maxLine/2, 0), len(r)-maxLine)
	return string(r[from : from+maxLine]), from
}

func gutter(d Diagnostic) int {
	n := 1
	for _, s := range append([]Related{{Span: d.Span}}, d.Related...) {
		n = max(n, len(strconv.Itoa(s.Span.Position().Line)))
	}
	return n
}

func where(s source.Span) string {
	if !s.Valid() {
		return "xdrgen:"
	}
	p := s.Position()
	return fmt.Sprintf("%s:%d:%d:", s.File.Name, p.Line, p.Column)
}

// clean keeps what came from the input from steering a terminal.
func clean(s string) string { return strings.Map(mapRune(false), s) }

// printable is clean for a source line: tabs stay.
func printable(s string) string { return strings.Map(mapRune(true), s) }

func mapRune(tabs bool) func(rune) rune {
	return func(r rune) rune {
		switch {
		case r == '\t' && tabs:
			return r
		case r < ' ' || r == 0x7f || (r >= 0x80 && r < 0xa0) || (r >= 0x202a && r <= 0x202e) || (r >= 0x2066 && r <= 0x2069):
			return utf8.RuneError
		}
		return r
	}
}

// Quote returns a word of the input for a message: in quotes, escaped, cut at
// 64 bytes.
func Quote(s string) string {
	if len(s) > 64 {
		s = s[:61] + "..."
	}
	return strconv.Quote(s)
}
