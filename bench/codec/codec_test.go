package codec

import (
	"bytes"
	"testing"

	"github.com/rpcrdma/rpcrdma/bench/codec/sample"
	"github.com/rpcrdma/rpcrdma/internal/witness"
	"github.com/rpcrdma/rpcrdma/nfs/gen/nfs42"
)

// All codecs encode the same values to the same bytes, and decode all of them.
func TestSameBytes(t *testing.T) {
	messages, err := Messages()
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range messages {
		codecs, err := All(m)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range codecs {
			t.Run(m.Name+"/"+c.Name, func(t *testing.T) { crossCheck(t, c, m.Wire) })
		}
	}
}

func crossCheck(t *testing.T, c Codec, wire []byte) {
	if c.EncodeInto != nil {
		b := make([]byte, len(wire))
		if n, err := c.EncodeInto(b); n != len(wire) || err != nil {
			t.Errorf("EncodeInto = %d, %v, want %d", n, err, len(wire))
		} else if !bytes.Equal(b, wire) {
			t.Error("EncodeInto: other bytes than hand")
		}
	}
	if c.Append != nil {
		if b, err := c.Append(nil); err != nil || !bytes.Equal(b, wire) {
			t.Errorf("Append: %v, or other bytes than hand", err)
		}
	}
	for name, f := range map[string]func([]byte) (int, error){
		"Decode": c.Decode, "DecodeFresh": c.DecodeFresh, "DecodeCopy": c.DecodeCopy, "Check": c.Check,
	} {
		if f == nil {
			continue
		}
		for range 2 {
			if n, err := f(wire); n != len(wire) || err != nil {
				t.Errorf("%s = %d, %v, want %d", name, n, err, len(wire))
			}
		}
	}
}

func BenchmarkCodecs(b *testing.B) {
	messages, err := Messages()
	if err != nil {
		b.Fatal(err)
	}
	for _, m := range messages {
		codecs, err := All(m)
		if err != nil {
			b.Fatal(err)
		}
		out := make([]byte, len(m.Wire))
		for _, c := range codecs {
			for _, op := range c.Ops() {
				b.Run(m.Name+"/"+op.Name+"/"+c.Name, func(b *testing.B) {
					b.SetBytes(int64(len(m.Wire)))
					b.ReportAllocs()
					if err := op.Run(m.Wire, out, b.N); err != nil {
						b.Fatal(err)
					}
				})
			}
		}
	}
}

// The programs of other codecs make the same bytes, too.
func TestOutsideSameBytes(t *testing.T) {
	messages, err := Messages()
	if err != nil {
		t.Fatal(err)
	}
	for _, tool := range []string{"rpcgen", "gcc"} {
		witness.Program(t, tool)
	}
	witness.Libtirpc(t)
	for _, start := range Outsiders() {
		c, err := start(messages)
		if err != nil {
			t.Fatal(err)
		}
		t.Run(c.Name, func(t *testing.T) {
			defer func() {
				if err := c.Close(); err != nil {
					t.Error(err)
				}
			}()
			for _, m := range messages {
				for _, op := range c.Ops() {
					if _, err := c.Run(m.Name, op, 2); err != nil {
						t.Errorf("%s: %v", m.Name, err)
					}
				}
				if b, err := c.Bytes(m.Name); err != nil || !bytes.Equal(b, m.Wire) {
					t.Errorf("%s: %v, or other bytes", m.Name, err)
				}
			}
			if _, err := c.Run("x", OpEncode, 1); err == nil {
				t.Error("no error for an unknown message")
			}
		})
	}
}

// TestMinorVersions reads a COMPOUND of NFS version 4.0, from the codec of RFC 7531, by the codec
// of RFC 7863, and expects the same bytes back: 4.0 is a subset of 4.2.
func TestMinorVersions(t *testing.T) {
	wire, err := sample.Compound().AppendBinary(nil)
	if err != nil {
		t.Fatal(err)
	}
	var v nfs42.CompoundArgs
	if err := v.UnmarshalBinary(wire); err != nil {
		t.Fatal(err)
	}
	again, err := v.AppendBinary(nil)
	if err != nil || !bytes.Equal(again, wire) {
		t.Errorf("%x, %v\nwant %x", again, err, wire)
	}
	if open := v.ArgArray[2].Open; open == nil || string(open.Claim.File) != "results-2026-11.csv" {
		t.Errorf("the third operation is %v", v.ArgArray[2])
	}
}
