package jsontext

import (
	"bytes"
	"fmt"
	"strconv"
	"unicode/utf8"
)

// checker finds the faults of a text in one pass.
type checker struct {
	text []byte
	off  int
	open []int // the containers around off, by their number
	ends []end // of all containers that were found, by their number; nil if they are not recorded
}

// end is where a reader stands after a container.
type end struct {
	off  int
	next int // the number of the first container after it
}

// check checks that the text is one value.
func (c *checker) check() *Error {
	for {
		closed, err := c.value()
		if err != nil {
			return err
		}
		if !closed {
			continue
		}
		if more, err := c.after(); !more || err != nil {
			return err
		}
	}
}

// value checks a value, or the first part of a container up to its first value. It reports
// whether the value is complete.
func (c *checker) value() (complete bool, err *Error) {
	c.blanks()
	if c.off == len(c.text) {
		return false, c.short()
	}
	switch b := c.text[c.off]; b {
	case '{', '[':
		return c.enter(b)
	case '"':
		return true, c.string()
	case 't':
		return true, c.literal("true")
	case 'f':
		return true, c.literal("false")
	case 'n':
		return true, c.literal("null")
	case '-', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9':
		return true, c.number()
	}
	return false, c.unexpected("a value")
}

// enter goes into a container. If that is empty, it goes behind it.
func (c *checker) enter(bracket byte) (complete bool, err *Error) {
	if len(c.open) == MaxDepth {
		return false, c.fault(c.off, "found a value nested deeper than %d, expected at most that", MaxDepth)
	}
	// The lowest bit says which kind of container it is.
	mark := len(c.ends) << 1
	if bracket == '{' {
		mark |= 1
	}
	c.open = append(c.open, mark)
	if c.ends != nil {
		c.ends = append(c.ends, end{})
	}
	c.off++
	c.blanks()
	if c.off < len(c.text) && c.text[c.off] == bracket+2 { // } or ]
		c.leave()
		return true, nil
	}
	if bracket == '{' {
		return false, c.key()
	}
	return false, nil
}

// leave goes behind the closing bracket of a container.
func (c *checker) leave() {
	c.off++
	last := len(c.open) - 1
	if c.ends != nil {
		c.ends[c.open[last]>>1] = end{c.off, len(c.ends)}
	}
	c.open = c.open[:last]
}

// after goes on after a value: to the next one, for which it reports true, or to the end.
func (c *checker) after() (more bool, err *Error) {
	for {
		c.blanks()
		if len(c.open) == 0 {
			if c.off < len(c.text) {
				return false, c.fault(c.off, "found %s after the value, expected the end", Quote(c.text[c.off:]))
			}
			return false, nil
		}
		if c.off == len(c.text) {
			return false, c.short()
		}
		object := c.open[len(c.open)-1]&1 == 1
		switch b := c.text[c.off]; {
		case b == ',' && object:
			c.off++
			return true, c.key()
		case b == ',':
			c.off++
			return true, nil
		case b == '}' && object, b == ']' && !object:
			c.leave()
		case object:
			return false, c.unexpected("a comma or }")
		default:
			return false, c.unexpected("a comma or ]")
		}
	}
}

// key checks a key and the colon.
func (c *checker) key() *Error {
	c.blanks()
	switch {
	case c.off == len(c.text):
		return c.short()
	case c.text[c.off] != '"':
		return c.unexpected("a key in quotes")
	}
	if err := c.string(); err != nil {
		return err
	}
	c.blanks()
	switch {
	case c.off == len(c.text):
		return c.short()
	case c.text[c.off] != ':':
		return c.unexpected("a colon after the key")
	}
	c.off++
	return nil
}

func (c *checker) literal(word string) *Error {
	if !bytes.HasPrefix(c.text[c.off:], []byte(word)) {
		if bytes.HasPrefix([]byte(word), c.text[c.off:]) {
			return c.short()
		}
		return c.unexpected("a value")
	}
	c.off += len(word)
	return nil
}

func (c *checker) number() *Error {
	if c.text[c.off] == '-' {
		c.off++
	}
	if c.off < len(c.text) && c.text[c.off] == '0' {
		c.off++
	} else if err := c.digits(); err != nil {
		return err
	}
	if c.off < len(c.text) && c.text[c.off] == '.' {
		c.off++
		if err := c.digits(); err != nil {
			return err
		}
	}
	if c.off == len(c.text) || c.text[c.off]|0x20 != 'e' {
		return nil
	}
	c.off++
	if c.off < len(c.text) && (c.text[c.off] == '+' || c.text[c.off] == '-') {
		c.off++
	}
	return c.digits()
}

// digits checks one digit or more.
func (c *checker) digits() *Error {
	start := c.off
	for c.off < len(c.text) && '0' <= c.text[c.off] && c.text[c.off] <= '9' {
		c.off++
	}
	switch {
	case c.off > start:
		return nil
	case c.off == len(c.text):
		return c.short()
	}
	return c.unexpected("a digit")
}

// string checks a string.
func (c *checker) string() *Error {
	start := c.off
	c.off++
	high := false // the previous character is the first half of a surrogate pair
	for c.off < len(c.text) {
		b := c.text[c.off]
		if b == '\\' {
			unit, err := c.escape()
			if err != nil {
				return err
			}
			if low := 0xdc00 <= unit && unit < 0xe000; low != high {
				return c.surrogate(start)
			}
			high = 0xd800 <= unit && unit < 0xdc00
			continue
		}
		if high {
			return c.surrogate(start)
		}
		switch {
		case b == '"':
			c.off++
			return nil
		case b < ' ':
			return c.fault(c.off, "found control character %#02x in a string, expected an escape", b)
		case b < utf8.RuneSelf:
			c.off++
		default:
			r, n := utf8.DecodeRune(c.text[c.off:])
			if r == utf8.RuneError && n == 1 {
				return c.fault(c.off, "found byte %#02x, expected UTF-8", b)
			}
			c.off += n
		}
	}
	return c.short()
}

// surrogate returns the error for a string with half of a surrogate pair.
func (c *checker) surrogate(start int) *Error {
	return c.fault(start, "found half of a surrogate pair in a string, expected both halves")
}

// escape checks an escape sequence. It returns the UTF-16 unit if the sequence is \uXXXX.
func (c *checker) escape() (unit uint64, err *Error) {
	if c.off+1 == len(c.text) {
		c.off++
		return 0, c.short()
	}
	switch c.text[c.off+1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		c.off += 2
		return 0, nil
	case 'u':
	default:
		return 0, c.fault(c.off, "found escape %s in a string, expected one of RFC 8259 §7", Quote(c.text[c.off:c.off+2]))
	}
	if c.off+6 > len(c.text) {
		c.off = len(c.text)
		return 0, c.short()
	}
	unit, e := strconv.ParseUint(string(c.text[c.off+2:c.off+6]), 16, 16)
	if e != nil {
		return 0, c.fault(c.off, "found escape %s in a string, expected four hex digits", Quote(c.text[c.off:c.off+6]))
	}
	c.off += 6
	return unit, nil
}

func (c *checker) blanks() {
	for c.off < len(c.text) {
		switch c.text[c.off] {
		case ' ', '\t', '\n', '\r':
			c.off++
		default:
			return
		}
	}
}

func (c *checker) fault(off int, format string, args ...any) *Error {
	return &Error{off, fmt.Sprintf(format, args...)}
}

// unexpected returns the error for the character at off.
func (c *checker) unexpected(want string) *Error {
	r, n := utf8.DecodeRune(c.text[c.off:])
	if r == utf8.RuneError && n == 1 {
		return c.fault(c.off, "found byte %#02x, expected UTF-8", c.text[c.off])
	}
	return c.fault(c.off, "found %s, expected %s", strconv.QuoteRune(r), want)
}

// short returns the error for a text that ends too early.
func (c *checker) short() *Error {
	return c.fault(len(c.text), "found the end of the text within a value")
}
