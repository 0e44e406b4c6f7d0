package diag

import (
	"bytes"
	"sort"
	"strings"

	"github.com/rpcrdma/rpcrdma/cmd/internal/source"
)

// Apply returns the text of a file with edits applied. The edits must be in order and must not
// overlap. Edits of other files are ignored.
func Apply(f *source.File, edits []Edit) []byte {
	var out []byte
	at := 0
	for _, e := range edits {
		if e.Span.File == f {
			out = append(append(out, f.Text[at:e.Span.Start]...), e.Text...)
			at = e.Span.End
		}
	}
	return append(out, f.Text[at:]...)
}

// Fixable returns the findings in a file that have a fix, in order of position. Of findings
// whose edits overlap, it returns the first.
func Fixable(ds []Diagnostic, f *source.File) []Diagnostic {
	var out []Diagnostic
	for _, d := range ds {
		if len(d.Fix) > 0 && d.Fix[0].Span.File == f {
			out = append(out, d)
		}
	}
	sort.SliceStable(out, func(i, j int) bool { return out[i].Fix[0].Span.Start < out[j].Fix[0].Span.Start })
	kept, end := out[:0], -1
	for _, d := range out {
		if first := d.Fix[0].Span; first.Start > end {
			kept = append(kept, d)
			end = d.Fix[len(d.Fix)-1].Span.End
		}
	}
	return kept
}

// maxFixLines limits the number of lines that are written for a fix.
const maxFixLines = 4

// fixLines writes the lines that the fix changes, as they are after it, and marks the new text.
func (t *textWriter) fixLines(d Diagnostic) {
	if len(d.Fix) == 0 || !d.Fix[0].Span.Valid() {
		return
	}
	first := d.Fix[0].Span.Position().Line
	p := touched(d.Fix)
	text := Apply(p.file, p.edits)
	marks, focus := map[int][]mark{}, map[int]int{}
	last, moved := first, 0 // moved is by how many bytes the edits so far move the text after them
	for _, e := range p.edits {
		start := e.Span.Start + moved
		moved += len(e.Text) - (e.Span.End - e.Span.Start)
		end := start + len(e.Text)
		last = max(last, first+bytes.Count(text[:end], []byte("\n")))
		from := start - (bytes.LastIndexByte(text[:start], '\n') + 1)
		n := first + bytes.Count(text[:start], []byte("\n"))
		if _, ok := focus[n]; !ok {
			focus[n] = from
		}
		if strings.Contains(e.Text, "\n") || e.Text == "" {
			continue
		}
		sign := "~"
		if e.Span.Start == e.Span.End {
			sign = "+"
		}
		marks[n] = append(marks[n], mark{line: n, from: from, to: from + len(e.Text), sign: sign, tint: green})
	}
	fixed := source.NewFile("", text)
	lines := 1 + bytes.Count(text, []byte("\n"))
	for n := first; n <= min(last, first+maxFixLines-1); n++ {
		c := clipAt(fixed, n-first+1, focus[n])
		c.before = c.before || p.before && n == first
		c.after = c.after || p.after && n == first+lines-1
		v := view(c, focus[n])
		t.numbered(n, t.paint(green, "~"), v.text)
		if len(marks[n]) > 0 {
			t.signs(v, marks[n])
		}
	}
}

// part is the part of a file that a fix changes.
type part struct {
	file          *source.File // the part as a separate file
	edits         []Edit       // with places in that file
	before, after bool         // text precedes it on its first line, or follows it on its last
}

// touched returns the lines that edits change, of long lines only the part within reach of the
// edits. Reading the whole file for each finding would make the time quadratic.
func touched(fix []Edit) part {
	f := fix[0].Span.File
	first, last := fix[0].Span.Start, 0
	for _, e := range fix {
		if e.Span.File == f {
			last = max(last, e.Span.End)
		}
	}
	head, tail := f.Text[boundary(f.Text, first-reach):first], f.Text[last:boundary(f.Text, last+reach)]
	p := part{before: len(head) < first, after: last+len(tail) < len(f.Text)}
	if n := bytes.LastIndexByte(head, '\n'); n >= 0 {
		head, p.before = head[n+1:], false
	}
	if n := bytes.IndexByte(tail, '\n'); n >= 0 {
		tail, p.after = tail[:n], false
	}
	begin := first - len(head)
	p.file = source.NewFile("", f.Text[begin:last+len(tail)])
	for _, e := range fix {
		if e.Span.File == f {
			e.Span = source.Span{File: p.file, Start: e.Span.Start - begin, End: e.Span.End - begin}
			p.edits = append(p.edits, e)
		}
	}
	return p
}
