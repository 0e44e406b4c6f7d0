package jsontext

import (
	"bytes"
	"fmt"
	"strconv"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// Describe describes a value for a message. text is the value of a string, or the text of a
// number, true, false or null.
func Describe(kind byte, text []byte) string {
	switch kind {
	case Object:
		return "an object"
	case Array:
		return "an array"
	case String:
		return "string " + Quote(text)
	case Number:
		return "number " + shorten(text)
	}
	return string(text)
}

// Quote returns text in quotes, cut to 64 bytes.
func Quote(text []byte) string { return strconv.Quote(shorten(text)) }

// shorten returns text cut to 64 bytes, between characters.
func shorten(text []byte) string {
	if len(text) <= 64 {
		return string(text)
	}
	n := 61
	for n > 57 && !utf8.RuneStart(text[n]) {
		n--
	}
	return string(text[:n]) + "..."
}

// Position returns the line and column of an offset, both counted from 1. The column counts
// characters.
func Position(text []byte, off int) (line, column int) {
	before := text[:min(off, len(text))]
	start := bytes.LastIndexByte(before, '\n') + 1
	return bytes.Count(before, []byte("\n")) + 1, utf8.RuneCount(before[start:]) + 1
}

const hexDigits = "0123456789abcdef"

// AppendString appends a string as JSON, in the form of encoding/json without its escapes for
// HTML. s is UTF-8.
func AppendString(b, s []byte) []byte {
	b = append(b, '"')
	start := 0
	for i, c := range s {
		if c >= ' ' && c != '"' && c != '\\' && c < utf8.RuneSelf {
			continue
		}
		n := 1
		if c >= utf8.RuneSelf {
			// U+2028 and U+2029 end a line in JavaScript.
			if !bytes.HasPrefix(s[i:], []byte("\u2028")) && !bytes.HasPrefix(s[i:], []byte("\u2029")) {
				continue
			}
			n = 3
		}
		b = append(b, s[start:i]...)
		start = i + n
		b = appendEscape(b, s[i:start])
	}
	return append(append(b, s[start:]...), '"')
}

// Printable returns a JSON text with escapes for the characters in its strings that a terminal
// obeys and does not show: controls, and formats such as the direction of text. The value is the
// same. text is UTF-8, and is returned itself if it has none of them.
func Printable(text []byte) []byte {
	if !bytes.ContainsFunc(text, obeyed) {
		return text
	}
	out := make([]byte, 0, len(text)+16)
	for _, r := range string(text) {
		if !obeyed(r) {
			out = utf8.AppendRune(out, r)
		} else if high, low := utf16.EncodeRune(r); high != utf8.RuneError {
			out = fmt.Appendf(out, `\u%04x\u%04x`, high, low)
		} else {
			out = fmt.Appendf(out, `\u%04x`, r)
		}
	}
	return out
}

// obeyed reports whether a terminal need not show a character. Of the controls below U+0020, JSON
// has only white space, between values.
func obeyed(r rune) bool { return r > ' ' && !unicode.IsGraphic(r) }

// appendEscape appends the escape of a character.
func appendEscape(b, char []byte) []byte {
	switch c := char[0]; c {
	case '"', '\\':
		return append(b, '\\', c)
	case '\b':
		return append(b, `\b`...)
	case '\f':
		return append(b, `\f`...)
	case '\n':
		return append(b, `\n`...)
	case '\r':
		return append(b, `\r`...)
	case '\t':
		return append(b, `\t`...)
	}
	r, _ := utf8.DecodeRune(char)
	return append(b, '\\', 'u', hexDigits[r>>12&15], hexDigits[r>>8&15], hexDigits[r>>4&15], hexDigits[r&15])
}
