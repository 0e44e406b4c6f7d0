package hostile

import (
	"bytes"
	"context"
	"encoding/binary"
	"sync"
	"testing"

	"github.com/rpcrdma/rpcrdma/internal/peertest"
	"github.com/rpcrdma/rpcrdma/internal/rdmaiotest"
	"github.com/rpcrdma/rpcrdma/internal/rpctest"
	"github.com/rpcrdma/rpcrdma/rdmaio"
)

// R307: whatever word of a Reply an attacker changes, the RPC succeeds as before, or fails, or the
// connection is closed. No byte outside the offered memory changes, and nothing panics.
func TestTamperedReplyHarmsNothing(t *testing.T) {
	const words = 96 / 4
	for at := range words {
		for _, v := range []uint32{0, 1, 4, 0x7fffffff, 0xffffffff} {
			w := rdmaiotest.New(t)
			p, c := rdmaiotest.DialRaw(w, nil)
			all := bytes.Repeat([]byte{0xa5}, 3*2048)
			call := rpctest.ReadCall(7, 0, all[2048:4096])
			call.ReplyBuf = make([]byte, 2048)
			var wg sync.WaitGroup
			wg.Add(1)
			ctx, cancel := context.WithCancel(context.Background())
			var err error
			var reply *rdmaio.Reply
			go func() {
				defer wg.Done()
				reply, err = c.Call(ctx, call)
			}()
			got := p.Message(peertest.Patience)
			o := peertest.ReadOffers(t, got)
			b := peertest.UnusedReply(got, &o, rpctest.ReplyHeader(7).Buf)
			if len(b) != 4*words {
				t.Fatalf("a Reply of %d bytes", len(b))
			}
			binary.BigEndian.PutUint32(b[4*at:], v)
			p.Send(b)
			rdmaiotest.AwaitStats(t, c, func(st *rdmaio.Stats) bool { return st.Received == 1 })
			cancel()
			wg.Wait()
			if err == nil && (reply.Message == nil || binary.BigEndian.Uint32(reply.Message) != 7) {
				t.Errorf("word %d, %#x: taken as %x", at, v, reply.Message)
			}
			if len(bytes.Trim(all[:2048], "\xa5"))+len(bytes.Trim(all[4096:], "\xa5")) != 0 {
				t.Errorf("word %d, %#x: memory that was not offered has changed", at, v)
			}
			if at == 0 && v != 7 && err == nil {
				t.Error("a Reply to another XID was taken")
			}
		}
	}
}
