// Package source holds texts and places in them: files, spans, line and column
// numbers, and the maps that lead from an extracted .x file back into the
// document it was taken from. Every other stage of the compiler speaks of
// places as a Span.
package source

import (
	"sort"
	"strings"
	"unicode/utf8"
)

// MaxSize is the largest text the compiler accepts, in bytes.
const MaxSize = 16 << 20

// File is one text. It is immutable once made.
type File struct {
	Name   string // as given by the user; for messages
	Text   []byte
	Origin *Origin // where the lines come from; nil for a file of its own
	Made   bool    // by the compiler, of a flag or its prelude: there is no such file

	lines []int  // offset of the first byte of each line
	stops []stop // places within long lines, in order
}

// stop is the start of a character for which the column is known.
type stop struct {
	offset int
	column int // from 1
}

// stopBytes is the distance between two stops of a line. Lines that are not longer have none.
const stopBytes = 1 << 10

// NewFile returns a file. The text is kept, not copied.
func NewFile(name string, text []byte) *File {
	f := &File{Name: name, Text: text, lines: []int{0}}
	for i, c := range text {
		if c == '\n' {
			f.stop(f.lines[len(f.lines)-1], i)
			f.lines = append(f.lines, i+1)
		}
	}
	f.stop(f.lines[len(f.lines)-1], len(text))
	return f
}

// stop records the stops of the line from start to end.
func (f *File) stop(start, end int) {
	for column := 1; end-start > stopBytes; {
		for next := start + stopBytes; start < next; column++ {
			_, size := utf8.DecodeRune(f.Text[start:end])
			start += size
		}
		f.stops = append(f.stops, stop{start, column})
	}
}

// Base returns the last element of the file's name.
func (f *File) Base() string {
	if i := strings.LastIndexAny(f.Name, `/\`); i >= 0 {
		return f.Name[i+1:]
	}
	return f.Name
}

// Position is a place as people count: line and column from 1, the column in
// characters, a tab being one.
type Position struct {
	Line, Column int
}

// Position returns the line and column of a byte offset. An offset outside the
// text is moved to its nearer end.
func (f *File) Position(offset int) Position {
	offset = min(max(offset, 0), len(f.Text))
	i := sort.SearchInts(f.lines, offset+1) - 1
	near := stop{f.lines[i], 1} // the nearest stop before the offset
	k := sort.Search(len(f.stops), func(k int) bool { return f.stops[k].offset > offset })
	if k > 0 && f.stops[k-1].offset > near.offset {
		near = f.stops[k-1]
	}
	return Position{i + 1, near.column + utf8.RuneCount(f.Text[near.offset:offset])}
}

// Line returns the text of line n, counted from 1, without its end. It returns "" if there
// is no such line.
func (f *File) Line(n int) string { return f.LineSpan(n).Text() }

// LineSpan returns the span of line n, counted from 1, without the line's end. It returns
// an empty span at the end of the file if there is no such line.
func (f *File) LineSpan(n int) Span {
	if n < 1 || n > len(f.lines) {
		return Span{f, len(f.Text), len(f.Text)}
	}
	start, end := f.lines[n-1], len(f.Text)
	if n < len(f.lines) {
		end = f.lines[n] - 1
	}
	if end > start && f.Text[end-1] == '\r' {
		end--
	}
	return Span{f, start, end}
}

// Span is a stretch of a file: bytes Start to End, End not included. The zero
// value is no place at all.
type Span struct {
	File       *File
	Start, End int
}

// Valid reports whether the span is a place.
func (s Span) Valid() bool { return s.File != nil }

// Position returns the line and column of the span's start.
func (s Span) Position() Position {
	if s.File == nil {
		return Position{}
	}
	return s.File.Position(s.Start)
}

// EndPosition returns the line and column just after the span.
func (s Span) EndPosition() Position {
	if s.File == nil {
		return Position{}
	}
	return s.File.Position(s.End)
}

// Text returns what the span covers.
func (s Span) Text() string {
	if s.File == nil {
		return ""
	}
	n := len(s.File.Text)
	start := min(max(s.Start, 0), n)
	return string(s.File.Text[start:min(max(s.End, start), n)])
}

// To returns the span from the start of s to the end of t, which must be of
// the same file.
func (s Span) To(t Span) Span {
	if s.File == nil {
		return t
	}
	if t.File == s.File && t.End > s.End {
		s.End = t.End
	}
	return s
}

// Origin returns where the span's first line was taken from, if its file is an
// extract.
func (s Span) Origin() (Place, bool) {
	if s.File == nil || s.File.Origin == nil {
		return Place{}, false
	}
	return s.File.Origin.At(s.Position().Line)
}
