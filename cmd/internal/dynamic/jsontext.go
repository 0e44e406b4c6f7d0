package dynamic

import (
	"fmt"

	"github.com/rpcrdma/rpcrdma/internal/jsontext"
)

// node is a JSON value with its position.
type node struct {
	off   int
	kind  byte     // of package jsontext
	text  []byte   // of a string, its value; of a number, true, false or null, its text
	keys  []string // of an object
	items []*node  // of an object or array
}

// is reports whether the node is of a kind of package jsontext.
func (n *node) is(kind byte) bool { return n.kind == kind }

// what describes the value for messages.
func (n *node) what() string { return jsontext.Describe(n.kind, n.text) }

// get returns the member of an object with a key, or nil.
func (n *node) get(key string) *node {
	for i, k := range n.keys {
		if k == key {
			return n.items[i]
		}
	}
	return nil
}

// parseText parses a JSON text.
func parseText(text []byte) (*node, *Error) {
	r, err := jsontext.NewReader(text)
	if err != nil {
		return nil, jsonError(err.Offset, "%s", err.Message)
	}
	return newNode(r)
}

func jsonError(off int, format string, args ...any) *Error {
	return &Error{Code: JSON, Offset: off, Message: fmt.Sprintf(format, args...)}
}

// newNode reads a value. It refuses a key that an object has twice.
func newNode(r *jsontext.Reader) (*node, *Error) {
	n := &node{off: r.Offset(), kind: r.Kind()}
	switch n.kind {
	case jsontext.Object, jsontext.Array:
	case jsontext.String:
		n.text = r.Text()
		return n, nil
	default:
		n.text = r.Literal()
		return n, nil
	}
	have := map[string]bool{}
	for r.Open(); r.More(); {
		if n.is(jsontext.Object) {
			off, k := r.Offset(), string(r.Key())
			if have[k] {
				return nil, jsonError(off, "found the key %s twice in one object", jsontext.Quote([]byte(k)))
			}
			have[k] = true
			n.keys = append(n.keys, k)
		}
		item, e := newNode(r)
		if e != nil {
			return nil, e
		}
		n.items = append(n.items, item)
	}
	return n, nil
}
