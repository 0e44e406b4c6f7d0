// Package jsontext reads JSON texts (RFC 8259) with the offset of every value. It is stricter than
// encoding/json, which repairs some faults silently: it refuses invalid UTF-8 and half of a
// surrogate pair.
//
// [NewReader] checks the whole text once. After that, a Reader cannot fail: its methods only move
// through the text. It holds no tree of the text.
package jsontext

import "fmt"

// MaxDepth is the largest depth of arrays and objects in a text. It is also that of encoding/json.
const MaxDepth = 10000

// Error is a fault in a text.
type Error struct {
	Offset  int    // of the faulty bytes
	Message string // "found ..., expected ..."
}

// Error returns the fault in one line.
func (e *Error) Error() string { return fmt.Sprintf("json: offset %d: %s", e.Offset, e.Message) }
