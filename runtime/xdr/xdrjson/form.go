package xdrjson

import (
	"fmt"
	"reflect"
	"sync"

	"github.com/rpcrdma/rpcrdma/internal/jsontext"
	"github.com/rpcrdma/rpcrdma/runtime/xdr/codec"
	"github.com/rpcrdma/rpcrdma/runtime/xdr/internal/describe"
)

// kind is a form that values have in JSON.
type kind uint8

const (
	boolean kind = iota + 1
	signed
	unsigned
	hyper // signed, 64 bits
	uhyper
	float
	double
	enum
	fixedBytes
	opaque
	text
	fixedArray
	array
	optional // xdr.Optional
	pointer  // optional data behind a pointer
	structure
	union
)

// form is the JSON form of a Go type's values at some place.
type form struct {
	kind   kind
	word   string  // the type in messages
	elem   *form   // arrays, and optional data
	key    string  // array: the key of the one field of the elements; empty if they are not objects
	open   []byte  // array with key: the beginning of an element in JSON
	fields []field // struct, union: in the order of the Go fields

	enum  *codec.Enum      // enum
	names map[string]int32 // enum: members by name
	desc  *describe.Struct // union
	index map[string]int   // struct: fields by name
}

// field is a field of a struct, or the discriminant or an arm of a union.
type field struct {
	name    string // in XDR
	goName  string
	key     []byte // the name as JSON, and a colon
	pointer bool   // the arm is behind a pointer
	form    *form
}

// nullable reports whether a value can be null.
func (f *form) nullable() bool { return f.kind == optional || f.kind == pointer }

// content returns the value to convert, and its tag: v, or the field of v if v is the struct for a
// typedef of a pointer.
func content(v reflect.Value, tag string) (reflect.Value, string) {
	if v.Kind() == reflect.Struct && describe.Of(v.Type()).Whole {
		return v.Field(0), v.Type().Field(0).Tag.Get("xdr")
	}
	return v, tag
}

// formOf returns the form of a type. tag describes it as the tag of a field would, if it is not a
// struct.
func formOf(t reflect.Type, tag string) (*form, error) {
	key := formKey{t, tag}
	if t.Kind() == reflect.Struct && !describe.Of(t).Optional {
		key.tag = "" // its fields have tags
	}
	if f, ok := forms.Load(key); ok {
		return f.(*form), nil
	}
	b := builder{}
	parsed := describe.Parse(key.tag)
	f, err := b.form(t, &parsed, 0)
	if err != nil {
		return nil, err
	}
	forms.Store(key, f)
	return f, nil
}

// forms holds a *form for each formKey.
var forms sync.Map

type formKey struct {
	typ reflect.Type
	tag string
}

// builder has the structs of a form that is being built.
type builder map[reflect.Type]*form

// form builds the form of a type at a place that tag describes, level sequences deep.
func (b builder) form(t reflect.Type, tag *describe.Tag, level int) (*form, error) {
	switch t.Kind() {
	case reflect.Bool:
		return &form{kind: boolean, word: "bool"}, nil
	case reflect.Int32:
		return integer32(t)
	case reflect.Uint32:
		return &form{kind: unsigned, word: "unsigned int"}, nil
	case reflect.Int64:
		return &form{kind: hyper, word: "hyper"}, nil
	case reflect.Uint64:
		return &form{kind: uhyper, word: "unsigned hyper"}, nil
	case reflect.Float32:
		return &form{kind: float, word: "float"}, nil
	case reflect.Float64:
		return &form{kind: double, word: "double"}, nil
	case reflect.Slice, reflect.Array:
		return b.sequence(t, tag, level)
	case reflect.Pointer:
		elem, err := b.form(t.Elem(), tag, level)
		return &form{kind: pointer, word: "optional data", elem: elem}, err
	case reflect.Struct:
		if describe.Of(t).Optional {
			elem, err := b.form(t.Field(0).Type, tag, level)
			return &form{kind: optional, word: "optional data", elem: elem}, err
		}
		return b.structure(t)
	}
	return nil, fmt.Errorf("xdrjson: found Go type %s, expected one that xdrgen generates", t)
}

// integer32 returns the form of an enum or another number type of 32 bits.
func integer32(t reflect.Type) (*form, error) {
	switch v := reflect.Zero(t).Interface().(type) {
	case interface{ XDREnum() *codec.Enum }:
		e := v.XDREnum()
		return &form{kind: enum, word: "enum " + e.Name, enum: e, names: e.ByName()}, nil
	case interface{ Valid() bool }:
		return nil, fmt.Errorf("xdrjson: found enum %s without names, expected its package to be generated with json or string (xdrgen gen -with)", t)
	}
	return &form{kind: signed, word: "int"}, nil
}

func (b builder) sequence(t reflect.Type, tag *describe.Tag, level int) (*form, error) {
	variable := t.Kind() == reflect.Slice
	switch bytes := t.Elem().Kind() == reflect.Uint8; {
	case bytes && !variable:
		return &form{kind: fixedBytes, word: fmt.Sprintf("opaque[%d]", t.Len())}, nil
	case bytes && tag.Text:
		return &form{kind: text, word: "string"}, nil
	case bytes:
		return &form{kind: opaque, word: "opaque"}, nil
	}
	elem, err := b.form(t.Elem(), tag, level+1)
	if err != nil {
		return nil, err
	}
	if !variable {
		return &form{kind: fixedArray, word: t.String(), elem: elem}, nil
	}
	f := &form{kind: array, word: t.String(), elem: elem, key: tag.Node(level)}
	if f.key != "" {
		f.open = keyOf('{', f.key)
	}
	return f, nil
}

// keyOf returns the key of an object in JSON with the bracket or comma before it and the colon.
func keyOf(before byte, name string) []byte {
	return append(jsontext.AppendString([]byte{before}, []byte(name)), ':')
}

func (b builder) structure(t reflect.Type) (*form, error) {
	if f := b[t]; f != nil {
		return f, nil
	}
	f := &form{kind: structure, word: t.String(), desc: describe.Of(t), index: map[string]int{}}
	if f.desc.Switch >= 0 {
		f.kind = union
	}
	b[t] = f
	for i := range f.desc.Fields {
		tag := &f.desc.Fields[i]
		typ := t.Field(i).Type
		if tag.Pointer && typ.Kind() == reflect.Pointer {
			typ = typ.Elem()
		}
		inner, err := b.form(typ, tag, 0)
		if err != nil {
			return nil, err
		}
		before := byte(',')
		if i == 0 {
			before = '{'
		}
		f.index[tag.Name] = i
		f.fields = append(f.fields, field{
			name: tag.Name, goName: t.Field(i).Name, key: keyOf(before, tag.Name), pointer: tag.Pointer, form: inner,
		})
	}
	return f, nil
}
