package diag

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/rpcrdma/rpcrdma/cmd/internal/source"
)

// TextOptions are the options of WriteText.
type TextOptions struct {
	Color bool
}

const (
	bold   = "\x1b[1m"
	red    = "\x1b[1;31m"
	green  = "\x1b[1;32m"
	yellow = "\x1b[1;33m"
	blue   = "\x1b[1;34m"
	reset  = "\x1b[0m"
)

// WriteText writes a finding for people, with an excerpt for each file and the lines as the fix
// makes them:
//
//	file.x:12:9: error: XDR0103 duplicate-name: ...
//	  --> document.txt:345
//	   |
//	10 | struct foo {
//	   |        --- declared here first
//	...
//	12 | struct foo {
//	   |        ^^^
//	   = note: ...
//	   = help: ...
func WriteText(w io.Writer, d Diagnostic, o TextOptions) error {
	t := textWriter{o: o, gutter: gutter(d)}
	info := d.Info()
	tint := red
	if d.Severity == Warning {
		tint = yellow
	}
	head := d.Severity.String() + ":"
	t.printf("%s %s %s %s: %s\n", t.paint(bold, where(d.Span)), t.paint(tint, head), info.Code, info.Name, clean(d.Message))
	t.excerpts(d, tint)
	for _, n := range d.Notes {
		t.remark("note", n)
	}
	if info.Section != "" {
		t.remark("rule", info.Section)
	}
	help := d.HelpText()
	if help != "" && len(d.Fix) > 0 {
		if _, extracted := d.Span.Origin(); extracted {
			help += " (check -fix writes the erratum)"
		} else {
			help += " (check -fix does it)"
		}
	}
	if help != "" {
		t.remark("help", help)
	}
	t.fixLines(d)
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

// pad returns spaces for a line without a number.
func (t *textWriter) pad() string { return strings.Repeat(" ", t.gutter) }

func (t *textWriter) remark(kind, text string) {
	t.printf("%s %s %s %s\n", t.pad(), t.paint(blue, "="), t.paint(bold, kind+":"), clean(text))
}

// numbered writes a line after its number and a sign.
func (t *textWriter) numbered(n int, sign, text string) {
	line := fmt.Sprintf("%s %s %s", t.paint(blue, fmt.Sprintf("%*d", t.gutter, n)), sign, text)
	t.b.WriteString(strings.TrimRight(line, " ") + "\n")
}

// below writes a line without a number.
func (t *textWriter) below(text string) {
	line := fmt.Sprintf("%s %s %s", t.pad(), t.paint(blue, "|"), text)
	t.b.WriteString(strings.TrimRight(line, " ") + "\n")
}

func gutter(d Diagnostic) int {
	n := 1
	for _, s := range append([]Related{{Span: d.Span}}, d.Related...) {
		n = max(n, len(strconv.Itoa(s.Span.EndPosition().Line)))
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

// clean replaces the control characters of a text, which could control the terminal.
func clean(s string) string { return strings.Map(printable, s) }

func printable(r rune) rune {
	switch {
	case r < ' ' || r == 0x7f || (r >= 0x80 && r < 0xa0) || (r >= 0x202a && r <= 0x202e) || (r >= 0x2066 && r <= 0x2069):
		return utf8.RuneError
	}
	return r
}

// Quote returns a word of the input for a message: quoted, escaped and cut to 64 bytes.
func Quote(s string) string {
	if len(s) > 64 {
		s = s[:61] + "..."
	}
	return strconv.Quote(s)
}
