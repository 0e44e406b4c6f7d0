package xdrjson

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"

	"github.com/rpcrdma/rpcrdma/internal/jsontext"
)

func (r reader) boolean(f *form, v reflect.Value) *Error {
	switch r.Kind() {
	case jsontext.True:
		v.SetBool(true)
	case jsontext.False:
	default:
		return r.mismatch(f, "true or false")
	}
	r.Literal()
	return nil
}

// integer reads a number, or a string of digits if it has 64 bits.
func (r reader) integer(f *form, v reflect.Value) *Error {
	start := r.Place()
	var digits []byte
	switch k := r.Kind(); {
	case k == jsontext.Number:
		digits = r.Literal()
	case k != jsontext.String:
		return r.mismatch(f, "an integer")
	case f.kind == signed || f.kind == unsigned:
		return r.mismatch(f, "a number")
	default:
		digits = r.Text()
	}
	var err error
	if f.kind == signed || f.kind == hyper {
		var n int64
		n, err = strconv.ParseInt(string(digits), 10, v.Type().Bits())
		v.SetInt(n)
	} else {
		var n uint64
		n, err = strconv.ParseUint(string(digits), 10, v.Type().Bits())
		v.SetUint(n)
	}
	if err != nil {
		r.Return(start)
		return r.mismatch(f, "an integer in range")
	}
	return nil
}

func (r reader) float(f *form, v reflect.Value) *Error {
	bits, e := r.bits(f, 32)
	*number[float32](v) = math.Float32frombits(uint32(bits))
	return e
}

func (r reader) double(f *form, v reflect.Value) *Error {
	bits, e := r.bits(f, 64)
	*number[float64](v) = math.Float64frombits(bits)
	return e
}

// bits reads a floating-point number of size bits.
func (r reader) bits(f *form, size int) (uint64, *Error) {
	start := r.Place()
	var x float64
	var err error
	want := "a number in range"
	switch r.Kind() {
	case jsontext.Number:
		x, err = strconv.ParseFloat(string(r.Literal()), size)
	case jsontext.String:
		s := string(r.Text())
		if digits, ok := strings.CutPrefix(s, "NaN:"); ok {
			n, err := strconv.ParseUint(digits, 16, size)
			if err == nil && isNaN(n, size) {
				return n, nil
			}
		}
		switch s {
		case "NaN":
			return map[int]uint64{32: nan32, 64: nan64}[size], nil
		case "Infinity":
			x = math.Inf(1)
		case "-Infinity":
			x = math.Inf(-1)
		default:
			err = strconv.ErrSyntax
			want = fmt.Sprintf(`a number, "NaN", "Infinity", "-Infinity", or "NaN:" and the bits of one in %d hex digits`, size/4)
		}
	default:
		return 0, r.mismatch(f, "a number")
	}
	if err != nil {
		r.Return(start)
		return 0, r.mismatch(f, want)
	}
	if size == 32 {
		return uint64(math.Float32bits(float32(x))), nil
	}
	return math.Float64bits(x), nil
}

func isNaN(bits uint64, size int) bool {
	if size == 32 {
		return math.IsNaN(float64(math.Float32frombits(uint32(bits))))
	}
	return math.IsNaN(math.Float64frombits(bits))
}

// enum reads the name of a member, or a number. The type's encoder refuses numbers that no member
// has, unless the enum is open.
func (r reader) enum(f *form, v reflect.Value) *Error {
	start := r.Place()
	switch r.Kind() {
	case jsontext.String:
		if n, ok := f.names[string(r.Text())]; ok {
			v.SetInt(int64(n))
			return nil
		}
		r.Return(start)
	case jsontext.Number:
		n, err := strconv.ParseInt(string(r.Literal()), 10, 32)
		if err == nil {
			v.SetInt(n)
			return nil
		}
		r.Return(start)
	}
	return r.mismatch(f, "the name of a member")
}

// bytes reads opaque data or a string: a JSON string in the usual form of the type, or an object
// whose only key names the form.
func (r reader) bytes(f *form, v reflect.Value) *Error {
	start := r.Place()
	how, want := "hex", "a string of hex digits, two per byte,"
	if f.kind == text {
		how, want = "text", `a string, or {"hex": "..."},`
	}
	object := r.Kind() == jsontext.Object
	if object {
		if r.Open(); r.More() {
			how = string(r.Key())
		} else {
			how = ""
		}
	}
	var data []byte
	ok := how != "" && r.Kind() == jsontext.String
	if ok {
		data, ok = decode(how, r.Text())
	}
	if !ok || object && r.More() {
		r.Return(start)
		return r.mismatch(f, want)
	}
	if f.kind != fixedBytes {
		v.SetBytes(data)
		return nil
	}
	if len(data) != v.Len() {
		r.Return(start)
		e := r.fault(r.Offset(), "found %d bytes, expected %d", len(data), v.Len())
		e.Rule = "RFC 4506 §4.9"
		return e
	}
	reflect.Copy(v, reflect.ValueOf(data))
	return nil
}

// decode decodes a string in the given form.
func decode(how string, s []byte) ([]byte, bool) {
	switch how {
	case "text":
		return append(make([]byte, 0, len(s)), s...), true
	case "hex":
		data, err := hex.AppendDecode(make([]byte, 0, len(s)/2), s)
		return data, err == nil
	case "base64":
		data, err := base64.StdEncoding.AppendDecode(nil, s)
		return data, err == nil
	}
	return nil, false
}
