package tcp_test

import (
	"context"
	"testing"

	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/tcp"
)

// BenchmarkClientEcho makes Calls of 128 bytes through a Client, one at a time and many. The
// replies have 128 bytes, too.
func BenchmarkClientEcho(b *testing.B) {
	s := listen(b, oncrpc.HandlerFunc(func(r *oncrpc.Request) {
		r.Reply(oncrpc.Message{Inline: append(goodReply(xidOf(r))[4:28:28], make([]byte, 104)...)}, nil)
	}), nil)
	c, err := tcp.NewClient(s.Addr(), &tcp.ClientConfig{Conn: &tcp.Config{Logger: quiet}})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = c.Close() })
	call := func(message []byte) {
		xid := c.XID()
		message[0], message[1], message[2], message[3] = byte(xid>>24), byte(xid>>16), byte(xid>>8), byte(xid)
		if r, err := c.Call(context.Background(), &oncrpc.Call{Message: oncrpc.Message{Inline: message}}); err != nil || len(r.Message) != 128 {
			b.Error(err)
		}
	}
	message := func() []byte { return append(goodCall(0)[4:44:44], make([]byte, 88)...) }
	b.Run("one", func(b *testing.B) {
		b.ReportAllocs()
		m := message()
		for b.Loop() {
			call(m)
		}
	})
	b.Run("32", func(b *testing.B) {
		b.ReportAllocs()
		b.SetParallelism(16)
		b.RunParallel(func(pb *testing.PB) {
			m := message()
			for pb.Next() {
				call(m)
			}
		})
	})
}
