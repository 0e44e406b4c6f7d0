package diag

import (
	"bytes"
	"slices"
	"sort"
	"strings"
	"unicode/utf8"

	"github.com/rpcrdma/rpcrdma/cmd/internal/source"
)

// maxColumns limits how much of a source line is shown.
const maxColumns = 120

// mark is a segment of a line that the line below it marks.
type mark struct {
	line     int
	from, to int // bytes of the line, counted from 0, without to
	sign     string
	tint     string
	label    string
}

// excerpts writes the places of a finding. Places in one file are written together, beginning with
// the finding's own file.
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

// marksOf returns the marks of a span: one for a span within a line. A longer span has one
// mark to the end of its first line and one from the start of its last line.
func marksOf(s source.Span, sign, tint, label string) []mark {
	f := s.File
	n, last := s.Position().Line, s.EndPosition().Line
	first, end := f.LineSpan(n), f.LineSpan(last)
	from, to := s.Start-first.Start, s.End-end.Start
	for last > n && to == 0 { // the span ends with an earlier line
		last--
		end = f.LineSpan(last)
		to = end.End - end.Start
	}
	if last == n {
		return []mark{{n, from, max(to, from+1), sign, tint, label}}
	}
	return []mark{
		{n, from, max(first.End-first.Start, from+1), sign, tint, ""},
		{last, min(indent(f.Text[end.Start:end.End]), to-1), to, sign, tint, label},
	}
}

// indent returns how many bytes of blanks a line begins with.
func indent(line []byte) int { return len(line) - len(bytes.TrimLeft(line, " \t")) }

// lines writes the lines of a file that have marks, in order. A single line between two of them
// is written as well. Several lines are written as "...".
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
			v := view(clipAt(f, line-1, 0), 0)
			t.numbered(line-1, t.paint(blue, "|"), v.text)
		case last > 0 && line > last+2:
			t.printf("%s\n", t.paint(blue, "..."))
		}
		t.line(f, line, marks[:n])
		last, marks = line, marks[n:]
	}
}

// line writes a line with its marks. If the marks are too far apart for one excerpt, it writes
// the line several times.
func (t *textWriter) line(f *source.File, number int, marks []mark) {
	first := marks[0]
	for _, m := range marks {
		if m.sign == "^" {
			first = m
		}
	}
	v := view(clipAt(f, number, first.from), first.from)
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
		t.line(f, number, left)
	}
	t.numbered(number, t.paint(blue, "|"), v.text)
	t.signs(v, seen)
	if len(right) > 0 {
		t.line(f, number, right)
	}
}

// signs writes the marks under a line. The label of the last mark is next to it. The labels of the
// others are below, from right to left.
func (t *textWriter) signs(v shown, marks []mark) {
	slices.SortStableFunc(marks, func(a, b mark) int { return a.from - b.from })
	var r row
	for _, fault := range []bool{false, true} { // the fault is drawn last, over the other marks
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

// row is a line of an excerpt under a source line, by characters.
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

// row returns the text of a row with its colours.
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

// clip is a line, or the part of a long line that an excerpt can show.
type clip struct {
	text          []byte
	start         int  // bytes of the line before the text
	before, after bool // whether the line has more before the text, and after it
}

// reach is the number of bytes before and after its focus that a clip has. The rest of a
// long line is not read: one line can have thousands of findings.
const reach = 8 * maxColumns

// clipAt returns the part of line n around byte focus of the line.
func clipAt(f *source.File, n, focus int) clip {
	line := f.Shown(n)
	from, to := boundary(line, focus-reach), boundary(line, focus+reach)
	return clip{line[from:to], from, from > 0, to < len(line)}
}

// boundary returns the start of the character that has byte i. If i is outside text, it returns the
// nearer end of text.
func boundary(text []byte, i int) int {
	if i <= 0 || i >= len(text) {
		return min(max(i, 0), len(text))
	}
	for k := i; k > max(i-utf8.UTFMax, 0); k-- {
		if utf8.RuneStart(text[k]) {
			return k
		}
	}
	return i // not UTF-8
}

// shown is the visible part of a line.
type shown struct {
	text   string
	offset []int // for each character of the clip, its first byte in the line; then the clip's end
	at     []int // their columns, from 0; a hidden one has the column of the nearest visible one
	from   int   // the visible characters, from from up to but not including to
	to     int
	after  bool // whether the line has more after the clip
}

func (v shown) has(m mark) bool {
	return m.from >= v.offset[v.from] && m.from <= v.offset[v.to]
}

// columns returns the columns of a mark, which has at least one.
func (v shown) columns(m mark) (from, to int) {
	from = v.column(m.from)
	return from, max(v.column(m.to), from+1)
}

// column returns the column of a byte in the line. The characters that end the line are not in the
// clip. They have one column each.
func (v shown) column(b int) int {
	end := len(v.at) - 1
	if b > v.offset[end] && !v.after {
		return v.at[end] + b - v.offset[end]
	}
	return v.at[min(sort.SearchInts(v.offset, b), end)]
}

const cut = "..."

// view returns the visible part of a clip, with tabs expanded. If the clip is too long, view cuts
// it around byte focus of the line.
func view(c clip, focus int) shown {
	r := []rune(string(c.text))
	v := shown{offset: make([]int, 0, len(r)+1), at: make([]int, 0, len(r)+1), to: len(r), after: c.after}
	col := 0
	for i := range string(c.text) {
		v.offset = append(v.offset, c.start+i)
		v.at = append(v.at, col)
		col += columns(r[len(v.at)-1], col)
	}
	v.offset, v.at = append(v.offset, c.start+len(c.text)), append(v.at, col)
	if col > maxColumns {
		v.cut(v.column(focus), col)
	}
	var b strings.Builder
	before := c.before || v.from > 0
	if before {
		b.WriteString(cut)
	}
	for i := v.from; i < v.to; i++ {
		if r[i] == '\t' {
			b.WriteString(strings.Repeat(" ", v.at[i+1]-v.at[i]))
		} else {
			b.WriteRune(printable(r[i]))
		}
	}
	if c.after || v.to < len(r) {
		b.WriteString(cut)
	}
	v.text = b.String()
	v.shift(before)
	return v
}

// cut selects maxColumns columns from a clip that has width columns. A third of the selected ones
// precede column focus, if the clip has as many.
func (v *shown) cut(focus, width int) {
	start := min(max(focus-maxColumns/3, 0), width-maxColumns)
	for v.at[v.from] < start {
		v.from++
	}
	for v.at[v.to] > start+maxColumns {
		v.to--
	}
}

// shift renumbers the columns for the visible part, after the sign of a cut if there is one.
func (v *shown) shift(before bool) {
	lead := 0
	if before {
		lead = len(cut)
	}
	left, right := v.at[v.from], v.at[v.to]
	for i, col := range v.at {
		v.at[i] = min(max(col, left), right) - left + lead
	}
}
