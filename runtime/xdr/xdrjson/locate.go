package xdrjson

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/rpcrdma/rpcrdma/internal/jsontext"
	"github.com/rpcrdma/rpcrdma/runtime/xdr"
)

// invalid returns the error for a text whose value the type's encoder refuses with err, or nil. It
// finds the place in the text by the path in err.
func (r reader) invalid(f *form, start jsontext.Place, err error) *Error {
	var refused *xdr.Error
	switch {
	case err == nil:
		return nil
	case !errors.As(err, &refused):
		return &Error{Message: err.Error(), Err: err}
	}
	r.Return(start)
	e := &Error{Message: message(refused), Rule: refused.Rule(), Err: err}
	e.steps = r.follow(f, stepsOf(refused.Path()))
	e.Offset = r.Offset()
	slices.Reverse(e.steps)
	return e
}

// message describes the fault, as package xdr does, but without the offset in XDR.
func message(err *xdr.Error) string {
	switch err.Code {
	case xdr.CodeBound:
		return fmt.Sprintf("found length %d, expected at most %d", err.Found, err.Want)
	case xdr.CodeEnum:
		return fmt.Sprintf("found number %d, expected an enumerator", int32(uint32(err.Found)))
	case xdr.CodeEmpty:
		return "found an empty list, expected at least one element"
	}
	return err.Error()
}

// stepsOf splits the path of an [xdr.Error] into Go names of fields, and indices in brackets. The
// path begins with the package and the name of the type.
func stepsOf(path string) []string {
	path = strings.ReplaceAll(path, "[", ".[")
	steps := strings.Split(path, ".")
	return steps[min(2, len(steps)):]
}

// follow moves the reader from a value along a path, as far as it leads, and returns its steps by
// the names in the .x file. The text has been read into a value already.
func (r reader) follow(f *form, steps []string) (path []string) {
	for _, s := range steps {
		for f.nullable() {
			if r.Kind() == jsontext.Null {
				return path
			}
			if f = f.elem; f.nullable() {
				r.toKey("value")
			}
		}
		if i, err := strconv.Atoi(strings.Trim(s, "[]")); err == nil && f.elem != nil {
			if path = append(path, s); !r.toIndex(i) {
				return path
			}
			if f.key != "" {
				r.toKey(f.key)
				path = append(path, "."+f.key)
			}
			f = f.elem
			continue
		}
		i := slices.IndexFunc(f.fields, func(x field) bool { return x.goName == s })
		if i < 0 {
			return path // "..." in a long path
		}
		x := &f.fields[i]
		path = append(path, "."+x.name)
		r.toKey(keyName(f, i))
		f = x.form
	}
	return path
}

// keyName returns the key of field i in the JSON form of a struct or union.
func keyName(f *form, i int) string {
	switch {
	case f.kind == structure:
		return f.fields[i].name
	case i == f.desc.Switch:
		return "discriminant"
	}
	return "arm"
}

// toKey goes to a value in the object that is next.
func (r reader) toKey(key string) {
	for r.Open(); r.More(); r.Skip() {
		if string(r.Key()) == key {
			return
		}
	}
}

// toIndex goes to an element of the array that is next. It reports false if the array is shorter.
func (r reader) toIndex(i int) bool {
	for r.Open(); r.More(); r.Skip() {
		if i--; i < 0 {
			return true
		}
	}
	return false
}
