package xdrtest

import (
	"encoding"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/rpcrdma/rpcrdma/runtime/xdr"
)

// Codec is what a pointer to a generated type T offers its users.
type Codec[T any] interface {
	*T
	xdr.Value
	encoding.BinaryAppender
	encoding.BinaryMarshaler
	encoding.BinaryUnmarshaler
	xdr.Checkable
	CheckXDR([]byte) (int, error)
}

// sample is a case with its bytes.
type sample[T any] struct {
	name  string
	bytes []byte
	want  T
}

// nameOf is the Go name of T, as in the type line of a vector.
func nameOf[T any]() string { return reflect.TypeFor[T]().Name() }

// Run holds the codec of T against its vectors; wants says, by their names, what
// they decode to. There must be a value for each, and a vector for each value.
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

// join brings vectors and values together by name.
func join[T any](t testing.TB, vectors []Vector, wants map[string]T) []sample[T] {
	t.Helper()
	var samples []sample[T]
	for _, v := range vectors {
		want, ok := wants[v.Name]
		if !ok {
			t.Errorf("%s: nothing says what it decodes to", v.Name)
			continue
		}
		samples = append(samples, sample[T]{v.Name, v.Bytes, want})
	}
	if len(samples) < len(wants) {
		t.Errorf("%d values of type %s, but only %d vectors have one", len(wants), nameOf[T](), len(samples))
	}
	return samples
}

// check is one property of a codec, shown on one sample.
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

// diff is the difference of two decoded values. Nil and empty slices are
// equal: a reused value keeps its capacity.
func diff[T any](want, got *T) string {
	return cmp.Diff(want, got, cmpopts.EquateEmpty())
}

// alias are the options of the mode that the transport uses.
func alias() *xdr.DecoderOptions { return &xdr.DecoderOptions{Alias: true} }

// lenient are options that let everything pass which can be.
func lenient() *xdr.DecoderOptions {
	return &xdr.DecoderOptions{Lenient: xdr.Lenient{Padding: true, Booleans: true, Enums: true, Trailing: true}}
}

// modes are the two ways of decoding.
func modes() map[string]*xdr.DecoderOptions {
	return map[string]*xdr.DecoderOptions{"copying": nil, "aliasing": alias()}
}
