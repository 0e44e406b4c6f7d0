package messages

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/rpcrdma/rpcrdma/internal/peertest"
	"github.com/rpcrdma/rpcrdma/internal/rdmaiotest"
	"github.com/rpcrdma/rpcrdma/internal/rpctest"
	"github.com/rpcrdma/rpcrdma/rdmaio"
)

// R52: the length of a chunk is the sum of its segments, which may exceed 32 bits.
func TestChunkMayExceed32Bits(t *testing.T) {
	const most = uint64(math.MaxUint32)
	w := rdmaiotest.New(t)
	places, room := make(chan []int, 1), make(chan int, 1)
	w.Serve(rdmaio.HandlerFunc(func(r *rdmaio.Request) {
		places <- rpctest.WriteChunks(r)
		room <- rpctest.ReplyRoom(r)
		rpctest.Echo{}.ServeRPC(r)
	}), nil)
	p := w.DialRaw(t)
	seg := fmt.Sprintf("%08x %08x %016x ", 1, most, 0)
	p.Send(peertest.Bytes(t, peertest.Head+"00000000 00000000 00000001 00000002 "+seg+seg+"00000000 00000001 00000003 "+seg+seg+seg+peertest.GoodCall))
	if got := p.Message(peertest.Patience); len(got) < 16 || binary.BigEndian.Uint32(got[12:]) != 0 {
		t.Fatalf("answer %v", got)
	}
	if got := <-places; len(got) != 1 || uint64(got[0]) != min(2*most, math.MaxInt) {
		t.Errorf("places of %d bytes", got)
	}
	if got := <-room; uint64(got) != min(3*most, math.MaxInt) {
		t.Errorf("room for a reply of %d bytes", got)
	}
}

// R92: a long Call may have many segments, all at position zero and first in the list. Behind
// another chunk they are refused.
func TestLongCallHasSegmentsAtPositionZero(t *testing.T) { rdmaiotest.Each(t, positionZero) }

func positionZero(t *testing.T, w *rdmaiotest.World) {
	w.Serve(rpctest.Echo{}, nil)
	p := w.DialRaw(t)
	o := p.Offer(40, rdmaiotest.AnyAccess)
	o.Fill(peertest.Bytes(t, peertest.GoodCall))
	part := func(pos uint32, at, n int) string {
		return peertest.ReadSegment(pos, fmt.Sprintf("%08x", o.RKey()), uint32(n), fmt.Sprintf("%016x", o.RemoteAddr()+uint64(at)))
	}
	inPieces := ""
	for at := range 10 {
		inPieces += part(0, 4*at, 4)
	}
	for _, c := range []struct {
		name, reads string
		proc        uint32 // procedure of the answer
	}{
		{"ten segments", inPieces, 0},
		{"behind another chunk", part(40, 0, 4) + part(0, 0, 40), 4},
		{"on both sides of another chunk", part(0, 0, 36) + part(40, 0, 4) + part(0, 36, 4), 4},
	} {
		p.Send(peertest.Bytes(t, peertest.Nomsg(c.reads)))
		if got := p.Message(peertest.Patience); len(got) < 16 || binary.BigEndian.Uint32(got[12:]) != c.proc {
			t.Errorf("%s: answer %v", c.name, got)
		}
	}
}

// A Call with more chunks than a peer with the same Config accepts is refused before it is sent,
// with the reason, which ERR_CHUNK does not contain.
func TestCallWithTooManyChunksIsRefused(t *testing.T) {
	for _, c := range []struct{ items, results, limit, need int }{
		{20, 0, 16, 20}, {17, 0, 16, 17}, {16, 0, 16, 0}, {0, 17, 16, 17}, {0, 16, 16, 0}, {20, 20, -1, 0},
	} {
		t.Run(fmt.Sprint(c), func(t *testing.T) {
			w := rdmaiotest.New(t)
			limit := 0 // 16 is the default
			if c.limit < 0 {
				limit = c.limit
			}
			cfg := &rdmaio.Config{InlineSend: 4096, InlineRecv: 4096, MaxChunks: limit}
			w.Serve(rpctest.Echo{}, cfg)
			conn := w.Dial(cfg)
			e := rpctest.CallHeader(1, 0)
			for range c.items {
				e.Opaque("item", rdmaiotest.Pattern(1000, 1))
			}
			call := &rdmaio.Call{Message: e.Message(), ReplyBuf: make([]byte, 30000)}
			for range c.results {
				call.Results = append(call.Results, make([]byte, 5000))
			}
			_, err := conn.Call(context.Background(), call)
			var se *rdmaio.SizeError
			switch {
			case c.need == 0 && err != nil:
				t.Error(err)
			case c.need != 0 && (!errors.As(err, &se) || se.Need != c.need || se.Limit != c.limit || !strings.Contains(err.Error(), "chunks, limit")):
				t.Errorf("%v", err)
			case c.need != 0:
				rdmaiotest.AwaitStats(t, conn, func(st *rdmaio.Stats) bool { return st.Sent == 0 })
			}
		})
	}
}
