package format

import (
	"strings"

	"github.com/rpcrdma/rpcrdma/cmd/internal/syntax"
)

// indentation is the number of spaces per level.
const indentation = 4

// elem is a piece with its position in the input.
type elem struct {
	kind     syntax.PieceKind
	text     string
	newlines int // between the piece before and this one
	column   int // from 1, a tab counts as one; syntax uses it to assign comments to declarations
	width    int // columns before it on its line, tabs expanded
}

// is reports whether e is the given punctuation mark.
func (e elem) is(text string) bool { return e.text == text && e.kind == syntax.Mark }

// scope is a pair of braces.
type scope struct {
	kind   string // enum, struct, union, program, version, or "" for anything else
	indent int    // of the line with the opening brace
}

// columns is the kind of a line's columns. Only neighbouring lines of one kind are aligned.
type columns int

const (
	none columns = iota
	field
	member
	proc
	constant
)

// line is an output line.
type line struct {
	indent  int
	blank   bool // there is an empty line before it
	cells   []elem
	text    []string // one for each column
	columns columns
	tails   []elem // comments at the end of the line
	comment bool   // the line is a comment
	follows bool   // the line continues the comment above, in its column
	raw     string // text to copy verbatim, with its newline; empty for other lines
	opens   bool   // the line ends with { or :
}

// layout divides pieces into lines.
type layout struct {
	text   string
	elems  []elem
	code   []int // for each element, the index of the next one that is not a comment, or its own
	i      int
	stmt   []elem
	depth  int // of parentheses
	scopes []scope
	out    []line
	start  int // column of the last statement
}

// lines returns the lines of the pieces.
func (l *layout) lines(pieces []syntax.Piece) []line {
	end := 0
	var at place
	for _, p := range pieces {
		gap := l.text[end:p.Start]
		e := elem{kind: p.Kind, text: l.text[p.Start:p.End], newlines: strings.Count(gap, "\n")}
		if end > 0 && l.text[end-1] == '\n' { // the piece before consists of whole lines
			e.newlines++
		}
		at.advance(l.text[end:p.Start])
		e.column, e.width = at.bytes+1, at.columns
		if p.Kind == syntax.Inactive {
			e.text = l.text[end:p.End]
		}
		at.advance(l.text[p.Start:p.End])
		l.elems = append(l.elems, e)
		end = p.End
	}
	l.code = make([]int, len(l.elems)+1)
	l.code[len(l.elems)] = len(l.elems)
	for i := len(l.elems) - 1; i >= 0; i-- {
		l.code[i] = i
		if l.elems[i].kind == syntax.Comment {
			l.code[i] = l.code[i+1]
		}
	}
	for l.i = 0; l.i < len(l.elems); l.i++ {
		l.add(l.elems[l.i])
	}
	l.flush()
	return l.out
}

// place is a position on a line.
type place struct {
	bytes   int // before the position
	columns int // of these bytes, tabs expanded
}

// advance moves the position past s.
func (p *place) advance(s string) {
	if n := strings.LastIndexByte(s, '\n') + 1; n > 0 {
		*p, s = place{}, s[n:]
	}
	p.bytes += len(s)
	for _, r := range s {
		p.columns++
		if r == '\t' {
			p.columns = (p.columns + 7) &^ 7
		}
	}
}

// width returns the number of columns of a line, tabs expanded.
func width(line string) int {
	var p place
	p.advance(line)
	return p.columns
}

// add adds an element to the current statement, and ends the statement where its line ends.
func (l *layout) add(e elem) {
	switch e.kind {
	case syntax.Comment:
		if len(l.stmt) > 0 {
			l.stmt = append(l.stmt, e)
		} else {
			l.comment(e)
		}
		return
	case syntax.CLine, syntax.Directive, syntax.Inactive:
		l.flush()
		l.raw(e)
		return
	}
	if e.is("}") {
		l.flush()
	}
	l.stmt = append(l.stmt, e)
	switch {
	case e.is("("):
		l.depth++
	case e.is(")"):
		l.depth--
	case e.is("{"):
		l.open()
	case e.is("}"):
		l.depth = 0
		if n := len(l.scopes); n > 0 {
			inner := l.scopes[n-1]
			l.scopes = l.scopes[:n-1]
			if inner.kind == "" && !(l.i+1 < len(l.elems) && l.elems[l.i+1].is(";")) {
				l.flush() // not a declaration, so that no ; need follow
			}
		}
	case e.is(";"), e.is(",") && l.depth == 0 && l.scope().kind == "enum":
		l.flush()
	case e.is(":") && l.scope().kind == "union" && isLabel(l.stmt[0]):
		l.flush()
		l.out[len(l.out)-1].opens = true
	}
}

// isLabel reports whether e begins a label of a union.
func isLabel(e elem) bool { return e.text == "case" || e.text == "default" }

// scope returns the innermost scope.
func (l *layout) scope() scope {
	if n := len(l.scopes); n > 0 {
		return l.scopes[n-1]
	}
	return scope{kind: "top", indent: -indentation}
}

// open ends a line after { and enters the scope.
func (l *layout) open() {
	kind := ""
	for _, e := range l.stmt {
		switch e.text {
		case "enum", "struct", "union":
			kind = e.text
		case "program", "version":
			if kind == "" {
				kind = e.text
			}
		}
	}
	indent := l.indent(l.stmt[0])
	l.flush()
	l.out[len(l.out)-1].opens = true
	l.scopes = append(l.scopes, scope{kind, indent})
	l.depth = 0
}

// indent returns the indentation of a line that begins with e.
func (l *layout) indent(e elem) int {
	s := l.scope()
	if s.kind == "union" && isLabel(e) {
		return s.indent
	}
	return s.indent + indentation
}

// flush ends the statement and adds its line. comment places the comments at its end.
func (l *layout) flush() {
	if len(l.stmt) == 0 {
		return
	}
	n := len(l.stmt)
	for n > 0 && l.stmt[n-1].kind == syntax.Comment {
		n--
	}
	stmt, rest := l.stmt[:n:n], l.stmt[n:]
	l.stmt = nil
	first := stmt[0]
	out := line{indent: l.indent(first), blank: l.blank(first), cells: stmt}
	if first.is("}") {
		out.blank = false
	}
	out.columns, out.text = l.cut(stmt)
	l.out = append(l.out, out)
	l.start = first.column
	for _, c := range rest {
		l.comment(c)
	}
}

// blank reports whether there is an empty line before e.
func (l *layout) blank(e elem) bool {
	n := len(l.out)
	return e.newlines > 1 && n > 0 && !l.out[n-1].opens
}

// comment places a comment between statements: at the end of the line above, or on a line of
// its own.
func (l *layout) comment(e elem) {
	n := len(l.out)
	if n > 0 && e.newlines == 0 && l.out[n-1].raw == "" {
		l.out[n-1].tails = append(l.out[n-1].tails, e)
		return
	}
	out := line{indent: l.commentIndent(), blank: l.blank(e), cells: []elem{e}, comment: true}
	if n > 0 && e.newlines == 1 {
		above := l.out[n-1]
		switch last := len(above.tails) - 1; {
		case above.comment && above.follows && above.cells[0].column == e.column,
			!above.comment && last >= 0 && above.tails[last].column == e.column:
			out.follows = true
		case above.comment && above.indent > out.indent && above.cells[0].column == e.column:
			out.indent = above.indent
		case !above.comment && last < 0 && above.raw == "" && e.column > l.start && l.ended(above):
			out.indent = above.indent + indentation // it belongs to the line above
		}
	}
	l.out = append(l.out, out)
}

// ended reports whether a line ends a declaration.
func (l *layout) ended(a line) bool {
	last := a.cells[len(a.cells)-1]
	return last.is(";") || last.is(",")
}

// commentIndent returns the indentation of a comment on its own line: that of the next code.
func (l *layout) commentIndent() int {
	if k := l.code[min(l.i, len(l.elems))]; k < len(l.elems) {
		return l.indent(l.elems[k])
	}
	return l.scope().indent + indentation
}

// raw adds a line that is not formatted.
func (l *layout) raw(e elem) {
	text := strings.TrimRight(e.text, "\n") // present after a backslash at the end of the file
	if e.kind == syntax.Inactive {
		text = e.text
		last := len(l.out) - 1
		l.out[last].raw = strings.TrimSuffix(l.out[last].raw, "\n") + text
		return
	}
	l.out = append(l.out, line{raw: text + "\n", blank: l.blank(e)})
}
