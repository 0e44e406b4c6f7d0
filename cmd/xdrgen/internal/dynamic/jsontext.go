package dynamic

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"
)

// maxNesting limits the depth of JSON text.
const maxNesting = 10000

// node is a JSON value with its position.
type node struct {
	off   int
	token json.Token // string, json.Number, bool, nil; '{' or '['
	keys  []string   // of an object
	items []*node    // of an object or array
}

// is reports whether the node is an object, for d '{', or an array, for '['.
func (n *node) is(d json.Delim) bool { return n.token == d }

// what describes the value for messages.
func (n *node) what() string {
	switch v := n.token.(type) {
	case json.Delim:
		if v == '{' {
			return "an object"
		}
		return "an array"
	case string:
		return "string " + quote(v)
	case json.Number:
		return "number " + shorten(v.String())
	case bool:
		return strconv.FormatBool(v)
	}
	return "null"
}

func quote(s string) string { return strconv.Quote(shorten(s)) }

// shorten returns s cut to 64 bytes.
func shorten(s string) string {
	if len(s) > 64 {
		return string(cut([]byte(s), 61)) + "..."
	}
	return s
}

// get returns the member of an object with a key, or nil.
func (n *node) get(key string) *node {
	for i, k := range n.keys {
		if k == key {
			return n.items[i]
		}
	}
	return nil
}

// jsonReader parses JSON into nodes. It rejects faults that encoding/json repairs silently:
// invalid UTF-8, half of a surrogate pair, and a duplicate key.
type jsonReader struct {
	text []byte
	dec  *json.Decoder
}

// parseText parses a JSON text.
func parseText(text []byte) (*node, *Error) {
	if !utf8.Valid(text) {
		off := 0
		for r, n := rune(0), 0; r != utf8.RuneError || n > 1; off += n {
			if r, n = utf8.DecodeRune(text[off:]); r == utf8.RuneError && n == 1 {
				break
			}
		}
		return nil, jsonError(off, "found byte %#02x, expected UTF-8", text[off])
	}
	r := &jsonReader{text, json.NewDecoder(bytes.NewReader(text))}
	r.dec.UseNumber()
	n, e := r.value(0)
	if e != nil {
		return nil, e
	}
	if off := r.next(); off < len(text) {
		return nil, jsonError(off, "found %s after the value, expected the end", quote(string(text[off:])))
	}
	return n, nil
}

func jsonError(off int, format string, args ...any) *Error {
	return &Error{Code: JSON, Offset: off, Message: fmt.Sprintf(format, args...)}
}

// next returns the offset of the next token.
func (r *jsonReader) next() int {
	off := int(r.dec.InputOffset())
	for off < len(r.text) && strings.IndexByte(" \t\r\n,:", r.text[off]) >= 0 {
		off++
	}
	return off
}

func (r *jsonReader) token() (json.Token, int, *Error) {
	off := r.next()
	t, err := r.dec.Token()
	var syntax *json.SyntaxError
	switch {
	case errors.As(err, &syntax):
		return nil, off, jsonError(max(0, int(syntax.Offset)-1), "%s", err)
	case err == io.EOF || errors.Is(err, io.ErrUnexpectedEOF):
		return nil, off, jsonError(len(r.text), "found the end of the text within a value")
	case err != nil:
		return nil, off, jsonError(off, "%s", err)
	}
	if _, ok := t.(string); ok && loneSurrogate(r.text[off:r.dec.InputOffset()]) {
		return nil, off, jsonError(off, "found half of a surrogate pair in a string, expected both halves")
	}
	return t, off, nil
}

func (r *jsonReader) value(depth int) (*node, *Error) {
	t, off, e := r.token()
	if e != nil {
		return nil, e
	}
	n := &node{off: off, token: t}
	if !n.is('{') && !n.is('[') {
		return n, nil
	}
	if depth == maxNesting {
		return nil, jsonError(off, "nested deeper than %d", maxNesting)
	}
	have := map[string]bool{}
	for r.dec.More() {
		if n.is('{') {
			key, off, e := r.token()
			if e != nil {
				return nil, e
			}
			k, _ := key.(string)
			if have[k] {
				return nil, jsonError(off, "found the key %s twice in one object", quote(k))
			}
			have[k] = true
			n.keys = append(n.keys, k)
		}
		item, e := r.value(depth + 1)
		if e != nil {
			return nil, e
		}
		n.items = append(n.items, item)
	}
	_, _, e = r.token()
	return n, e
}

// loneSurrogate reports whether a JSON string literal has half of a surrogate pair.
func loneSurrogate(lit []byte) bool {
	high := false
	for i := 0; i < len(lit); i++ {
		unit := uint64(0)
		if lit[i] == '\\' {
			i++
			if i+4 < len(lit) && lit[i] == 'u' {
				unit, _ = strconv.ParseUint(string(lit[i+1:i+5]), 16, 16)
				i += 4
			}
		}
		low := unit >= 0xdc00 && unit < 0xe000
		if low != high {
			return true
		}
		high = unit >= 0xd800 && unit < 0xdc00
	}
	return high
}
