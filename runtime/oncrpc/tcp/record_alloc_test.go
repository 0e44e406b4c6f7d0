package tcp_test

import (
	"context"
	"fmt"
	"runtime"
	"testing"

	"github.com/rpcrdma/rpcrdma/internal/xdrtest"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/xdr"
)

// The memory of long records is used again, up to the default of Config.MaxRecord: of Calls that a
// server has answered, and of replies that came to a Call with a ReplyBuf.
func TestMemoryOfLongRecordsIsUsedAgain(t *testing.T) {
	if xdrtest.Race {
		t.Skip("with the race detector a sync.Pool loses memory at random")
	}
	const calls = 20
	for _, size := range []int{100 << 10, 1 << 20, 3 << 20, 8 << 20, oncrpc.DefaultMaxMessage} {
		for _, replies := range []bool{false, true} {
			t.Run(fmt.Sprintf("%d bytes, in replies %v", size, replies), func(t *testing.T) {
				head, err := oncrpc.NewReply(7, oncrpc.Success).AppendBinary(nil)
				if err != nil {
					t.Fatal(err)
				}
				answer, call := oncrpc.Message{Inline: head}, callOf(7, 0)
				if call.ReplyBuf = make([]byte, size+len(head)); replies {
					answer.Items = []xdr.Item{{Position: uint64(len(head)), Inline: len(head), Data: make([]byte, size)}}
				} else {
					call = callOf(7, size)
				}
				h := oncrpc.HandlerFunc(func(r *oncrpc.Request) { r.Reply(answer, nil) })
				c := dial(t, listen(t, h, nil).Addr(), nil)
				one := func() {
					if reply, err := c.Call(context.Background(), call); err != nil || replies && len(reply.Message) != size+len(head) {
						t.Fatal(reply, err)
					}
				}
				one()
				one()
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				for range calls {
					one()
				}
				runtime.ReadMemStats(&after)
				got, most := (after.TotalAlloc-before.TotalAlloc)/calls, uint64(32<<10+size/4)
				t.Logf("%d bytes allocated for a call", got)
				if got > most {
					t.Errorf("%d bytes allocated for a call, want at most %d", got, most)
				}
			})
		}
	}
}
