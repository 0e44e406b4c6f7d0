package xdrjson

import (
	"fmt"
	"slices"
	"strings"
)

// Error says why a JSON text or a value was refused: the place, the value found, and the value
// expected.
type Error struct {
	Type    string // Go type of the value: "nfs3.ReadRes"
	Path    string // by the names in the .x file: "resok.names[3]"; empty for the value itself
	Offset  int    // of the fault in the text, in bytes
	Line    int    // of the fault in the text, from 1; 0 if there is no text
	Column  int    // in characters, from 1
	Message string // "found ..., expected ..."
	Rule    string // the rule that was broken, if it is not the JSON form: "RFC 4506 §4.10"
	Err     error  // the error of the type's encoder, if that refused the value

	steps []string // of Path, the innermost first
}

// Error returns the fault in one line.
func (e *Error) Error() string {
	var s strings.Builder
	s.WriteString("xdrjson: " + e.Type + ": ")
	if e.Path != "" {
		s.WriteString(e.Path + ": ")
	}
	if e.Line > 0 {
		fmt.Fprintf(&s, "line %d, column %d: ", e.Line, e.Column)
	}
	rule := e.Rule
	if rule == "" {
		rule = "xdrgen help json"
	}
	return s.String() + e.Message + " (" + rule + ")"
}

// Unwrap returns the error of the type's encoder, or nil.
func (e *Error) Unwrap() error { return e.Err }

// at adds the step that leads to the fault.
func (e *Error) at(step string) *Error {
	if e != nil {
		e.steps = append(e.steps, step)
	}
	return e
}

// maxSteps is the number of steps that are shown at either end of a path.
const maxSteps = 8

// path joins the steps. If there are many, "..." replaces those in the middle.
func (e *Error) path() string {
	steps := e.steps
	slices.Reverse(steps)
	if n := len(steps); n > 2*maxSteps {
		steps = slices.Concat(steps[:maxSteps], []string{"..."}, steps[n-maxSteps:])
	}
	return strings.ReplaceAll(strings.TrimPrefix(strings.Join(steps, ""), "."), "....", "...")
}
