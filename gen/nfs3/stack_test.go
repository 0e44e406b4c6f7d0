package nfs3_test

import (
	"testing"

	"github.com/rpcrdma/rpcrdma/gen/nfs3"
	"github.com/rpcrdma/rpcrdma/runtime/xdr"
)

// TestStackValues checks that values, Encoders, Decoders and buffers that are local variables stay
// on the stack: no method passes them to code that the compiler cannot see.
func TestStackValues(t *testing.T) {
	wire, err := (&nfs3.Time{Seconds: 7}).MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	args := nfs3.ReadArgs{File: nfs3.Handle{Data: make([]byte, 32)}, Count: 4096}
	long, err := args.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, 0, 256)
	for _, c := range []struct {
		name string
		want float64
		run  func() error
	}{
		{"EncodeXDR", 0, func() error {
			v := nfs3.Time{Seconds: 7}
			var e xdr.Encoder
			e.Reset(buf)
			return v.EncodeXDR(&e)
		}},
		{"EncodeXDR, new Encoder", 0, func() error {
			v := nfs3.Time{Seconds: 7}
			return v.EncodeXDR(xdr.NewEncoder(buf))
		}},
		{"EncodeXDR that grows", 1, func() error {
			v := nfs3.Time{Seconds: 7}
			var e xdr.Encoder
			return v.EncodeXDR(&e)
		}},
		{"AppendBinary", 0, func() error {
			v := nfs3.ReadArgs{Count: 4096}
			v.File.Data = long[4:36]
			var stack [128]byte
			b, err := v.AppendBinary(stack[:0])
			if err == nil && len(b) != len(long) {
				t.Errorf("%d bytes, want %d", len(b), len(long))
			}
			return err
		}},
		{"AppendBinary that grows", 1, func() error {
			v := nfs3.Time{Seconds: 7}
			var stack [4]byte
			_, err := v.AppendBinary(stack[:])
			return err
		}},
		{"MarshalBinary", 1, func() error {
			v := nfs3.Time{Seconds: 7}
			_, err := v.MarshalBinary()
			return err
		}},
		{"UnmarshalBinary", 0, func() error {
			var v nfs3.Time
			return v.UnmarshalBinary(wire)
		}},
		{"UnmarshalBinary with opaque data", 1, func() error {
			var v nfs3.ReadArgs
			return v.UnmarshalBinary(long)
		}},
		{"DecodeXDR", 0, func() error {
			var v nfs3.Time
			var d xdr.Decoder
			d.Reset(wire)
			return v.DecodeXDR(&d)
		}},
	} {
		if got := testing.AllocsPerRun(100, func() {
			if err := c.run(); err != nil {
				t.Error(err)
			}
		}); got != c.want {
			t.Errorf("%s: %v allocations, want %v", c.name, got, c.want)
		}
	}
}
