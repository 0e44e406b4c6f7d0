package memory

import (
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/peertest"
	"github.com/rpcrdma/rpcrdma/internal/rdmaiotest"
	"github.com/rpcrdma/rpcrdma/internal/rpctest"
	"github.com/rpcrdma/rpcrdma/rdmaio"
)

// longReply is a Call of a few bytes that offers n bytes of memory for its reply.
func longReply(xid, n uint32) []byte {
	return peertest.Words(xid, 1, 32, 0, 0, 0, 1, 1, 0x1234, n, 0, 0, xid, 0, 2, 100003, 3, 0, 0, 0, 0, 0)
}

// unreadReplies serves replies of a size, to a peer that asks for many and reads none until the
// send queue of its socket is full. most is Config.MaxMemory.
func unreadReplies(t *testing.T, size, most int) (w *rdmaiotest.World, s *rdmaio.Server) {
	w = rdmaiotest.NewBare(t)
	s = w.Serve(rdmaio.HandlerFunc(func(r *rdmaio.Request) {
		b := rpctest.ReplyHeader(rpctest.XID(r.Message)).Buf
		if _, room := r.Room(); room >= size {
			b = append(b, make([]byte, size-len(b))...)
		}
		r.Reply(rdmaio.Message{Inline: b}, nil)
	}), &rdmaio.Config{MaxMemory: most})
	p := rdmaiotest.DialSocket(t, w.Addr)
	p.Connect(nil)
	p.Write(p.Sends(32, func(i int) []byte { return longReply(0xcafe0000+uint32(i), uint32(size)) }))
	conn := rdmaiotest.ServerConn(t, s)
	for {
		before := conn.Stats()
		if time.Sleep(100 * time.Millisecond); before.Received == 32 && conn.Stats().Sent == before.Sent {
			return w, s // nothing moves any more
		}
	}
}

// A connection whose peer reads nothing of long replies is closed when another one waits for
// memory, and not before.
func TestUnreadReplyMakesRoomForOthers(t *testing.T) {
	const size = 256 << 10 // more than the share, and all of the reserve
	w, s := unreadReplies(t, size, 3*size)
	time.Sleep(time.Second)
	if n := len(s.Conns()); n != 1 {
		t.Fatalf("%d connections are up, and nothing waits for memory", n)
	}
	c := w.Dial(nil)
	start := time.Now()
	rpctest.Again(t, c, rpctest.SmallCall(), 1)
	t.Log("another client is served after", time.Since(start))
	for i := 0; len(s.Conns()) != 1; i++ {
		if time.Sleep(time.Millisecond); i == 10_000 {
			t.Fatal("the peer that reads nothing keeps its connection")
		}
	}
}
