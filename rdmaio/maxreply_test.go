package rdmaio_test

import (
	"bytes"
	"context"
	"fmt"
	"testing"

	"github.com/rpcrdma/rpcrdma/rdmaio"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/rdmaiotest"
)

// Call.MaxReply: the reply comes whether or not it fits ReplyBuf, in ReplyBuf if it does, and
// nothing is written beyond ReplyBuf.
func TestCallMaxReply(t *testing.T) {
	rdmaiotest.EachVersion(t, func(t *testing.T, w *rdmaiotest.World) {
		size := 0
		w.Serve(rdmaio.HandlerFunc(func(r *rdmaio.Request) {
			r.Reply(rdmaio.Message{Inline: append(replyHeader(xidOf(r.Message)).buf, rdmaiotest.Pattern(size-24, 3)...)}, nil)
		}), nil)
		c := w.Dial(nil)
		xid := uint32(0)
		for _, tt := range []struct {
			most, size, buf int // MaxReply, and the lengths of the reply and of ReplyBuf
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
			call := nullCall(xid, 40)
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
