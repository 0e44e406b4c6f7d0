package codec

import (
	"bytes"
	"testing"

	"github.com/rpcrdma/rpcrdma/bench/codec/dirplus"
	"github.com/rpcrdma/rpcrdma/gen/rpcrdma1"
	"github.com/rpcrdma/rpcrdma/runtime/xdr"
)

// BenchmarkRefused compares accepted input with input of the same length that is refused at its
// last word, and at its first. A refusal should not take longer. Compare the three lines of a
// message.
func BenchmarkRefused(b *testing.B) {
	messages, err := Messages()
	if err != nil {
		b.Fatal(err)
	}
	for _, m := range messages {
		var v xdr.Value
		switch m.Name {
		case "a", "b":
			v = new(rpcrdma1.Message)
		case "d":
			v = new(dirplus.Reply)
		default:
			continue
		}
		late, early := bytes.Clone(m.Wire), bytes.Clone(m.Wire)
		late[len(late)-1] = 9
		for i := range early[:16] {
			early[i] = 0xff
		}
		for _, c := range []struct {
			name string
			in   []byte
			ok   bool
		}{{"accepted", m.Wire, true}, {"refused late", late, false}, {"refused early", early, false}} {
			b.Run(m.Name+" "+c.name, func(b *testing.B) {
				b.ReportAllocs()
				d := xdr.NewDecoder(nil, &xdr.DecoderOptions{Alias: true})
				for b.Loop() {
					d.Reset(c.in)
					if err := v.DecodeXDR(d); (err == nil) != c.ok {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
