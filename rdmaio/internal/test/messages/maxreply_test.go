package messages

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/rpcrdma/rpcrdma/internal/rdmaiotest"
	"github.com/rpcrdma/rpcrdma/internal/rpctest"
	"github.com/rpcrdma/rpcrdma/rdmaio"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
)

// Call.MaxReply: the reply comes whether or not it fits ReplyBuf, in ReplyBuf if it does, and
// nothing is written beyond ReplyBuf.
func TestReplyComesWithinMaxReply(t *testing.T) {
	rdmaiotest.EachVersion(t, func(t *testing.T, w *rdmaiotest.World) {
		size := 0
		w.Serve(rdmaio.HandlerFunc(func(r *rdmaio.Request) {
			r.Reply(rdmaio.Message{Inline: append(rpctest.ReplyHeader(rpctest.XID(r.Message)).Buf, rdmaiotest.Pattern(size-24, 3)...)}, nil)
		}), nil)
		c := w.Dial(nil)
		xid := uint32(0)
		for _, tt := range []struct {
			most, size, buf int // MaxReply, and the lengths of reply and ReplyBuf
			offered         bool
		}{
			{10_000, 10_000, 0, true},
			{10_000, 10_000, 500, true},
			{10_000, 9996, 20_000, true},
			{10_000, 200, 500, true},
			{10_000, 200, 100, true},
			{200, 200, 500, false},
			{200, 200, 5000, false},
			{-1, 200, 5000, false},
			{-1, 200, 100, false},
			{0, 200, 100, false},
		} {
			name := fmt.Sprintf("MaxReply %d, %d bytes, ReplyBuf of %d", tt.most, tt.size, tt.buf)
			size = tt.size
			whole := bytes.Repeat([]byte{0xee}, tt.buf+300)
			xid++
			call := rpctest.NullCall(xid, 40)
			call.MaxReply, call.ReplyBuf = tt.most, whole[:tt.buf]
			before := c.Stats().Registrations
			reply, err := c.Call(context.Background(), call)
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			if !bytes.Equal(reply.Message[24:], rdmaiotest.Pattern(size-24, 3)) {
				t.Errorf("%s: other bytes came", name)
			}
			if in := tt.buf > 0 && &reply.Message[0] == &whole[0]; in != (tt.size <= tt.buf) {
				t.Errorf("%s: the reply is in ReplyBuf: %v", name, in)
			}
			if !bytes.Equal(whole[tt.buf:], bytes.Repeat([]byte{0xee}, 300)) {
				t.Errorf("%s: memory behind ReplyBuf was written to", name)
			}
			if n := c.Stats().Registrations - before; (n == 1) != tt.offered || n > 1 {
				t.Errorf("%s: %d registrations", name, n)
			}
		}
	})
}

// Calls that may have a long reply and get a short one take no memory for it: the provider asks for
// memory when the server writes. Long replies use the same memory again.
func TestShortReplyTakesNoMemory(t *testing.T) {
	rdmaiotest.EachVersion(t, func(t *testing.T, w *rdmaiotest.World) {
		var size atomic.Int64
		w.Serve(rdmaio.HandlerFunc(func(r *rdmaio.Request) {
			e := rpctest.ReplyHeader(binary.BigEndian.Uint32(r.Message))
			e.Buf = append(e.Buf, rdmaiotest.Pattern(int(size.Load())-len(e.Buf), 3)...)
			r.Reply(e.Message(), nil)
		}), nil)
		c := w.Dial(nil)
		const callers, most = 8, 256 << 10
		load := func(bytes int) (has uint64) {
			size.Store(int64(bytes))
			var all sync.WaitGroup
			for range callers {
				all.Go(func() {
					for range 5 {
						call := rpctest.NullCall(c.XID(), 40)
						call.MaxReply = most
						reply, err := c.Call(context.Background(), call)
						if err != nil || len(reply.Message) != bytes {
							t.Errorf("reply of %d bytes, %v, want %d", len(reply.Message), err, bytes)
							return
						}
					}
				})
			}
			all.Wait()
			return c.Stats().BufferBytes
		}
		before := c.Stats().BufferBytes
		if n := load(200); n > before+most/2 { // send buffers
			t.Errorf("Calls with short replies: %d bytes of buffers, %d before", n, before)
		}
		for range 2 {
			if n := load(20_000); n < most || n > before+callers*most+most/2 {
				t.Errorf("Calls with long replies: %d bytes of buffers, want %d for each reply at a time", n, most)
			}
		}
	})
}

// A late reply to a cancelled Call does not break the connection, although the Call offered as much
// memory as results with a large bound have by default, and a security layer adds to that.
func TestLateReplyToTheLargestOfferIsHarmless(t *testing.T) {
	rdmaiotest.EachVersion(t, func(t *testing.T, w *rdmaiotest.World) {
		h := rpctest.Silent{Got: make(chan *rdmaio.Request, 1)}
		w.Serve(h, nil)
		c := w.Dial(nil)
		ctx, cancel := context.WithCancel(context.Background())
		done := make(chan error, 1)
		go func() {
			call := rpctest.NullCall(2, 40)
			call.MaxReply = oncrpc.DefaultMaxMessage + 4096
			_, err := c.Call(ctx, call)
			done <- err
		}()
		late := <-h.Got
		cancel()
		<-done
		e := rpctest.ReplyHeader(2)
		e.Buf = append(e.Buf, rdmaiotest.Pattern(100_000, 3)...)
		late.Reply(e.Message(), nil)
		rdmaiotest.AwaitStats(t, c, func(st *rdmaio.Stats) bool { return st.InFlight == 0 && st.Regions == 0 })
		go func() { rpctest.Quick(nil).ServeRPC(<-h.Got) }()
		rpctest.Again(t, c, rpctest.SmallCall(), 3)
	})
}
