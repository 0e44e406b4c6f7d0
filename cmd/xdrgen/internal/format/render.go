package format

import (
	"strings"
	"unicode/utf8"

	"github.com/rpcrdma/rpcrdma/cmd/internal/syntax"
)

const (
	maxCell = 40 // width up to which a cell moves the next column of neighbouring lines
	maxLine = 64 // width up to which a line moves the comments of neighbouring lines
)

// render returns the text of lines.
func render(lines []line) string {
	var b strings.Builder
	texts := align(lines)
	columns := comments(lines, texts)
	tail := 0 // column of the last comment at the end of a line
	for i, l := range lines {
		if l.blank {
			b.WriteByte('\n')
		}
		if l.raw != "" {
			b.WriteString(l.raw)
			continue
		}
		w := writer{b: &b}
		if l.comment {
			at := l.indent
			if l.follows {
				at = tail
			}
			w.pad(at)
			w.block(l.cells[0])
		} else {
			w.pad(l.indent)
			w.statement(l, texts[i])
		}
		for k, t := range l.tails {
			if k == 0 && !l.comment {
				w.pad(columns[i] - 1)
			}
			w.write(" ")
			tail = w.column
			w.block(t)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// align returns the text of each line, with the columns of neighbouring lines padded to the same
// width. The text is "" for lines that are written element by element.
func align(lines []line) []string {
	out := make([]string, len(lines))
	for i := 0; i < len(lines); {
		n := i + 1
		for n < len(lines) && together(lines[i], lines[n]) {
			n++
		}
		group := lines[i:n]
		widths := make([]int, 3)
		for _, l := range group {
			for k := 0; k+1 < len(l.text); k++ {
				if w := utf8.RuneCountInString(l.text[k]); w <= maxCell {
					widths[k] = max(widths[k], w)
				}
			}
		}
		for j, l := range group {
			var b strings.Builder
			for k, c := range l.text {
				b.WriteString(c)
				if k+1 < len(l.text) {
					b.WriteString(strings.Repeat(" ", max(widths[k]-utf8.RuneCountInString(c), 0)+1))
				}
			}
			if l.text == nil && !l.comment && l.raw == "" && !broken(l.cells) {
				b.WriteString(join(l.cells))
			}
			out[i+j] = b.String()
		}
		i = n
	}
	return out
}

// together reports whether two lines are aligned with each other.
func together(first, l line) bool {
	if l.blank || l.raw != "" || first.raw != "" {
		return false
	}
	return l.comment || first.columns == l.columns && first.indent == l.indent && l.columns != none
}

// broken reports whether a statement does not fit on one line because of its comments.
func broken(stmt []elem) bool {
	for _, e := range stmt {
		if e.kind == syntax.Comment && (strings.HasPrefix(e.text, "//") || strings.Contains(e.text, "\n")) {
			return true
		}
	}
	return false
}

// comments returns, for each line, the column of the comment at its end. It is the same for
// neighbouring lines.
func comments(lines []line, texts []string) []int {
	out := make([]int, len(lines))
	for i := 0; i < len(lines); {
		n := i + 1
		for n < len(lines) && !lines[n].blank && lines[n].raw == "" && lines[i].raw == "" &&
			(lines[n].comment || lines[n].indent == lines[i].indent) {
			n++
		}
		widest := 0
		for j := i; j < n; j++ {
			if w := lines[j].indent + utf8.RuneCountInString(texts[j]); w <= maxLine && len(lines[j].tails) > 0 && !lines[j].comment {
				widest = max(widest, w)
			}
		}
		for j := i; j < n; j++ {
			if !lines[j].comment {
				out[j] = max(widest, lines[j].indent+utf8.RuneCountInString(texts[j])) + 1
			}
		}
		i = n
	}
	return out
}

// writer writes one line and counts its columns.
type writer struct {
	b      *strings.Builder
	column int
}

func (w *writer) write(s string) {
	w.b.WriteString(s)
	w.column += utf8.RuneCountInString(s)
}

// pad writes blanks up to a column.
func (w *writer) pad(column int) {
	w.write(strings.Repeat(" ", max(column-w.column, 0)))
}

// statement writes a statement, with a line break after each // comment.
func (w *writer) statement(l line, text string) {
	if text != "" {
		w.write(text)
		return
	}
	for i, e := range l.cells {
		if i > 0 && strings.HasPrefix(l.cells[i-1].text, "//") {
			w.b.WriteByte('\n')
			w.column = 0
			w.pad(l.indent + indentation)
		} else if i > 0 && spaced(l.cells[i-1], e) {
			w.write(" ")
		}
		w.block(e)
	}
}

// block writes an element. The further lines of a comment keep their position relative to the
// first.
func (w *writer) block(e elem) {
	lines := strings.Split(e.text, "\n")
	shift := w.column - e.width
	for i, s := range lines {
		if e.kind == syntax.Comment {
			s = strings.TrimRight(s, " \t\f\v\r")
		}
		if i > 0 {
			w.b.WriteByte('\n')
			w.column = 0
			rest := strings.TrimLeft(s, " \t")
			if rest != "" {
				w.pad(width(s[:len(s)-len(rest)]) + shift)
			}
			s = rest
		}
		w.write(s)
	}
}
