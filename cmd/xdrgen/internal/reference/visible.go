package reference

import (
	"fmt"
	"html"
	"regexp"
	"strings"
	"unicode"
)

// visible shows characters by their numbers that have no picture, or change the direction of the
// text around them.
func visible(s string) string {
	if strings.IndexFunc(s, hidden) < 0 {
		return strings.ToValidUTF8(s, "\ufffd")
	}
	var b strings.Builder
	for _, r := range s {
		switch {
		case r == '\n':
			b.WriteByte('\n')
		case r == '\t':
			b.WriteByte(' ')
		case r > 0xffff && hidden(r):
			fmt.Fprintf(&b, `\U%08x`, r)
		case hidden(r):
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// hidden reports whether visible shows a character by its number, or as a blank.
func hidden(r rune) bool {
	return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Co, unicode.Zl, unicode.Zp)
}

// escape returns a text of the unit as HTML.
func escape(s string) string { return html.EscapeString(visible(s)) }

// cited matches a reference to an RFC, and to its section.
var cited = regexp.MustCompile(`RFC ?([1-9][0-9]{1,4})\b(?:,? (?:[Ss]ection|§) ?([0-9]+(?:\.[0-9]+)*))?`)

// prose returns a comment as HTML, in which RFCs are links.
func prose(s string) string {
	return cited.ReplaceAllStringFunc(escape(s), func(m string) string {
		of := cited.FindStringSubmatch(m)
		to := "https://www.rfc-editor.org/rfc/rfc" + of[1]
		if of[2] != "" {
			to = rfcURL(of[1], of[2])
		}
		return `<a href="` + to + `">` + m + `</a>`
	})
}

// comment returns the lines of a comment without empty ones at its ends, and without the indent
// that all have.
func comment(doc []string) []string {
	for len(doc) > 0 && strings.TrimSpace(doc[0]) == "" {
		doc = doc[1:]
	}
	for len(doc) > 0 && strings.TrimSpace(doc[len(doc)-1]) == "" {
		doc = doc[:len(doc)-1]
	}
	least := -1
	for _, l := range doc {
		if n := len(l) - len(strings.TrimLeft(l, " \t")); strings.TrimSpace(l) != "" && (least < 0 || n < least) {
			least = n
		}
	}
	out := make([]string, len(doc))
	for i, l := range doc {
		if out[i] = strings.TrimRight(l, " \t\r"); len(out[i]) >= least && least > 0 {
			out[i] = out[i][least:]
		}
	}
	return out
}
