package diag

import (
	"slices"
	"strings"

	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/source"
)

// maxColumns limits how much of a source line is shown.
const maxColumns = 120

// mark is a stretch of one line that is pointed at.
type mark struct {
	line     int
	from, to int // characters of the line, counted from 0; to is not included
	sign     string
	tint     string
	label    string
}

// excerpts shows the places of a finding: those of one file together, the
// finding's own file first.
func (t *textWriter) excerpts(d Diagnostic, tint string) {
	places := append([]Related{{Span: d.Span}}, d.Related...)
	shown := map[*source.File]bool{nil: true}
	for i, p := range places {
		f := p.Span.File
		if shown[f] {
			continue
		}
		shown[f] = true
		if i > 0 {
			t.printf("%s %s %s\n", t.pad(), t.paint(blue, ":::"), strings.TrimSuffix(where(p.Span), ":"))
		}
		if o, ok := p.Span.Origin(); ok {
			t.printf("%s %s %s\n", t.pad(), t.paint(blue, "-->"), o)
		}
		var marks []mark
		for k, q := range places {
			if q.Span.File != f {
				continue
			}
			sign, color := "-", blue
			if k == 0 {
				sign, color = "^", tint
			}
			label := clean(q.Label)
			if o, ok := q.Span.Origin(); ok && k != i {
				label = strings.TrimSpace(label + " (" + o.String() + ")")
			}
			marks = append(marks, marksOf(q.Span, sign, color, label)...)
		}
		t.below("")
		t.lines(f, marks)
	}
}

// marksOf returns the marks of a span: one for a span within a line, else one
// to the end of its first line and one from the start of its last.
func marksOf(s source.Span, sign, tint, label string) []mark {
	from, to := s.Position(), s.EndPosition()
	for to.Line > from.Line && to.Column == 1 { // the span ends with an earlier line
		to.Line--
		to.Column = runes(s.File.Line(to.Line)) + 1
	}
	if to.Line == from.Line {
		return []mark{{from.Line, from.Column - 1, max(to.Column-1, from.Column), sign, tint, label}}
	}
	last := s.File.Line(to.Line)
	indent := runes(last) - runes(strings.TrimLeft(last, " \t"))
	return []mark{
		{from.Line, from.Column - 1, max(runes(s.File.Line(from.Line)), from.Column), sign, tint, ""},
		{to.Line, min(indent, to.Column-2), to.Column - 1, sign, tint, label},
	}
}

func runes(s string) int { return len([]rune(s)) }

// lines shows the lines of a file that have marks, in order. A single line
// between two is shown as well, of more only that they are there.
func (t *textWriter) lines(f *source.File, marks []mark) {
	slices.SortStableFunc(marks, func(a, b mark) int { return a.line - b.line })
	last := 0
	for len(marks) > 0 {
		line, n := marks[0].line, 1
		for n < len(marks) && marks[n].line == line {
			n++
		}
		switch {
		case last > 0 && line == last+2:
			v := view(f.Line(line-1), 0)
			t.numbered(line-1, t.paint(blue, "|"), v.text)
		case last > 0 && line > last+2:
			t.printf("%s\n", t.paint(blue, "..."))
		}
		t.line(f.Line(line), line, marks[:n])
		last, marks = line, marks[n:]
	}
}

// line shows one line with its marks; several times where they are too far
// from each other to be seen together.
func (t *textWriter) line(text string, number int, marks []mark) {
	first := marks[0]
	for _, m := range marks {
		if m.sign == "^" {
			first = m
		}
	}
	v := view(text, first.from)
	var left, seen, right []mark
	for _, m := range marks {
		switch {
		case m == first || v.has(m):
			seen = append(seen, m)
		case m.from < first.from:
			left = append(left, m)
		default:
			right = append(right, m)
		}
	}
	if len(left) > 0 {
		t.line(text, number, left)
	}
	t.numbered(number, t.paint(blue, "|"), v.text)
	t.signs(v, seen)
	if len(right) > 0 {
		t.line(text, number, right)
	}
}

// signs draws the marks under a line: the label of the last beside it, those
// of the others below, from right to left.
func (t *textWriter) signs(v shown, marks []mark) {
	slices.SortStableFunc(marks, func(a, b mark) int { return a.from - b.from })
	var r row
	for _, fault := range []bool{false, true} { // drawn last, for it is to be seen in any case
		for _, m := range marks {
			if (m.sign == "^") == fault {
				from, to := v.columns(m)
				r.put(from, strings.Repeat(m.sign, to-from), m.tint)
			}
		}
	}
	beside := len(marks)
	if last := marks[beside-1]; last.label != "" {
		beside--
		r.put(len(r)+1, last.label, last.tint)
	}
	t.below(t.row(r))
	for i := beside - 1; i >= 0; i-- {
		if marks[i].label == "" {
			continue
		}
		r = r[:0]
		for _, m := range marks[:i] {
			if from, _ := v.columns(m); m.label != "" {
				r.put(from, "|", m.tint)
			}
		}
		from, _ := v.columns(marks[i])
		r = r[:min(from, len(r))]
		r.put(from, marks[i].label, marks[i].tint)
		t.below(t.row(r))
	}
}

// row is a line under another, character by character.
type row []cell

type cell struct {
	char rune
	tint string
}

// put writes s from column col on.
func (r *row) put(col int, s, tint string) {
	for _, c := range s {
		for len(*r) <= col {
			*r = append(*r, cell{char: ' '})
		}
		(*r)[col] = cell{c, tint}
		col++
	}
}

// row paints the stretches of a row.
func (t *textWriter) row(r row) string {
	var out strings.Builder
	for len(r) > 0 {
		n := 1
		for n < len(r) && r[n].tint == r[0].tint {
			n++
		}
		var part []rune
		for _, c := range r[:n] {
			part = append(part, c.char)
		}
		if r[0].tint == "" {
			out.WriteString(string(part))
		} else {
			out.WriteString(t.paint(r[0].tint, string(part)))
		}
		r = r[n:]
	}
	return out.String()
}

// shown is the part of a line that is shown.
type shown struct {
	text string
	at   []int // the column, from 0, of each character and of the end; those cut off have the nearest
	from int   // characters from from to to are shown
	to   int
}

func (v shown) has(m mark) bool { return m.from >= v.from && m.from <= v.to }

// columns returns the columns of a mark, at least one.
func (v shown) columns(m mark) (from, to int) {
	end := len(v.at) - 1
	from = v.at[min(m.from, end)] + max(m.from-end, 0)
	return from, max(v.at[min(m.to, end)]+min(max(m.to-end, 0), 1), from+1)
}

const cut = "..."

// view lays a line out, tabs as blanks, and cuts it around character focus
// where it is too long.
func view(line string, focus int) shown {
	r := []rune(line)
	v := shown{at: make([]int, len(r)+1), to: len(r)}
	col := 0
	for i, c := range r {
		v.at[i] = col
		col += columns(c, col)
	}
	v.at[len(r)] = col
	if col > maxColumns {
		v.cut(min(focus, len(r)), col)
	}
	var b strings.Builder
	if v.from > 0 {
		b.WriteString(cut)
	}
	for i := v.from; i < v.to; i++ {
		if r[i] == '\t' {
			b.WriteString(strings.Repeat(" ", v.at[i+1]-v.at[i]))
		} else {
			b.WriteRune(printable(r[i]))
		}
	}
	if v.to < len(r) {
		b.WriteString(cut)
	}
	v.text = b.String()
	return v
}

// cut leaves maxColumns of a line of width columns, focus a third behind their
// start, and moves the columns to those that are left.
func (v *shown) cut(focus, width int) {
	start := min(max(v.at[focus]-maxColumns/3, 0), width-maxColumns)
	for v.at[v.from] < start {
		v.from++
	}
	for v.at[v.to] > start+maxColumns {
		v.to--
	}
	lead := 0
	if v.from > 0 {
		lead = len(cut)
	}
	left, right := v.at[v.from], v.at[v.to]
	for i, col := range v.at {
		v.at[i] = min(max(col, left), right) - left + lead
	}
}
