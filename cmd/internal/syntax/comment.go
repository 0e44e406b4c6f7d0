package syntax

import (
	"sort"
	"strings"
	"unicode"
	"unicode/utf8"
)

// comment is the extent of one comment with its marks.
type comment struct{ start, end int }

// maxRun limits how many comments are joined.
const maxRun = 200

// before returns the lines of the comment directly above offset. Only blanks may lie between,
// but no empty line. A comment with code before it on its line belongs to that code, and so
// does one that is indented below a line of code.
func (s *scanner) before(offset int) []string {
	column := s.column(offset)
	i := sort.Search(len(s.notes), func(i int) bool { return s.notes[i].end > offset }) - 1
	var lines []string
	for last := i - maxRun; i >= 0 && i > last; i-- {
		c := s.notes[i]
		newlines, blank := s.gap(c.end, offset)
		if !blank || newlines > 1 || s.isTail(i) || s.column(c.start) > column && s.hangs(i) {
			break
		}
		own := s.clean(c)
		if isLicense(own) {
			break
		}
		lines = append(own, lines...)
		offset = c.start
	}
	return lines
}

// gap reports whether only blanks lie between two offsets, and how many lines end there.
func (s *scanner) gap(from, to int) (newlines int, blank bool) {
	for to--; to >= from; to-- {
		switch s.text[to] {
		case '\n':
			newlines++
		case ' ', '\t', '\r', '\f', '\v':
		default:
			return newlines, false
		}
	}
	return newlines, true
}

// hangs reports whether comment i is directly below a line of code.
func (s *scanner) hangs(i int) bool {
	newlines := 0
	for at := s.notes[i].start - 1; at >= 0; at-- {
		switch s.text[at] {
		case ' ', '\t', '\r':
		case '\n':
			newlines++
		case ';', ',':
			return newlines == 1
		default:
			return false
		}
	}
	return false
}

// column returns the column of an offset, at most maxColumn.
func (s *scanner) column(offset int) int {
	n := 1
	for n < maxColumn && offset-n >= 0 && s.text[offset-n] != '\n' {
		n++
	}
	return n
}

// after returns the comment that belongs to the text from start to offset, or "" if there is
// none. It follows on the same line, or on the next line further right than start. Comments
// below it in the same column are part of it.
func (s *scanner) after(start, offset int) string {
	i := sort.Search(len(s.notes), func(i int) bool { return s.notes[i].start >= offset })
	if i == len(s.notes) {
		return ""
	}
	if s.hangs(i) && s.column(s.notes[i].start) > s.column(start) {
		if end := s.endOfLine(offset); end < s.notes[i].start {
			offset = end + 1
		}
	}
	for ; offset < s.notes[i].start; offset++ {
		if strings.IndexByte(" \t;,", s.text[offset]) < 0 {
			return ""
		}
	}
	lines := s.clean(s.notes[i])
	for n := 0; n < maxRun && i+1 < len(s.notes) && s.continues(i+1); n++ {
		i++
		lines = append(lines, s.clean(s.notes[i])...)
	}
	return strings.Join(lines, " ")
}

// continues reports whether comment i continues the one before it: it is on the next line in
// the same column, with nothing between.
func (s *scanner) continues(i int) bool {
	a, b := s.notes[i-1], s.notes[i]
	newlines, blank := s.gap(a.end, b.start)
	return blank && newlines == 1 && s.column(a.start) == s.column(b.start)
}

// isTail reports whether comment i has code before it on its line, or continues a comment
// that has.
func (s *scanner) isTail(i int) bool {
	for last := i - maxRun; i > last; i-- {
		at := s.notes[i].start - 1
		for at >= 0 && (s.text[at] == ' ' || s.text[at] == '\t') {
			at--
		}
		if at >= 0 && s.text[at] != '\n' {
			return true
		}
		if i == 0 || !s.continues(i) {
			return false
		}
	}
	return false
}

// clean returns the lines of a comment without its marks, borders, and empty lines at its
// ends.
func (s *scanner) clean(c comment) []string {
	text := plain(s.text[c.start:c.end])
	if t, ok := strings.CutPrefix(text, "//"); ok {
		return trimLines([]string{strings.TrimSpace(strings.TrimLeft(t, "/"))})
	}
	text = strings.TrimSuffix(strings.TrimPrefix(text, "/*"), "*/")
	var lines []string
	for _, l := range strings.Split(text, "\n") {
		l = strings.TrimSpace(l)
		if strings.Trim(l, "*=-_#+ ") == "" {
			l = ""
		}
		l = strings.TrimPrefix(l, "*")
		l = strings.TrimPrefix(l, " ")
		lines = append(lines, strings.TrimRight(l, " \t*"))
	}
	return trimLines(lines)
}

// plain returns the text of a comment as UTF-8 without control characters. A byte that is not
// UTF-8 is read as ISO 8859-1, the encoding of old files.
func plain(text []byte) string {
	var b strings.Builder
	for len(text) > 0 {
		r, n := utf8.DecodeRune(text)
		if r == utf8.RuneError && n == 1 {
			r = rune(text[0])
		}
		switch {
		case r == '\n', r == '\t', r == '\f':
			b.WriteRune(r)
		case r == '\r' || r == '\ufeff':
		case unicode.IsControl(r):
			b.WriteRune(unicode.ReplacementChar)
		default:
			b.WriteRune(r)
		}
		text = text[n:]
	}
	return b.String()
}

// trimLines removes empty lines at both ends.
func trimLines(lines []string) []string {
	for len(lines) > 0 && strings.TrimSpace(lines[0]) == "" {
		lines = lines[1:]
	}
	for len(lines) > 0 && strings.TrimSpace(lines[len(lines)-1]) == "" {
		lines = lines[:len(lines)-1]
	}
	return lines
}

// isLicense reports whether a comment is a code licence: it mentions redistribution.
func isLicense(lines []string) bool {
	for _, l := range lines {
		if strings.Contains(l, "Redistribution") {
			return true
		}
	}
	return false
}

// license returns the first licence comment of the file.
func (s *scanner) license() []string {
	for _, c := range s.notes {
		if lines := s.clean(c); isLicense(lines) {
			return lines
		}
	}
	return nil
}
