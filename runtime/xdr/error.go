package xdr

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Code is the kind of an Error: the rule that an input or a value broke.
type Code uint8

// The codes of [Error].
const (
	CodeShort     Code = iota + 1 // input ends inside a value
	CodeTrailing                  // bytes after the value
	CodeBool                      // boolean or presence word neither 0 nor 1
	CodePadding                   // padding byte not zero
	CodeBound                     // length over the declared maximum
	CodeCount                     // count larger than the input can hold, or than the element limit
	CodeEnum                      // number that is not a value of the enum
	CodeUnion                     // discriminant without an arm
	CodeDepth                     // recursion deeper than the limit
	CodeMemory                    // memory budget used up
	CodeEmpty                     // empty list that needs an element, or selected arm that is nil
	CodeBuffer                    // output buffer full
	CodeChunk                     // data item out of line does not fit the stream
	CodeLimit                     // value larger than the limit of DecodeFrom
	CodeAttribute                 // bitmap with a number that stands for no known type
)

// The sentinels for errors.Is. Each matches every Error of its code.
var (
	ErrShort     = errors.New("xdr: input ends inside a value")
	ErrTrailing  = errors.New("xdr: bytes after the value")
	ErrBool      = errors.New("xdr: boolean is neither 0 nor 1")
	ErrPadding   = errors.New("xdr: padding is not zero")
	ErrBound     = errors.New("xdr: length over its bound")
	ErrCount     = errors.New("xdr: count larger than the input can hold")
	ErrEnum      = errors.New("xdr: number is not a value of the enum")
	ErrUnion     = errors.New("xdr: discriminant has no arm")
	ErrDepth     = errors.New("xdr: nested too deeply")
	ErrMemory    = errors.New("xdr: memory budget used up")
	ErrEmpty     = errors.New("xdr: a value is required")
	ErrBuffer    = errors.New("xdr: output buffer is full")
	ErrChunk     = errors.New("xdr: item out of line does not fit the stream")
	ErrLimit     = errors.New("xdr: value is larger than the limit")
	ErrAttribute = errors.New("xdr: attribute is not known")
)

// rules has the sentinel of each code, and the rule that it stands for.
var rules = [...]struct {
	err  error
	rule string
}{
	CodeShort:     {ErrShort, "RFC 4506 §3"},
	CodeTrailing:  {ErrTrailing, "a message is one value"},
	CodeBool:      {ErrBool, "RFC 4506 §4.4"},
	CodePadding:   {ErrPadding, "RFC 4506 §3"},
	CodeBound:     {ErrBound, "RFC 4506 §4.10"},
	CodeCount:     {ErrCount, "RFC 4506 §4.13"},
	CodeEnum:      {ErrEnum, "RFC 4506 §4.3"},
	CodeUnion:     {ErrUnion, "RFC 4506 §4.15"},
	CodeDepth:     {ErrDepth, "Limits.MaxDepth"},
	CodeMemory:    {ErrMemory, "Limits.MaxMemory"},
	CodeEmpty:     {ErrEmpty, "RFC 4506 §4.15, §4.19"},
	CodeBuffer:    {ErrBuffer, "Encoder.NoGrow"},
	CodeChunk:     {ErrChunk, "RFC 8166 §3.4"},
	CodeLimit:     {ErrLimit, "limit of DecodeFrom"},
	CodeAttribute: {ErrAttribute, "types of the attributes"},
}

// Error says why an encoder or decoder refused a value: the place, the number found, the number
// expected, and the rule.
type Error struct {
	Code Code

	Offset int    // of the offending bytes: in the input (decode) or the output (encode)
	Found  uint64 // the length, count or number found
	Want   uint64 // the limit it broke, if the rule has one

	errorState
}

// errorState is the state of an Error that package codec works on; see state.go.
type errorState struct{ Trace trace }

// maxSteps is the number of path steps that an Error keeps: the outermost, and those next to the
// fault. The first nearSteps need no separate memory, because an Error may have to be made for
// every message of a peer.
const (
	maxSteps  = 8
	nearSteps = 2
)

// trace is the path to a fault, step by step from the inside.
type trace struct {
	steps uint32 // in all, including those that are not kept
	near  [nearSteps]step
	far   *[maxSteps - nearSteps]step
}

// step is the part of a path that one function knows: fields, with "[]" for each index. If the path
// begins at a type, the type's name and a colon precede the fields.
type step struct {
	path  string
	index [2]uint32
}

// Add adds a step outside of those that are there. A function that knows no part of the path adds
// none.
func (t *trace) Add(path string, index []int) {
	if path == "" {
		return
	}
	if i := min(int(t.steps), maxSteps-1); i < nearSteps {
		t.near[i].set(path, index)
	} else {
		if t.far == nil {
			t.far = new([maxSteps - nearSteps]step)
		}
		t.far[i-nearSteps].set(path, index)
	}
	t.steps++
}

func (s *step) set(path string, index []int) {
	s.path = path
	for i := range s.index[:min(len(index), len(s.index))] {
		s.index[i] = uint32(index[i])
	}
}

// Path returns where in the value the fault is, such as
// "rpcrdma1.Message.Body.Msg.Writes[3].Target". If the path has more than eight steps, "..."
// replaces those between the first and the last seven.
func (err *Error) Path() string {
	t := &err.Trace
	n := int(t.steps)
	kept := t.near[:min(n, nearSteps)]
	if n > nearSteps {
		kept = slices.Concat(kept, t.far[:min(n, maxSteps)-nearSteps])
	}
	var s strings.Builder
	for i := len(kept) - 1; i >= 0; i-- {
		root, fields, typed := strings.Cut(kept[i].path, ":")
		if !typed {
			root, fields = "", root
		}
		if i == len(kept)-1 {
			s.WriteString(root)
		}
		if fields != "" && fields[0] != '[' && s.Len() > 0 {
			s.WriteByte('.')
		}
		for _, x := range kept[i].index {
			before, after, found := strings.Cut(fields, "[]")
			if !found {
				break
			}
			fmt.Fprintf(&s, "%s[%d]", before, x)
			fields = after
		}
		s.WriteString(fields)
		if i == len(kept)-1 && n > maxSteps {
			s.WriteString("...")
		}
	}
	return s.String()
}

// Rule returns the name of the rule that was broken: a section of RFC 4506 or a limit.
func (err *Error) Rule() string { return rules[err.Code].rule }

// Is reports whether target is the sentinel of err's code.
func (err *Error) Is(target error) bool { return rules[err.Code].err == target }

// Error returns the fault in one line.
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
		what = fmt.Sprintf("%d is not a value of the enum", int32(uint32(err.Found)))
	case CodeUnion:
		what = fmt.Sprintf("discriminant %d has no arm", int32(uint32(err.Found)))
	case CodeDepth:
		what = fmt.Sprintf("nested deeper than %d", err.Want)
	case CodeMemory:
		what = fmt.Sprintf("%d bytes of memory wanted, %d left in the budget", err.Found, err.Want)
	case CodeEmpty:
		what = "a value is required, found a nil pointer or an empty list"
	case CodeBuffer:
		what = fmt.Sprintf("%d bytes to write, room for %d", err.Found, err.Want)
	case CodeChunk:
		what = fmt.Sprintf("item out of line has %d bytes, the stream says %d", err.Found, err.Want)
	case CodeAttribute:
		what = fmt.Sprintf("attribute %d is not known, so its values do not decode", err.Found)
	case CodeLimit:
		what = fmt.Sprintf("the value has %d bytes or more, the limit is %d", err.Found, err.Want)
	}
	path := err.Path()
	if path != "" {
		path += ": "
	}
	return fmt.Sprintf("xdr: %soffset %d: %s (%s)", path, err.Offset, what, err.Rule())
}
