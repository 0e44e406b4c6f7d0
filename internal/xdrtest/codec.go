package xdrtest

import (
	"encoding"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/rpcrdma/rpcrdma/runtime/xdr"
)

// Codec has the methods of a pointer to a generated type T.
type Codec[T any] interface {
	*T
	xdr.Value
	encoding.BinaryAppender
	encoding.BinaryMarshaler
	encoding.BinaryUnmarshaler
}

// checker has the methods of a pointer to a type that was generated with views.
type checker interface {
	xdr.Checkable
	CheckXDR([]byte) (int, error)
}

// sample is a value with its bytes.
type sample[T any] struct {
	name  string
	bytes []byte
	want  T
}

// nameOf returns the Go name of T, as in the type line of a vector.
func nameOf[T any]() string { return reflect.TypeFor[T]().Name() }

// Run compares the codec of T with its vectors. wants has their values by the names of the vectors.
// There must be a value for each vector, and a vector for each value.
func Run[T any, P Codec[T]](t *testing.T, all []Vector, wants map[string]T) {
	t.Helper()
	samples := join(t, OfType(all, nameOf[T]()), wants)
	for _, s := range samples {
		t.Run(s.name, func(t *testing.T) {
			for _, c := range checks[T, P]() {
				if err := c.run(s); err != nil {
					t.Errorf("%s: %v", c.name, err)
				}
			}
			for _, before := range samples {
				if err := reused[T, P](before, s); err != nil {
					t.Errorf("after %s: %v", before.name, err)
				}
			}
		})
	}
}

// join pairs vectors and values by name.
func join[T any](t testing.TB, vectors []Vector, wants map[string]T) []sample[T] {
	t.Helper()
	var samples []sample[T]
	for _, v := range vectors {
		want, ok := wants[v.Name]
		if !ok {
			t.Errorf("%s: the test has no value for it", v.Name)
			continue
		}
		samples = append(samples, sample[T]{v.Name, v.Bytes, want})
	}
	if len(samples) < len(wants) {
		t.Errorf("%d values of type %s, but only %d vectors have one", len(wants), nameOf[T](), len(samples))
	}
	return samples
}

// check tests one property of a codec on one sample.
type check[T any] struct {
	name string
	run  func(sample[T]) error
}

func checks[T any, P Codec[T]]() []check[T] {
	return []check[T]{
		{"decode", decodes[T, P]},
		{"encode", encodes[T, P]},
		{"truncated", truncated[T, P]},
		{"trailing", trailing[T, P]},
		{"memory of the input", owned[T, P]},
		{"words replaced", mutated[T, P]},
		{"allocations", allocations[T, P]},
	}
}

// diff returns the difference of two decoded values. A reused value keeps memory: nil and empty
// slices are equal, and so are a nil pointer of want and one of got to an empty value, which is the
// arm of a union that an earlier input selected.
func diff[T any](want, got *T) string {
	return cmp.Diff(want, got, cmpopts.EquateEmpty(), cmp.FilterPath(keptArm, cmp.Ignore()))
}

// keptArm reports whether a path leads to a pointer that is nil in the first value, and that leads
// to an empty value in the second.
func keptArm(p cmp.Path) bool {
	want, got := p.Last().Values()
	return want.Kind() == reflect.Pointer && got.Kind() == reflect.Pointer && want.IsNil() && !got.IsNil() && empty(got.Elem())
}

// empty reports whether v is zero but for memory that it keeps.
func empty(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Slice:
		return v.Len() == 0
	case reflect.Pointer:
		return v.IsNil() || empty(v.Elem())
	case reflect.Struct:
		for i := range v.NumField() {
			if !empty(v.Field(i)) {
				return false
			}
		}
		return true
	}
	return v.IsZero()
}

// alias has the options of the mode that the transport uses.
func alias() *xdr.DecoderOptions { return &xdr.DecoderOptions{Alias: true} }

// lenient has the options that accept every input that an option can accept.
func lenient() *xdr.DecoderOptions {
	return &xdr.DecoderOptions{Lenient: xdr.Lenient{Padding: true, Booleans: true, Enums: true, Trailing: true}}
}

// modes has the options of both modes of decoding.
func modes() map[string]*xdr.DecoderOptions {
	return map[string]*xdr.DecoderOptions{"copying": nil, "aliasing": alias()}
}
