package syntax

import (
	"bytes"
	"sort"
	"strings"
	"unicode"
	"unicode/utf8"
)

// comment is the extent of one comment with its marks.
type comment struct{ start, end int }

// notes are the comments of a file, in its order.
type notes struct {
	text []byte // of the file
	all  []comment
}

// maxRun limits how many comments are joined.
const maxRun = 200

// before returns the lines of the comment directly above offset. Only blanks may lie between,
// but no empty line. A comment with code before it on its line belongs to that code, and so
// does one that is indented below a line of code.
func (n *notes) before(offset int) []string {
	column := n.column(offset)
	i := sort.Search(len(n.all), func(i int) bool { return n.all[i].end > offset }) - 1
	var lines []string
	for last := i - maxRun; i >= 0 && i > last; i-- {
		c := n.all[i]
		newlines, blank := n.gap(c.end, offset)
		if !blank || newlines > 1 || n.isTail(i) || n.column(c.start) > column && n.hangs(i) {
			break
		}
		own := n.clean(c)
		if isLicense(own) {
			break
		}
		lines = append(own, lines...)
		offset = c.start
	}
	return lines
}

// outside is a line of a document that is not part of its XDR, as package xdrdoc writes it. Text
// above and below such lines is adjacent.
const outside = "\v\n"

// gap reports whether only blanks lie between two offsets, and how many lines end there.
func (n *notes) gap(from, to int) (newlines int, blank bool) {
	for to--; to >= from; to-- {
		switch n.text[to] {
		case '\n':
			if to == 0 || n.text[to-1] != outside[0] {
				newlines++
			}
		case ' ', '\t', '\r', '\f', '\v':
		default:
			return newlines, false
		}
	}
	return newlines, true
}

// hangs reports whether comment i is directly below a line of code.
func (n *notes) hangs(i int) bool {
	newlines := 0
	for at := n.all[i].start - 1; at >= 0; at-- {
		switch n.text[at] {
		case ' ', '\t', '\r', '\v':
		case '\n':
			if at == 0 || n.text[at-1] != outside[0] {
				newlines++
			}
		case ';', ',':
			return newlines == 1
		default:
			return false
		}
	}
	return false
}

// column returns the column of an offset, at most maxColumn.
func (n *notes) column(offset int) int {
	at := 1
	for at < maxColumn && offset-at >= 0 && n.text[offset-at] != '\n' {
		at++
	}
	return at
}

// after returns the comment that belongs to the text from start to offset, or "" if there is no
// comment. It follows on the same line, or on the next line further right than start. Comments
// below it in the same column are part of it.
func (n *notes) after(start, offset int) string {
	i := sort.Search(len(n.all), func(i int) bool { return n.all[i].start >= offset })
	if i == len(n.all) {
		return ""
	}
	if n.hangs(i) && n.column(n.all[i].start) > n.column(start) {
		if end := endOfLine(n.text, offset); end < n.all[i].start {
			offset = end + 1
		}
	}
	for ; offset < n.all[i].start; offset++ {
		if strings.IndexByte(" \t;,", n.text[offset]) < 0 {
			return ""
		}
	}
	lines := n.clean(n.all[i])
	for more := maxRun; more > 0 && i+1 < len(n.all) && n.continues(i+1); more-- {
		i++
		lines = append(lines, n.clean(n.all[i])...)
	}
	return strings.Join(lines, " ")
}

// continues reports whether comment i continues the one before it: it is on the next line in
// the same column, with nothing between.
func (n *notes) continues(i int) bool {
	a, b := n.all[i-1], n.all[i]
	newlines, blank := n.gap(a.end, b.start)
	return blank && newlines == 1 && n.column(a.start) == n.column(b.start)
}

// isTail reports whether comment i has code before it on its line, or continues a comment
// that has.
func (n *notes) isTail(i int) bool {
	for last := i - maxRun; i > last; i-- {
		at := n.all[i].start - 1
		for at >= 0 && (n.text[at] == ' ' || n.text[at] == '\t') {
			at--
		}
		if at >= 0 && n.text[at] != '\n' {
			return true
		}
		if i == 0 || !n.continues(i) {
			return false
		}
	}
	return false
}

// clean returns the lines of a comment without its marks, borders, and empty lines at its
// ends.
func (n *notes) clean(c comment) []string {
	text := plain(bytes.ReplaceAll(n.text[c.start:c.end], []byte(outside), nil))
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
func (n *notes) license() []string {
	for _, c := range n.all {
		if lines := n.clean(c); isLicense(lines) {
			return lines
		}
	}
	return nil
}
