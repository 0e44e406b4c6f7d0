package tcp

import (
	"context"
	"encoding/binary"
	"io"
	"log/slog"
	"net"
	"runtime/debug"
	"testing"

	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
)

// Long replies that were not sent, since their connection was closed or they are too long, count
// until the garbage collector has run. A reply that was written does not.
func TestRepliesNotSentAreWaste(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	const size = 100 << 10
	for name, tt := range map[string]struct {
		closes bool
		most   int
		want   int
	}{"written": {false, 0, 0}, "closed": {true, 0, 2 * size}, "too long": {false, size - 1, 2 * size}} {
		t.Run(name, func(t *testing.T) {
			done := make(chan error, 1)
			h := oncrpc.HandlerFunc(func(r *oncrpc.Request) {
				if tt.closes {
					<-r.Context().Done()
				}
				xid, _, _ := oncrpc.Peek(r.Message)
				b, _ := oncrpc.NewReply(xid, oncrpc.Success).AppendBinary(nil)
				r.Reply(oncrpc.Message{Inline: append(b, make([]byte, size-len(b))...)}, func(err error) { done <- err })
			})
			s, err := Listen(t.Context(), "127.0.0.1:0", h, &Config{MaxReply: tt.most, Logger: slog.New(slog.DiscardHandler)})
			if err != nil {
				t.Fatal(err)
			}
			all := s.shared.budget.Left()
			c, err := net.Dial("tcp", s.Addr())
			if err != nil {
				t.Fatal(err)
			}
			call, _ := oncrpc.NewCall(1, 1, 1, 1, oncrpc.None()).AppendBinary(nil)
			if _, err := c.Write(append(binary.BigEndian.AppendUint32(nil, lastFragment|uint32(len(call))), call...)); err != nil {
				t.Fatal(err)
			}
			if !tt.closes {
				want := markSize + size
				if tt.most > 0 {
					want = markSize + 24 // SYSTEM_ERR
				}
				if _, err := io.ReadFull(c, make([]byte, want)); err != nil {
					t.Error(err)
				}
			}
			if err := c.(*net.TCPConn).SetLinger(0); err != nil { // reset
				t.Error(err)
			}
			if err := c.Close(); err != nil {
				t.Error(err)
			}
			if err := <-done; (err == nil) != (tt.want == 0) {
				t.Errorf("the reply: %v", err)
			}
			_ = s.Shutdown(context.Background())
			if got := all - s.shared.budget.Left(); got != tt.want {
				t.Errorf("%d bytes are wasted, want %d", got, tt.want)
			}
		})
	}
}
