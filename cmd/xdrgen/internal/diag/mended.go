package diag

import (
	"bytes"
	"strings"

	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/source"
)

// Apply returns the text of a file with edits, which must be in order and not
// meet, and those of other files left out.
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

// maxMended limits how many lines of a fix are shown.
const maxMended = 4

// mended shows what the fix makes of the lines that it touches, and marks what
// it puts there.
func (t *textWriter) mended(d Diagnostic) {
	if len(d.Fix) == 0 || !d.Fix[0].Span.Valid() {
		return
	}
	first := d.Fix[0].Span.Position().Line
	part, edits := touched(d.Fix)
	text := Apply(part, edits)
	marks := map[int][]mark{}
	last, moved := first, 0 // moved is how far the edits so far push what follows
	for _, e := range edits {
		start := e.Span.Start + moved
		moved += len(e.Text) - (e.Span.End - e.Span.Start)
		end := start + len(e.Text)
		last = max(last, first+bytes.Count(text[:end], []byte("\n")))
		if strings.Contains(e.Text, "\n") || e.Text == "" {
			continue
		}
		begin := bytes.LastIndexByte(text[:start], '\n') + 1
		sign := "~"
		if e.Span.Start == e.Span.End {
			sign = "+"
		}
		n := first + bytes.Count(text[:start], []byte("\n"))
		from := runes(string(text[begin:start]))
		marks[n] = append(marks[n], mark{line: n, from: from, to: from + runes(e.Text), sign: sign, tint: green})
	}
	mended := source.NewFile("", text)
	for n := first; n <= min(last, first+maxMended-1); n++ {
		focus := 0
		if len(marks[n]) > 0 {
			focus = marks[n][0].from
		}
		v := view(mended.Line(n-first+1), focus)
		t.numbered(n, t.paint(green, "~"), v.text)
		if len(marks[n]) > 0 {
			t.signs(v, marks[n])
		}
	}
}

// touched returns the lines of the file that edits touch, and the edits of these lines:
// to go through the whole file for each finding would take the square of its size.
func touched(fix []Edit) (part *source.File, edits []Edit) {
	f := fix[0].Span.File
	end := 0
	for _, e := range fix {
		if e.Span.File == f {
			end = max(end, e.Span.End)
		}
	}
	if n := bytes.IndexByte(f.Text[end:], '\n'); n >= 0 {
		end += n
	} else {
		end = len(f.Text)
	}
	begin := bytes.LastIndexByte(f.Text[:fix[0].Span.Start], '\n') + 1
	part = source.NewFile("", f.Text[begin:end])
	for _, e := range fix {
		if e.Span.File == f {
			e.Span = source.Span{File: part, Start: e.Span.Start - begin, End: e.Span.End - begin}
			edits = append(edits, e)
		}
	}
	return part, edits
}
