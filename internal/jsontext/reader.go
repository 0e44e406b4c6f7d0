package jsontext

import (
	"bytes"
	"strconv"
	"unicode/utf8"
)

// Reader moves through a text that has been checked. It stands before a value, or within a
// container, where [Reader.More] says whether another value follows.
type Reader struct {
	text   []byte
	off    int
	opened int   // containers that begin before off
	ends   []end // of all containers; nil until Skip needs it
}

// NewReader returns a Reader before the value that text is, or the first fault of the text. The
// Reader refers to text.
func NewReader(text []byte) (*Reader, *Error) {
	c := checker{text: text}
	if err := c.check(); err != nil {
		return nil, err
	}
	r := &Reader{text: text}
	r.blanks()
	return r, nil
}

// The kinds of values: the first character of each.
const (
	Object = '{'
	Array  = '['
	String = '"'
	Number = '0' // a minus sign too
	True   = 't'
	False  = 'f'
	Null   = 'n'
)

// Kind returns the kind of the next value.
func (r *Reader) Kind() byte {
	if b := r.text[r.off]; b != '-' && (b < '0' || b > '9') {
		return b
	}
	return Number
}

// Offset returns the offset of the next value or, after More, of the next key.
func (r *Reader) Offset() int { return r.off }

// Place is a place in the text to which a Reader can return.
type Place struct{ off, opened int }

// Place returns the place of the Reader.
func (r *Reader) Place() Place { return Place{r.off, r.opened} }

// Return moves the Reader to a place where it has been.
func (r *Reader) Return(p Place) { r.off, r.opened = p.off, p.opened }

// Open goes into the next value, an object or array. The caller then calls More before each
// value in it, until it returns false.
func (r *Reader) Open() {
	r.off++
	r.opened++
}

// More reports whether another value, or in an object another key, follows in the container. If
// not, it leaves the container.
func (r *Reader) More() bool {
	r.blanks()
	switch r.text[r.off] {
	case ',':
		r.off++
		r.blanks()
	case '}', ']':
		r.off++
		return false
	}
	return true
}

// Key reads a key. The bytes may be part of the text.
func (r *Reader) Key() []byte {
	key := r.Text()
	r.blanks()
	r.off++
	r.blanks()
	return key
}

// Text reads a string and returns its value. The bytes may be part of the text.
func (r *Reader) Text() []byte {
	start := r.off + 1
	for i := start; ; i++ {
		switch r.text[i] {
		case '"':
			r.off = i + 1
			return r.text[start:i:i]
		case '\\':
			return r.escaped(start, i)
		}
	}
}

// escaped is Text for a string that begins at start and has its first escape at off.
func (r *Reader) escaped(start, off int) []byte {
	out := append([]byte(nil), r.text[start:off]...)
	for {
		switch b := r.text[off]; b {
		case '"':
			r.off = off + 1
			return out
		case '\\':
			var c rune
			c, off = unescape(r.text, off)
			out = utf8.AppendRune(out, c)
		default:
			out = append(out, b)
			off++
		}
	}
}

// unescape returns the character of the escape at off, and the offset after it.
func unescape(text []byte, off int) (rune, int) {
	switch b := text[off+1]; b {
	case 'b':
		return '\b', off + 2
	case 'f':
		return '\f', off + 2
	case 'n':
		return '\n', off + 2
	case 'r':
		return '\r', off + 2
	case 't':
		return '\t', off + 2
	case 'u':
		c := unit(text, off)
		if c < 0xd800 || 0xe000 <= c {
			return c, off + 6
		}
		return (c-0xd800)<<10 | (unit(text, off+6) - 0xdc00) + 0x10000, off + 12
	default:
		return rune(b), off + 2
	}
}

// unit returns the number in the escape \uXXXX at off.
func unit(text []byte, off int) rune {
	n, _ := strconv.ParseUint(string(text[off+2:off+6]), 16, 16)
	return rune(n)
}

// Literal reads a number, true, false or null and returns its text.
func (r *Reader) Literal() []byte {
	start := r.off
	for r.off < len(r.text) && bytes.IndexByte([]byte(" \t\r\n,]}"), r.text[r.off]) < 0 {
		r.off++
	}
	return r.text[start:r.off:r.off]
}

// Skip goes behind the next value. The first Skip of an object or array reads the text once, and
// further ones read none of it: whatever is skipped, all of them together take linear time.
func (r *Reader) Skip() {
	switch r.Kind() {
	case Object, Array:
		if r.ends == nil {
			c := checker{text: r.text, ends: []end{}}
			c.check() // as in NewReader, without a fault
			r.ends = c.ends
		}
		e := r.ends[r.opened]
		r.off, r.opened = e.off, e.next
	case String:
		for r.off++; r.text[r.off] != '"'; r.off++ {
			if r.text[r.off] == '\\' {
				r.off++
			}
		}
		r.off++
	default:
		r.Literal()
	}
}

// What describes the next value for a message.
func (r *Reader) What() string {
	at := r.Place()
	defer r.Return(at)
	switch k := r.Kind(); k {
	case Object, Array:
		return Describe(k, nil)
	case String:
		return Describe(k, r.Text())
	default:
		return Describe(k, r.Literal())
	}
}

func (r *Reader) blanks() {
	for r.off < len(r.text) {
		switch r.text[r.off] {
		case ' ', '\t', '\n', '\r':
			r.off++
		default:
			return
		}
	}
}
