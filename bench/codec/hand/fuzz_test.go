package hand_test

import (
	"bytes"
	"testing"

	"github.com/rpcrdma/rpcrdma/bench/codec/hand"
)

// fuzz checks that Decode and check agree on any input, and that an accepted value encodes to the
// same bytes: XDR has one form of each value.
func fuzz(f *testing.F, empty func() codec, check func([]byte) (int, error)) {
	for _, c := range roundTrips {
		b, err := c.value.Append(nil)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		v := empty()
		n, err := v.Decode(b)
		m, checkErr := check(b)
		if n != m || (err == nil) != (checkErr == nil) || err != nil && err.Error() != checkErr.Error() {
			t.Fatalf("Decode = %d, %v, but check = %d, %v", n, err, m, checkErr)
		}
		if err != nil {
			return
		}
		again, err := v.Append(nil)
		if err != nil || !bytes.Equal(again, b[:n]) {
			t.Fatalf("encoded again: %v, %x, want %x", err, again, b[:n])
		}
	})
}

func FuzzHeader(f *testing.F) { fuzz(f, emptyHeader, hand.CheckHeader) }

func FuzzDirplus(f *testing.F) { fuzz(f, emptyDirplus, hand.CheckDirplus) }
