package format

import (
	"strings"

	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/syntax"
)

// indentation is the columns of one level.
const indentation = 4

// elem is a piece with where it stood.
type elem struct {
	kind     syntax.PieceKind
	text     string
	newlines int // between it and the piece before
	column   int // from 1, a tab being one: how syntax tells whose a comment is
	width    int // columns before it on its line, tabs expanded
}

func (e elem) is(text string) bool { return e.text == text && e.kind == syntax.Mark }

// scope is what a brace opened.
type scope struct {
	kind   string // enum, struct, union, program, version, or "" for anything else
	indent int    // of the line that opened it
}

// columns says by what columns a line is aligned with its neighbours.
type columns int

const (
	none columns = iota
	field
	member
	proc
	constant
)

// line is a line to be written, without the comments after it.
type line struct {
	indent  int
	blank   bool // an empty line goes before it
	cells   []elem
	text    []string // in columns
	columns columns
	tails   []elem // comments after it
	comment bool   // it is a comment
	follows bool   // a comment in the column of the comment above
	raw     string // verbatim, line end included
	opens   bool   // ends in { or :
}

// layout cuts pieces into lines.
type layout struct {
	text   string
	elems  []elem
	code   []int // for each element, the first from it on that is no comment
	i      int
	stmt   []elem
	depth  int // of parentheses
	scopes []scope
	out    []line
	start  int // column of the last statement
}

// lines returns the lines that the pieces make.
func (l *layout) lines(pieces []syntax.Piece) []line {
	end := 0
	var at place
	for _, p := range pieces {
		gap := l.text[end:p.Start]
		e := elem{kind: p.Kind, text: l.text[p.Start:p.End], newlines: strings.Count(gap, "\n")}
		if end > 0 && l.text[end-1] == '\n' { // a piece of whole lines came before
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

// place is where on its line a text ends.
type place struct {
	bytes   int // before it
	columns int // of these, tabs expanded
}

// advance moves the place behind s.
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

// width returns the columns that a line takes, tabs expanded.
func width(line string) int {
	var p place
	p.advance(line)
	return p.columns
}

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
				l.flush() // no declaration: nothing need follow
			}
		}
	case e.is(";"), e.is(",") && l.depth == 0 && l.scope().kind == "enum":
		l.flush()
	case e.is(":") && l.scope().kind == "union" && isLabel(l.stmt[0]):
		l.flush()
		l.out[len(l.out)-1].opens = true
	}
}

func isLabel(e elem) bool { return e.text == "case" || e.text == "default" }

func (l *layout) scope() scope {
	if n := len(l.scopes); n > 0 {
		return l.scopes[n-1]
	}
	return scope{kind: "top", indent: -indentation}
}

// open ends a line with { and enters the scope.
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

// flush ends the statement. Comments at its end that stood on lines of their
// own get lines of their own.
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

// blank reports whether an empty line goes before e.
func (l *layout) blank(e elem) bool {
	n := len(l.out)
	return e.newlines > 1 && n > 0 && !l.out[n-1].opens
}

// comment places a comment that stands between statements.
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
			out.indent = above.indent + indentation // it speaks of the line above
		}
	}
	l.out = append(l.out, out)
}

// ended reports whether a line ends a declaration.
func (l *layout) ended(a line) bool {
	last := a.cells[len(a.cells)-1]
	return last.is(";") || last.is(",")
}

// commentIndent is the indentation of a comment on its own line: that of what
// comes next.
func (l *layout) commentIndent() int {
	if k := l.code[min(l.i, len(l.elems))]; k < len(l.elems) {
		return l.indent(l.elems[k])
	}
	return l.scope().indent + indentation
}

// raw places a line that stays as it is.
func (l *layout) raw(e elem) {
	text := strings.TrimRight(e.text, "\n") // a backslash at the end of the file takes the line end in
	if e.kind == syntax.Inactive {
		text = e.text
		last := len(l.out) - 1
		l.out[last].raw = strings.TrimSuffix(l.out[last].raw, "\n") + text
		return
	}
	l.out = append(l.out, line{raw: text + "\n", blank: l.blank(e)})
}
