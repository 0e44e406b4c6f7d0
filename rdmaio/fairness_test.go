package rdmaio_test

import (
	"context"
	"encoding/binary"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/rdmaio"
)

// A caller that happens to run the state machine for all others is let go after
// a while: here each Call, while it is served on the first caller's goroutine, brings
// the next one, from another goroutine; the first would have to stay till the last.
func TestNobodyIsKept(t *testing.T) {
	const chain = 400
	var c *rdmaio.Conn
	var wg sync.WaitGroup
	var served atomic.Uint32
	c = plain(t, rdmaio.HandlerFunc(func(r *rdmaio.Request) {
		xid := binary.BigEndian.Uint32(r.Message)
		served.Store(xid)
		if xid < chain {
			wg.Add(1)
			go func() {
				defer wg.Done()
				if _, err := c.Call(context.Background(), nullCall(xid+1, 40)); err != nil {
					t.Error(err)
				}
			}()
			time.Sleep(100 * time.Microsecond) // until that one is in the queue
		}
		r.Reply(rdmaio.Message{Inline: replyHeader(xid).buf}, nil)
	}), nil)
	again(t, c, smallCall(), 1)
	if n := served.Load(); n >= chain {
		t.Errorf("the first caller was kept until %d Calls of others were served", n)
	}
	for served.Load() < chain {
		time.Sleep(time.Millisecond)
	}
	wg.Wait()
}
