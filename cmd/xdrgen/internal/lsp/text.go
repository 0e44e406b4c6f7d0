package lsp

import (
	"sort"
	"unicode/utf8"
)

// encoding says what a column of a position counts.
type encoding int

const (
	utf16Units encoding = iota
	utf8Bytes
)

// text is a text with its lines. It does not change. A line ends with "\n", "\r\n" or "\r".
type text struct {
	bytes []byte
	lines []int  // offset at which each line begins
	stops []stop // places within long lines, in order
}

// stop is the start of a character whose column is known, in UTF-16.
type stop struct {
	offset int
	column uint32
}

// stopBytes is the distance between two stops of a line. Shorter lines are read from their start.
const stopBytes = 1 << 10

func newText(b []byte) *text {
	t := &text{bytes: b, lines: []int{0}}
	for i, c := range b {
		if c == '\n' || c == '\r' && (i+1 == len(b) || b[i+1] != '\n') {
			t.stop(t.lines[len(t.lines)-1], i)
			t.lines = append(t.lines, i+1)
		}
	}
	t.stop(t.lines[len(t.lines)-1], len(b))
	return t
}

// stop records the stops of the line from start to end.
func (t *text) stop(start, end int) {
	for column := uint32(0); end-start > stopBytes; {
		for next := start + stopBytes; start < next; {
			units, size := width(t.bytes[start:end], utf16Units)
			start, column = start+size, column+uint32(units)
		}
		t.stops = append(t.stops, stop{start, column})
	}
}

// near returns the last stop of a line that is not after a place, or the line's start. after
// reports whether a stop is after the place.
func (t *text) near(start, end int, e encoding, after func(stop) bool) stop {
	first := sort.Search(len(t.stops), func(k int) bool { return t.stops[k].offset > start })
	last := sort.Search(len(t.stops), func(k int) bool { return t.stops[k].offset > end })
	column := func(s stop) stop {
		if e == utf8Bytes {
			s.column = uint32(s.offset - start)
		}
		return s
	}
	k := first + sort.Search(last-first, func(k int) bool { return after(column(t.stops[first+k])) })
	if k == first {
		return stop{offset: start}
	}
	return column(t.stops[k-1])
}

// line returns the offsets of a line, counted from 0, without its end.
func (t *text) line(n int) (start, end int) {
	start, end = t.lines[n], len(t.bytes)
	if n+1 < len(t.lines) {
		end = t.lines[n+1]
	}
	for end > start && (t.bytes[end-1] == '\n' || t.bytes[end-1] == '\r') {
		end--
	}
	return start, end
}

// offset returns the offset of a position. A position after its line stands for the
// line's end, and one inside a character for the start of the character.
func (t *text) offset(p position, e encoding) int {
	if int64(p.Line) >= int64(len(t.lines)) {
		return len(t.bytes)
	}
	start, end := t.line(int(p.Line))
	near := t.near(start, end, e, func(s stop) bool { return s.column > p.Character })
	at := near.offset
	for left := int64(p.Character) - int64(near.column); at < end; {
		units, size := width(t.bytes[at:end], e)
		if left -= int64(units); left < 0 {
			break
		}
		at += size
	}
	return at
}

// position returns the position of an offset. For an offset outside the text, it returns the
// position of the nearer end.
func (t *text) position(offset int, e encoding) position {
	offset = min(max(offset, 0), len(t.bytes))
	n := sort.SearchInts(t.lines, offset+1) - 1
	start, end := t.line(n)
	near := t.near(start, end, e, func(s stop) bool { return s.offset > offset })
	at, p := near.offset, position{uint32(n), near.column}
	for at < min(offset, end) {
		units, size := width(t.bytes[at:end], e)
		if at+size > offset {
			break
		}
		at, p.Character = at+size, p.Character+uint32(units)
	}
	return p
}

// width returns how many columns the first character of a line has, and its bytes. A byte that is
// not UTF-8 is a character: clients show one in its place.
func width(b []byte, e encoding) (units, size int) {
	r, size := utf8.DecodeRune(b)
	switch {
	case e == utf8Bytes:
		return size, size
	case r > 0xffff:
		return 2, size
	}
	return 1, size
}

// span returns the range between two offsets.
func (t *text) span(start, end int, e encoding) span {
	return span{t.position(start, e), t.position(max(start, end), e)}
}

// apply returns the text after a change.
func (t *text) apply(c change, e encoding) *text {
	if c.Range == nil {
		return newText([]byte(c.Text))
	}
	start := t.offset(c.Range.Start, e)
	end := max(start, t.offset(c.Range.End, e))
	out := make([]byte, 0, len(t.bytes)-(end-start)+len(c.Text))
	out = append(append(append(out, t.bytes[:start]...), c.Text...), t.bytes[end:]...)
	return newText(out)
}

// replacement returns the edits that make one text of another: none if they are equal, or else one
// edit of whole lines without those that are equal at both ends.
func (t *text) replacement(by []byte, e encoding) []textEdit {
	head, tail := 0, 0 // equal bytes
	for head < len(t.bytes) && head < len(by) && t.bytes[head] == by[head] {
		head++
	}
	if head == len(t.bytes) && head == len(by) {
		return []textEdit{}
	}
	n := sort.SearchInts(t.lines, head+1) - 1
	head = t.lines[n]
	for tail < len(t.bytes)-head && tail < len(by)-head && t.bytes[len(t.bytes)-1-tail] == by[len(by)-1-tail] {
		tail++
	}
	end := len(t.bytes) - tail // then to the start of a line, or the end of the text
	if n := sort.SearchInts(t.lines, end); n < len(t.lines) {
		tail -= t.lines[n] - end
	} else {
		tail = 0
	}
	end = len(t.bytes) - tail
	return []textEdit{{t.span(head, end, e), string(by[head : len(by)-tail])}}
}
