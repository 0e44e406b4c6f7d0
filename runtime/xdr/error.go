package xdr

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Code says which rule an input or a value broke.
type Code uint8

// The codes of [Error].
const (
	CodeShort    Code = iota + 1 // input ends inside a value
	CodeTrailing                 // bytes after the value
	CodeBool                     // boolean or presence word neither 0 nor 1
	CodePadding                  // padding byte not zero
	CodeBound                    // length over the declared maximum
	CodeCount                    // count larger than the input can hold, or than the element limit
	CodeEnum                     // number that is no enumerator
	CodeUnion                    // discriminant without an arm
	CodeDepth                    // recursion deeper than the limit
	CodeMemory                   // memory budget used up
	CodeEmpty                    // list that must have an element has none
	CodeBuffer                   // output buffer full
	CodeChunk                    // data item out of line does not fit the stream
)

// Sentinels for errors.Is: each matches every Error of its code.
var (
	ErrShort    = errors.New("xdr: input ends inside a value")
	ErrTrailing = errors.New("xdr: bytes after the value")
	ErrBool     = errors.New("xdr: boolean is neither 0 nor 1")
	ErrPadding  = errors.New("xdr: padding is not zero")
	ErrBound    = errors.New("xdr: length over its bound")
	ErrCount    = errors.New("xdr: count larger than the input can hold")
	ErrEnum     = errors.New("xdr: number is no enumerator")
	ErrUnion    = errors.New("xdr: discriminant has no arm")
	ErrDepth    = errors.New("xdr: nested too deeply")
	ErrMemory   = errors.New("xdr: memory budget used up")
	ErrEmpty    = errors.New("xdr: list must not be empty")
	ErrBuffer   = errors.New("xdr: output buffer is full")
	ErrChunk    = errors.New("xdr: item out of line does not fit the stream")
)

// rules gives each code its sentinel and the rule it stands for.
var rules = [...]struct {
	err  error
	rule string
}{
	CodeShort:    {ErrShort, "RFC 4506 §3"},
	CodeTrailing: {ErrTrailing, "a message is one value"},
	CodeBool:     {ErrBool, "RFC 4506 §4.4"},
	CodePadding:  {ErrPadding, "RFC 4506 §3"},
	CodeBound:    {ErrBound, "RFC 4506 §4.10"},
	CodeCount:    {ErrCount, "RFC 4506 §4.13"},
	CodeEnum:     {ErrEnum, "RFC 4506 §4.3"},
	CodeUnion:    {ErrUnion, "RFC 4506 §4.15"},
	CodeDepth:    {ErrDepth, "Limits.MaxDepth"},
	CodeMemory:   {ErrMemory, "Limits.MaxMemory"},
	CodeEmpty:    {ErrEmpty, "RFC 4506 §4.19"},
	CodeBuffer:   {ErrBuffer, "Encoder.NoGrow"},
	CodeChunk:    {ErrChunk, "RFC 8166 §3.4"},
}

// maxPath is how many steps of a path an Error keeps, innermost first.
const maxPath = 8

// step is one part of a path: a field, and an index into it or -1.
type step struct {
	name  string
	index int
}

// Error is what an encoder or decoder refuses: where, what was found, what
// was expected, and by which rule. One is built where the fault is; the
// callers on the way out add only their part of the path.
type Error struct {
	Code   Code
	Offset int    // of the offending bytes: in the input (decode) or the output (encode)
	Found  uint64 // what stood there: a length, a count, a number
	Want   uint64 // the limit it broke, where the rule has one

	root  string // set by Of
	outer string // the outermost step's name
	steps int
	path  [maxPath]step
}

// In returns err after adding the field that holds what failed. What stands
// before a colon in field is the type that it is a field of: shown only where
// the path begins. For generated code.
func (err *Error) In(field string) *Error { return err.At(field, -1) }

// At is In for element index of a field. For generated code.
//
//go:noinline
func (err *Error) At(field string, index int) *Error {
	if err.steps < maxPath {
		err.path[err.steps] = step{field, index}
	}
	err.outer = field
	err.steps++
	return err
}

// Of returns err after naming what the path begins at, where no step does.
func (err *Error) Of(root string) error {
	err.root = root
	return err
}

// Path is where in the value the fault is, such as
// "rpcrdma1.Message.Body.Msg.Writes[3].Target". Steps beyond the innermost
// eight are shown as "...".
func (err *Error) Path() string {
	root, _, _ := strings.Cut(err.outer, ":")
	if !strings.Contains(err.outer, ":") {
		root = err.root
	}
	s := root
	n := err.steps
	if n > maxPath {
		s += "..."
		n = maxPath
	}
	for i := n - 1; i >= 0; i-- {
		st := err.path[i]
		if _, field, ok := strings.Cut(st.name, ":"); ok {
			st.name = field
		}
		if st.name != "" && s != "" {
			s += "."
		}
		s += st.name
		if st.index >= 0 {
			s += "[" + strconv.Itoa(st.index) + "]"
		}
	}
	return s
}

// Rule names the rule that was broken: a section of RFC 4506 or a limit.
func (err *Error) Rule() string { return rules[err.Code].rule }

// Is reports whether target is the sentinel of err's code.
func (err *Error) Is(target error) bool { return rules[err.Code].err == target }

// Error renders the fault in one line.
func (err *Error) Error() string {
	var what string
	switch err.Code {
	case CodeShort:
		what = fmt.Sprintf("%d bytes left, %d needed", err.Found, err.Want)
	case CodeTrailing:
		what = fmt.Sprintf("%d bytes after the value, none expected", err.Found)
	case CodeBool:
		what = fmt.Sprintf("boolean or presence word is %d, expected 0 or 1", err.Found)
	case CodePadding:
		what = fmt.Sprintf("padding is %#x, expected zero", err.Found)
	case CodeBound:
		what = fmt.Sprintf("length %d is over its bound %d", err.Found, err.Want)
	case CodeCount:
		what = fmt.Sprintf("count %d is larger than the %d that can be there", err.Found, err.Want)
	case CodeEnum:
		what = fmt.Sprintf("%d is no enumerator", int32(uint32(err.Found)))
	case CodeUnion:
		what = fmt.Sprintf("discriminant %d has no arm", int32(uint32(err.Found)))
	case CodeDepth:
		what = fmt.Sprintf("nested deeper than %d", err.Want)
	case CodeMemory:
		what = fmt.Sprintf("%d bytes of memory wanted, %d left in the budget", err.Found, err.Want)
	case CodeEmpty:
		what = "the list is empty, at least one element is required"
	case CodeBuffer:
		what = fmt.Sprintf("%d bytes to write, room for %d", err.Found, err.Want)
	case CodeChunk:
		what = fmt.Sprintf("item out of line has %d bytes, the stream says %d", err.Found, err.Want)
	}
	path := err.Path()
	if path != "" {
		path += ": "
	}
	return fmt.Sprintf("xdr: %soffset %d: %s (%s)", path, err.Offset, what, err.Rule())
}

// Fail builds an Error. For generated code; path is the field, from the
// nearest element or type. It is kept out of line, as all that builds errors
// is: the codecs stay small.
//
//go:noinline
func Fail(code Code, offset int, found, want uint64, path string) *Error {
	e := &Error{Code: code, Offset: offset, Found: found, Want: want}
	return e.In(path)
}

// Short is Fail for input b that ends before the need bytes at off.
//
//go:noinline
func Short(b []byte, off, need int, path string) *Error {
	return Fail(CodeShort, off, uint64(len(b)-off), uint64(need), path)
}
