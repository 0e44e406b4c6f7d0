package hand_test

import (
	"testing"

	"github.com/rpcrdma/rpcrdma/bench/codec/hand"
	"github.com/rpcrdma/rpcrdma/bench/codec/sample"
)

// codec has the methods that the messages of this package share.
type codec interface {
	Size() int
	EncodeInto(b []byte) (int, error)
	Append(b []byte) ([]byte, error)
	Decode(b []byte) (int, error)
}

var messages = []struct {
	name  string
	value codec
	empty func() codec
	check func(b []byte) (int, error)
}{
	{"a", sample.A(), func() codec { return new(hand.Header) }, hand.CheckHeader},
	{"b", sample.B(), func() codec { return new(hand.Header) }, hand.CheckHeader},
	{"c4K", sample.C(4 << 10), func() codec { return new(hand.Opaque) }, hand.CheckOpaque},
	{"c1M", sample.C(1 << 20), func() codec { return new(hand.Opaque) }, hand.CheckOpaque},
	{"d", sample.D(), func() codec { return new(hand.Dirplus) }, hand.CheckDirplus},
}

func BenchmarkHand(b *testing.B) {
	for _, m := range messages {
		wire := make([]byte, m.value.Size())
		if _, err := m.value.EncodeInto(wire); err != nil {
			b.Fatal(err)
		}
		out := make([]byte, len(wire))
		b.Run(m.name+"/memmove", func(b *testing.B) {
			for b.Loop() {
				copy(out, wire)
			}
		})
		b.Run(m.name+"/encode", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := m.value.EncodeInto(out); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(m.name+"/append", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := m.value.Append(out[:0]); err != nil {
					b.Fatal(err)
				}
			}
		})
		v := m.empty()
		b.Run(m.name+"/decode", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := v.Decode(wire); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(m.name+"/check", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := m.check(wire); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
