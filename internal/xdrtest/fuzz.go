package xdrtest

import (
	"bytes"
	"testing"

	"github.com/rpcrdma/rpcrdma/runtime/xdr"
)

// Fuzz is the body of a fuzz target for the decoder of T: it never panics;
// what it accepts encodes to the same bytes, and decodes to an equal value
// a second time, into memory used before; and the value retains no more memory
// than the input justifies.
func Fuzz[T any, P Codec[T]](f *testing.F, all []Vector) {
	for _, v := range OfType(all, nameOf[T]()) {
		f.Add(v.Bytes)
		f.Add(append(bytes.Clone(v.Bytes), payload...))
	}
	used := new(T) // never emptied: each input meets the remains of others
	f.Fuzz(func(t *testing.T, in []byte) {
		if err := canonical[T, P](in); err != nil {
			t.Fatal(err)
		}
		var v T
		err := P(&v).DecodeXDR(xdr.NewDecoder(in, nil))
		if n := retainedOf(&v); n > allowance(len(in)) {
			t.Fatalf("%d bytes of input retain %d bytes of memory, at most %d are justified", len(in), n, allowance(len(in)))
		}
		again := P(used).DecodeXDR(xdr.NewDecoder(in, alias()))
		if (err == nil) != (again == nil) {
			t.Fatalf("fresh value: %v; reused value: %v", err, again)
		}
		if err != nil {
			return
		}
		if got := diff(&v, used); got != "" {
			t.Fatalf("reused value differs (- fresh, + reused):\n%s", got)
		}
	})
}
