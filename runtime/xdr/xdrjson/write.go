package xdrjson

import (
	"encoding/hex"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"unicode/utf8"

	"github.com/rpcrdma/rpcrdma/internal/jsontext"
)

// Marshal returns the JSON form of v on one line. It refuses a value that EncodeXDR refuses, with
// the same error, and a value with a cycle of pointers. tag is the tag of a field that has v's
// type; only types that are not structs in Go need one.
func Marshal(v Value, tag string) ([]byte, error) {
	p := reflect.ValueOf(v)
	if p.IsNil() {
		return nil, fmt.Errorf("xdrjson: found a nil %s, expected a value", p.Type())
	}
	value, tag := content(p.Elem(), tag)
	f, err := formOf(value.Type(), tag)
	if err != nil {
		return nil, err
	}
	w := writer{}
	if !w.value(f, value) {
		return nil, &Error{
			Type:    p.Type().Elem().String(),
			Message: fmt.Sprintf("found a value nested deeper than %d in JSON, or a cycle of pointers, expected at most that", jsontext.MaxDepth),
		}
	}
	// The encoder ends: the value nests no deeper than MaxDepth.
	if _, err := v.AppendBinary(w.out[len(w.out):]); err != nil {
		return nil, err
	}
	return w.out, nil
}

// writer is the state of one Marshal. Its methods report false if the value nests too deep. What
// they write for other invalid values does not matter: the type's encoder refuses them.
type writer struct {
	out   []byte
	depth int // of arrays and objects
}

// enter counts n levels of arrays and objects, until leave.
func (w *writer) enter(n int) bool {
	w.depth += n
	return w.depth <= jsontext.MaxDepth
}

func (w *writer) leave(n int) bool {
	w.depth -= n
	return true
}

func (w *writer) value(f *form, v reflect.Value) bool {
	switch f.kind {
	case boolean:
		w.out = strconv.AppendBool(w.out, v.Bool())
	case signed:
		w.out = strconv.AppendInt(w.out, v.Int(), 10)
	case unsigned:
		w.out = strconv.AppendUint(w.out, v.Uint(), 10)
	case hyper:
		w.out = append(strconv.AppendInt(append(w.out, '"'), v.Int(), 10), '"')
	case uhyper:
		w.out = append(strconv.AppendUint(append(w.out, '"'), v.Uint(), 10), '"')
	case float:
		f := *number[float32](v)
		w.float(float64(f), 32, uint64(math.Float32bits(f)), nan32)
	case double:
		f := *number[float64](v)
		w.float(f, 64, math.Float64bits(f), nan64)
	case enum:
		w.enum(f, v)
	case fixedBytes, opaque:
		w.hex(v.Bytes())
	case text:
		w.text(v.Bytes())
	case optional:
		if !v.Field(1).Bool() {
			w.out = append(w.out, "null"...)
			return true
		}
		return w.present(f, v.Field(0))
	case pointer:
		if v.IsNil() {
			w.out = append(w.out, "null"...)
			return true
		}
		return w.present(f, v.Elem())
	case structure:
		return w.enter(1) && w.structure(f, v) && w.leave(1)
	case union:
		return w.enter(1) && w.union(f, v) && w.leave(1)
	default:
		return w.array(f, v)
	}
	return true
}

func (w *writer) enum(f *form, v reflect.Value) {
	if name, ok := f.enum.Member(int32(v.Int())); ok {
		w.out = append(append(append(w.out, '"'), name...), '"')
		return
	}
	w.out = strconv.AppendInt(w.out, v.Int(), 10)
}

func (w *writer) hex(data []byte) {
	w.out = append(hex.AppendEncode(append(w.out, '"'), data), '"')
}

func (w *writer) text(data []byte) {
	if utf8.Valid(data) {
		w.out = jsontext.AppendString(w.out, data)
		return
	}
	w.out = append(w.out, `{"hex":`...)
	w.hex(data)
	w.out = append(w.out, '}')
}

// The bits of the NaN that is written without its bits.
const (
	nan32 = 0x7fc00000
	nan64 = 0x7ff8000000000000
)

func (w *writer) float(f float64, size int, bits, nan uint64) {
	switch {
	case math.IsInf(f, 1):
		w.out = append(w.out, `"Infinity"`...)
	case math.IsInf(f, -1):
		w.out = append(w.out, `"-Infinity"`...)
	case math.IsNaN(f) && bits == nan:
		w.out = append(w.out, `"NaN"`...)
	case math.IsNaN(f):
		w.out = fmt.Appendf(w.out, `"NaN:%0*x"`, size/4, bits)
	default:
		w.out = strconv.AppendFloat(w.out, f, 'g', -1, size)
	}
}

// present writes optional data that are present.
func (w *writer) present(f *form, v reflect.Value) bool {
	if !f.elem.nullable() {
		return w.value(f.elem, v)
	}
	w.out = append(w.out, `{"value":`...)
	ok := w.enter(1) && w.value(f.elem, v) && w.leave(1)
	w.out = append(w.out, '}')
	return ok
}

func (w *writer) array(f *form, v reflect.Value) bool {
	levels := 1
	if f.key != "" {
		levels = 2
	}
	if !w.enter(levels) {
		return false
	}
	w.out = append(w.out, '[')
	for i := range v.Len() {
		if i > 0 {
			w.out = append(w.out, ',')
		}
		w.out = append(w.out, f.open...)
		if !w.value(f.elem, v.Index(i)) {
			return false
		}
		if f.key != "" {
			w.out = append(w.out, '}')
		}
	}
	w.out = append(w.out, ']')
	return w.leave(levels)
}

func (w *writer) structure(f *form, v reflect.Value) bool {
	for i := range f.fields {
		w.out = append(w.out, f.fields[i].key...)
		if !w.value(f.fields[i].form, v.Field(i)) {
			return false
		}
	}
	if len(f.fields) == 0 {
		w.out = append(w.out, '{')
	}
	w.out = append(w.out, '}')
	return true
}

func (w *writer) union(f *form, v reflect.Value) bool {
	w.out = append(w.out, `{"discriminant":`...)
	disc := v.Field(f.desc.Switch)
	w.value(f.fields[f.desc.Switch].form, disc)
	if i, ok := f.desc.Arm(word(disc)); ok && i >= 0 {
		arm := v.Field(i)
		if f.fields[i].pointer {
			arm = arm.Elem()
		}
		w.out = append(w.out, `,"arm":`...)
		if arm.IsValid() && !w.value(f.fields[i].form, arm) {
			return false
		}
	}
	w.out = append(w.out, '}')
	return true
}
