package xdrdoc

import (
	"regexp"
	"strings"
	"unicode/utf8"
)

// maxPlaced is the length of the longest line, in bytes, whose entities and tags are placed.
const maxPlaced = 4096

// outside is a line of the document that is not part of its XDR. The compiler ignores it, where an
// empty line would separate a comment from its declaration.
const outside = "\v\n"

// Place returns a document's XDR as a text in which every token keeps its line and column. All
// else is blank, and the text has as many lines as the document. The lines must be in the order of
// the document.
func Place(doc []byte, lines []Line) []byte {
	raw := RawLines(doc)
	var out strings.Builder
	var sc scanner
	at := 1
	for _, l := range lines {
		for ; at < l.Num; at++ {
			out.WriteString(outside)
		}
		comment := sc.comment
		sc.line(l.Text)
		if l.Text != "" {
			first := ""
			if l.Num == 1 && strings.HasPrefix(string(doc), "\ufeff") {
				first = " "
			}
			out.WriteString(first + place(raw[l.Num-1], l.Text, comment))
		}
		out.WriteByte('\n')
		at++
	}
	for ; at <= len(raw); at++ {
		out.WriteString(outside)
	}
	return []byte(out.String())
}

// place returns the text that was taken from a line, with each token in the column that it has
// there. In comments it adds no blanks.
func place(raw, text string, comment bool) string {
	if lead, ok := strings.CutSuffix(raw, text); ok {
		return blank(lead) + text
	}
	if len(raw) > maxPlaced {
		return text
	}
	for i := range raw {
		if out, ok := align(raw[i:], text, comment); ok {
			return blank(raw[:i]) + out
		}
	}
	return indentation(raw) + strings.TrimLeft(text, " \t")
}

// unseen matches markup at the start of a string that plain removes.
var unseen = regexp.MustCompile(`^(?:<!--.*?-->|<!\[CDATA\[|\]\]>|</?(?:` + tagNames + `)(?:[ \t]+[^<>]*)?/?>)`)

// entity matches an entity at the start of a string.
var entity = regexp.MustCompile(`^&#?[A-Za-z0-9]{2,4};`)

// align returns text with blanks where raw, the line with the text, has markup. It reports false if
// raw does not begin with the text.
func align(raw, text string, comment bool) (string, bool) {
	var out strings.Builder
	for text != "" {
		if raw == "" {
			return "", false
		}
		c, n := utf8.DecodeRuneInString(text)
		r, m := utf8.DecodeRuneInString(raw)
		if e := entity.FindString(raw); e != "" && entities.Replace(e) == text[:n] {
			r, m = c, len(e)
		}
		switch {
		case r == c || c == ' ' && r == '\u00a0':
			comment = comment || strings.HasPrefix(text, "/*")
			out.WriteString(text[:n])
			if extra := utf8.RuneCountInString(raw[:m]) - 1; extra > 0 && !comment {
				out.WriteString(strings.Repeat(" ", extra))
			}
			raw, text = raw[m:], text[n:]
			continue
		}
		tag := unseen.FindString(raw)
		if tag == "" || out.Len() == 0 {
			return "", false
		}
		if !comment {
			out.WriteString(blank(tag))
		}
		raw = raw[len(tag):]
	}
	return out.String(), true
}

// blank returns s with each character but tabs replaced by a space.
func blank(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '\t' {
			return r
		}
		return ' '
	}, s)
}
