package rdmaio_test

import (
	"bytes"
	"errors"
	"testing"

	"github.com/rpcrdma/rpcrdma/rdmaio"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/peertest"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/peertest/peer2"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/rdmaiotest"
)

// Chunks that a client of version 2 offers have the exact length of their item, with no bytes for
// its roundup, in whatever segments (draft-ietf-nfsv4-rpcrdma-version-two-00 §4.4.5, §4.4.6; R71,
// R82).
func TestOfferedChunksOfVersion2HaveNoRoundup(t *testing.T) {
	for _, n := range []int{60000, 60001, 60002, 60003} {
		each2(t, "", func(t *testing.T, w *rdmaiotest.World) {
			p, conn := ourClient(t, w, peer2.Config{}, config2(rdmaio.Config{SegmentSize: 20001}))
			call := writeCall(9, 0, make([]byte, n))
			call.Results = [][]byte{make([]byte, n)}
			done := start(conn, call)
			m := p.Next()
			offered := map[string][]peertest.Segment{"read": m.Reads}
			if len(m.Writes) == 1 {
				offered["write"] = m.Writes[0]
			}
			for kind, chunk := range offered {
				if got := length(chunk); got != n || len(chunk) != (n+20000)/20001 {
					t.Errorf("%d bytes: found a %s chunk of %d bytes in %d segments: %v", n, kind, got, len(chunk), m)
				}
			}
			if len(offered) != 2 {
				t.Errorf("%d bytes: found no write chunk in %v", n, m)
			}
			p.Send(m.Unused(replyOf(9, 24)))
			if r := <-done; r.err != nil {
				t.Error(r.err)
			}
		})
	}
}

// A server of version 2 writes a result without its roundup, even where the chunk has room for it,
// and returns the exact length (R82).
func TestWrittenResultsOfVersion2HaveNoRoundup(t *testing.T) {
	for _, n := range []int{3001, 3002, 3003} {
		each2(t, "", func(t *testing.T, w *rdmaiotest.World) {
			a := &app{reply: func(r *rdmaio.Request) bool {
				e := replyHeader(9)
				e.reduce = true
				e.opaque("item", rdmaiotest.Pattern(n, 1))
				r.Reply(e.message(), nil)
				return true
			}}
			p := ourServer(t, w, a, peer2.Config{}, config2(rdmaio.Config{}))
			o := p.Offer(3008, rdmaiotest.AnyAccess)
			for i := range o.Data {
				o.Data[i] = 0xee
			}
			m := peer2.Call(9, callOf(9, 40))
			m.Writes = [][]peertest.Segment{{{Key: o.RKey(), Length: 3008, Addr: o.RemoteAddr()}}}
			p.Send(m)
			m = p.Next()
			if !m.IsReply() || len(m.Writes) != 1 || length(m.Writes[0]) != n {
				t.Fatalf("%d bytes: found %v", n, m)
			}
			if !bytes.Equal(o.Data[:n], rdmaiotest.Pattern(n, 1)) || !bytes.Equal(o.Data[n:], bytes.Repeat([]byte{0xee}, 3008-n)) {
				t.Errorf("%d bytes: found other bytes in the chunk, %x at its end", n, o.Data[n:])
			}
		})
	}
}

// A message that the last draft of version 2 reads in another way is read by the draft of the
// connection, without a guess (draft-ietf-nfsv4-rpcrdma-version-two-07 §8.4; R332). There these
// words, type 4 and then 1, 7, 16, say that the peer has versions 7 to 16; in draft -00 the 1 is
// the flag of an answer, and the error is 7, with at most 16 segments in a chunk.
func TestLaterDraftIsNotGuessed(t *testing.T) {
	each2(t, "", func(t *testing.T, w *rdmaiotest.World) {
		p, conn := ourClient(t, w, peer2.Config{}, config2(rdmaio.Config{}))
		done := start(conn, bigCall(9, 40))
		p.Next()
		answer := peer2.Err(9, 7, 16)
		if b, want := answer.Bytes()[12:], []byte{0, 0, 0, 4, 0, 0, 0, 1, 0, 0, 0, 7, 0, 0, 0, 16}; !bytes.Equal(b, want) {
			t.Fatalf("found the words %x, expected %x", b, want)
		}
		p.Send(answer)
		var e *rdmaio.PeerError
		if r := <-done; !errors.As(r.err, &e) || e.Code != rdmaio.PeerErrSegments || e.Max != 16 || e.Version != 2 {
			t.Errorf("found %v, expected the error about 16 segments of version 2", r.err)
		}
		done = start(conn, bigCall(10, 40))
		if m := p.Next(); !m.IsCall() || m.XID != 10 {
			t.Errorf("found %v, expected the next Call on the same connection", m)
		}
		p.Send(peer2.Reply(10, replyOf(10, 24)))
		if r := <-done; r.err != nil {
			t.Error(r.err)
		}
	})
}
