package xdrjson

import (
	"fmt"
	"reflect"
	"strconv"

	"github.com/rpcrdma/rpcrdma/internal/jsontext"
)

// Unmarshal reads v from its JSON form, which is all of data. It keeps no reference to data. After
// an error, v is unspecified. tag is as in [Marshal].
//
// The error is an [*Error]. Its line and column count from the start of data.
func Unmarshal(data []byte, v Value, tag string) error {
	p := reflect.ValueOf(v)
	if p.IsNil() {
		return fmt.Errorf("xdrjson: found a nil %s, expected a pointer to a value", p.Type())
	}
	value, tag := content(p.Elem(), tag)
	f, err := formOf(value.Type(), tag)
	if err != nil {
		return err
	}
	var fault *Error
	if in, err := jsontext.NewReader(data); err != nil {
		fault = &Error{Offset: err.Offset, Message: err.Message, Rule: "RFC 8259"}
	} else {
		r, start := reader{in}, in.Place()
		value.SetZero()
		if fault = r.value(f, value); fault == nil {
			_, err := v.AppendBinary(nil) // RFC 4506 §4: bounds, enumerators
			fault = r.invalid(f, start, err)
		}
	}
	if fault == nil {
		return nil
	}
	fault.Type, fault.Path = p.Type().Elem().String(), fault.path()
	fault.Line, fault.Column = jsontext.Position(data, fault.Offset)
	return fault
}

// reader is the state of one Unmarshal.
type reader struct{ *jsontext.Reader }

func (r reader) fault(off int, format string, args ...any) *Error {
	return &Error{Offset: off, Message: fmt.Sprintf(format, args...)}
}

// mismatch returns an error for a value that does not fit the type of f. The value is the next one
// in the reader.
func (r reader) mismatch(f *form, want string) *Error {
	return r.fault(r.Offset(), "found %s, expected %s for %s", r.What(), want, f.word)
}

func (r reader) value(f *form, v reflect.Value) *Error {
	switch f.kind {
	case boolean:
		return r.boolean(f, v)
	case signed, unsigned, hyper, uhyper:
		return r.integer(f, v)
	case float:
		return r.float(f, v)
	case double:
		return r.double(f, v)
	case enum:
		return r.enum(f, v)
	case fixedBytes, opaque, text:
		return r.bytes(f, v)
	case optional, pointer:
		return r.optional(f, v)
	case fixedArray, array:
		return r.array(f, v)
	case union:
		return r.union(f, v)
	}
	return r.structure(f, v)
}

// optional reads optional data into v. The data in v is absent.
func (r reader) optional(f *form, v reflect.Value) *Error {
	if r.Kind() == jsontext.Null {
		r.Literal()
		return nil
	}
	target := func() reflect.Value {
		if f.kind == optional {
			v.Field(1).SetBool(true)
			return v.Field(0)
		}
		v.Set(reflect.New(v.Type().Elem()))
		return v.Elem()
	}
	if !f.elem.nullable() {
		return r.value(f.elem, target())
	}
	const want = `null or {"value": ...}`
	if r.Kind() != jsontext.Object {
		return r.mismatch(f, want)
	}
	return r.only(f, "value", want, func() *Error { return r.value(f.elem, target()) })
}

// only reads an object with one key.
func (r reader) only(f *form, key, want string, read func() *Error) *Error {
	object := r.Place()
	wrong := func() *Error {
		r.Return(object)
		return r.mismatch(f, want)
	}
	r.Open()
	if !r.More() || string(r.Key()) != key {
		return wrong()
	}
	if e := read(); e != nil {
		return e
	}
	if r.More() {
		return wrong()
	}
	return nil
}

// array reads the elements of an array or slice.
func (r reader) array(f *form, v reflect.Value) *Error {
	if r.Kind() != jsontext.Array {
		return r.mismatch(f, "an array")
	}
	start, n := r.Offset(), 0
	for r.Open(); r.More(); n++ {
		if f.kind == array {
			v.Grow(1)
			v.SetLen(n + 1)
		} else if n == v.Len() {
			return r.fault(start, "found more than %d elements, expected %d", n, n)
		}
		if e := r.element(f, v.Index(n)); e != nil {
			return e.at("[" + strconv.Itoa(n) + "]")
		}
	}
	if n < v.Len() {
		return r.fault(start, "found %d elements, expected %d", n, v.Len())
	}
	return nil
}

// element reads an element of an array.
func (r reader) element(f *form, v reflect.Value) *Error {
	if f.key == "" {
		return r.value(f.elem, v)
	}
	want := "an object with the key " + jsontext.Quote([]byte(f.key))
	if r.Kind() != jsontext.Object {
		return r.mismatch(f, want)
	}
	return r.only(f, f.key, want, func() *Error { return r.value(f.elem, v).at("." + f.key) })
}

func (r reader) structure(f *form, v reflect.Value) *Error {
	if r.Kind() != jsontext.Object {
		return r.mismatch(f, "an object")
	}
	start := r.Offset()
	var some [32]bool
	seen := some[:]
	if len(f.fields) > len(some) {
		seen = make([]bool, len(f.fields))
	}
	next := 0
	for r.Open(); r.More(); next++ {
		off := r.Offset()
		key := r.Key()
		i := next // the usual order
		if i >= len(f.fields) || string(key) != f.fields[i].name {
			var ok bool
			if i, ok = f.index[string(key)]; !ok {
				return r.fault(off, "found the key %s, expected a field of %s", jsontext.Quote(key), f.word)
			}
		}
		if seen[i] {
			return r.twice(off, key)
		}
		seen[i] = true
		if e := r.value(f.fields[i].form, v.Field(i)); e != nil {
			return e.at("." + f.fields[i].name)
		}
	}
	if next == len(f.fields) {
		return nil
	}
	for i := range f.fields {
		if !seen[i] {
			return r.missing(start, f, &f.fields[i])
		}
	}
	return nil
}

// twice returns the error for a key that an object has twice.
func (r reader) twice(off int, key []byte) *Error {
	return r.fault(off, "found the key %s twice in one object", jsontext.Quote(key))
}

func (r reader) missing(off int, f *form, absent *field) *Error {
	note := ""
	if absent.form.nullable() {
		note = ", which is null if it is absent"
	}
	return r.fault(off, "found no key %s, expected all fields of %s%s", jsontext.Quote([]byte(absent.name)), f.word, note)
}
