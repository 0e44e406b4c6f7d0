// Package source declares source files and places in them: spans, line and column numbers, and
// maps from the lines of an extracted .x file to the lines of its document. All stages of the
// compiler use Span for places.
package source

import (
	"bytes"
	"sort"
	"strings"
	"unicode/utf8"
)

// MaxSize is the size of the largest text that the compiler accepts, in bytes.
const MaxSize = 16 << 20

// File is a source file. It does not change after NewFile.
type File struct {
	Name      string // name for messages, as the user gave it
	Text      []byte
	Document  []byte  // document whose XDR is in Text; nil if the file has no document
	Origin    *Origin // lines of the document that the file was extracted from; nil if it was not
	Synthetic bool    // text that the compiler made from a flag or its prelude; no such file exists

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

// NewFile returns a file. It keeps the text without copying it.
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

// Position is a place as line and column, both counted from 1. The column counts characters. A
// tab is one character.
type Position struct {
	Line, Column int
}

// Position returns the line and column of a byte offset. For an offset outside the text, it
// returns the position of the nearer end.
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

// Shown returns line n for a reader, without its end: the document's line where the document has
// text that is not XDR.
func (f *File) Shown(n int) []byte {
	at := f.LineSpan(n)
	line := f.Text[at.Start:at.End]
	if string(line) != "\v" || f.Document == nil {
		return line
	}
	left := f.Document
	for range n - 1 {
		_, left, _ = bytes.Cut(left, []byte("\n"))
	}
	line, _, _ = bytes.Cut(left, []byte("\n"))
	return bytes.TrimRight(line, " \t\r\f")
}

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

// Span is a segment of a file: the bytes from Start up to but not including End. The zero value
// is not a place.
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

// Text returns the text of the span.
func (s Span) Text() string {
	if s.File == nil {
		return ""
	}
	n := len(s.File.Text)
	start := min(max(s.Start, 0), n)
	return string(s.File.Text[start:min(max(s.End, start), n)])
}

// To returns the span from the start of s to the end of t. Both must be of the same file.
func (s Span) To(t Span) Span {
	if s.File == nil {
		return t
	}
	if t.File == s.File && t.End > s.End {
		s.End = t.End
	}
	return s
}

// Origin returns the document line that the span's first line was extracted from. It reports
// false if the file was not extracted.
func (s Span) Origin() (Place, bool) {
	if s.File == nil || s.File.Origin == nil {
		return Place{}, false
	}
	return s.File.Origin.At(s.Position().Line)
}
