package xdrjson

import (
	"encoding"
	"reflect"

	"github.com/rpcrdma/rpcrdma/runtime/xdr"
)

// Value is implemented by the pointer to every generated type.
type Value interface {
	xdr.Value
	encoding.BinaryAppender
}

// number returns a pointer to the float in v, without a conversion that would change the bits of
// a NaN.
func number[T float32 | float64](v reflect.Value) *T {
	return v.Addr().Convert(reflect.TypeFor[*T]()).Interface().(*T)
}

// word returns the discriminant of a union in v as the number that selects an arm.
func word(v reflect.Value) int64 {
	switch v.Kind() {
	case reflect.Bool:
		if v.Bool() {
			return 1
		}
		return 0
	case reflect.Uint32:
		return int64(v.Uint())
	}
	return v.Int()
}
