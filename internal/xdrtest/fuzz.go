package xdrtest

import (
	"bytes"
	"testing"

	"github.com/rpcrdma/rpcrdma/runtime/xdr"
)

// Fuzz is the body of a fuzz target for the decoder of T. It checks that the decoder never panics;
// that an accepted input encodes to the same bytes, and decodes again to an equal value in a reused
// one; and that the value retains no more memory than the input justifies.
func Fuzz[T any, P Codec[T]](f *testing.F, all []Vector) {
	for _, v := range OfType(all, nameOf[T]()) {
		f.Add(v.Bytes)
		f.Add(append(bytes.Clone(v.Bytes), payload...))
	}
	used := new(T) // reused without a reset: each input meets the values of others
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
