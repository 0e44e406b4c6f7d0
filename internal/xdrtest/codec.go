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
}

// Case says what a vector decodes to.
type Case[T any] struct {
	Vector string
	Want   T
}

// sample is a case with its bytes.
type sample[T any] struct {
	name  string
	bytes []byte
	want  T
}

// nameOf is the Go name of T, as in the type line of a vector.
func nameOf[T any]() string { return reflect.TypeFor[T]().Name() }

// Run holds the codec of T against its vectors. There must be a case for each,
// and a vector for each case.
func Run[T any, P Codec[T]](t *testing.T, all []Vector, cases []Case[T]) {
	t.Helper()
	samples := join(t, OfType(all, nameOf[T]()), cases)
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

// join brings cases and vectors together by name.
func join[T any](t testing.TB, vectors []Vector, cases []Case[T]) []sample[T] {
	t.Helper()
	byName := map[string][]byte{}
	for _, v := range vectors {
		byName[v.Name] = v.Bytes
	}
	var samples []sample[T]
	for _, c := range cases {
		b, ok := byName[c.Vector]
		if !ok {
			t.Errorf("%s: no vector of type %s, or a second case for it", c.Vector, nameOf[T]())
		}
		delete(byName, c.Vector)
		samples = append(samples, sample[T]{c.Vector, b, c.Want})
	}
	for name := range byName {
		t.Errorf("%s: no case says what it decodes to", name)
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

// modes are the two ways of decoding.
func modes() map[string]*xdr.DecoderOptions {
	return map[string]*xdr.DecoderOptions{"copying": nil, "aliasing": alias()}
}
