package codec

import (
	"testing"

	"github.com/rpcrdma/rpcrdma/bench/codec/hand"
	"github.com/rpcrdma/rpcrdma/bench/codec/sample"
	"github.com/rpcrdma/rpcrdma/gen/rpcrdma1"
	"github.com/rpcrdma/rpcrdma/runtime/xdr"
)

func BenchmarkScratch(bb *testing.B) {
	for _, m := range []struct {
		n string
		h *hand.Header
	}{{"a", sample.A()}, {"b", sample.B()}} {
		wire, _ := m.h.Append(nil)
		buf := make([]byte, 4096)
		var g rpcrdma1.Message
		dec := xdr.NewDecoder(wire, &xdr.DecoderOptions{Alias: true})
		if err := g.DecodeXDR(dec); err != nil {
			bb.Fatal(err)
		}
		out, _ := g.AppendBinary(nil)
		if string(out) != string(wire) {
			bb.Fatal("differ")
		}
		for r := 0; r < 3; r++ {
			bb.Run(m.n+"/enc/hand", func(b *testing.B) {
				for range b.N {
					m.h.EncodeInto(buf)
				}
			})
			enc := xdr.NewEncoder(buf[:0])
			bb.Run(m.n+"/enc/gen", func(b *testing.B) {
				for range b.N {
					enc.Reset(buf[:0])
					g.EncodeXDR(enc)
				}
			})
			bb.Run(m.n+"/enc/genappend", func(b *testing.B) {
				for range b.N {
					g.AppendBinary(buf[:0])
				}
			})
			var hh hand.Header
			bb.Run(m.n+"/dec/hand", func(b *testing.B) {
				b.ReportAllocs()
				for range b.N {
					hh.Decode(wire)
				}
			})
			bb.Run(m.n+"/dec/gen", func(b *testing.B) {
				b.ReportAllocs()
				for range b.N {
					dec.Reset(wire)
					g.DecodeXDR(dec)
				}
			})
		}
	}
}
