package tcp_test

import (
	"net"
	"runtime"
	"testing"
	"time"
	"weak"

	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/tcp"
)

// A connection that has written a reply does not keep it while it rests.
func TestRestingConnectionKeepsNoReply(t *testing.T) {
	for name, pipe := range map[string]bool{"a socket": false, "another stream": true} {
		replies := make(chan weak.Pointer[byte], 1)
		h := oncrpc.HandlerFunc(func(r *oncrpc.Request) {
			head, _ := oncrpc.NewReply(xidOf(r), oncrpc.Success).AppendBinary(nil) // cannot fail
			b := append(head, make([]byte, 1<<20)...)
			replies <- weak.Make(&b[0])
			r.Reply(oncrpc.Message{Inline: b}, nil)
		})
		var c *tcp.Conn
		if pipe {
			ours, theirs := net.Pipe()
			s := tcp.ServeConn(theirs, h, &tcp.Config{Logger: quiet})
			t.Cleanup(func() { _ = s.Close() })
			c = tcp.NewConn(ours, nil)
			t.Cleanup(func() { _ = c.Close() })
		} else {
			c = dial(t, listen(t, h, &tcp.Config{Logger: quiet}).Addr(), nil)
		}
		if _, err := c.Call(t.Context(), callOf(1, 0)); err != nil {
			t.Fatal(err)
		}
		reply := <-replies
		for deadline := time.Now().Add(time.Minute); reply.Value() != nil; time.Sleep(time.Millisecond) {
			if runtime.GC(); time.Now().After(deadline) {
				t.Fatalf("%s: the reply is still in memory", name)
			}
		}
		runtime.KeepAlive(c)
	}
}
