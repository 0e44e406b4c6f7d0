package version2

import (
	"bytes"
	"errors"
	"testing"

	"github.com/rpcrdma/rpcrdma/internal/peertest"
	"github.com/rpcrdma/rpcrdma/internal/peertest/peer2"
	"github.com/rpcrdma/rpcrdma/internal/rdmaiotest"
	"github.com/rpcrdma/rpcrdma/internal/rpctest"
	"github.com/rpcrdma/rpcrdma/internal/v2test"
	"github.com/rpcrdma/rpcrdma/rdmaio"
)

// Chunks that a client of version 2 offers have the exact length of their item, with no bytes for
// its roundup, in whatever segments (draft-ietf-nfsv4-rpcrdma-version-two-00 §4.4.5, §4.4.6; R71,
// R82).
func TestOfferedChunksOfVersion2HaveNoRoundup(t *testing.T) {
	for _, n := range []int{60000, 60001, 60002, 60003} {
		v2test.Each(t, "", func(t *testing.T, w *rdmaiotest.World) {
			p, conn := v2test.Client(t, w, peer2.Config{}, v2test.Config(rdmaio.Config{SegmentSize: 20001}))
			call := rpctest.WriteCall(9, 0, make([]byte, n))
			call.Results = [][]byte{make([]byte, n)}
			done := v2test.Start(conn, call)
			m := p.Next()
			offered := map[string][]peertest.Segment{"read": m.Reads}
			if len(m.Writes) == 1 {
				offered["write"] = m.Writes[0]
			}
			for kind, chunk := range offered {
				if got := peertest.Length(chunk); got != n || len(chunk) != (n+20000)/20001 {
					t.Errorf("%d bytes: found a %s chunk of %d bytes in %d segments: %v", n, kind, got, len(chunk), m)
				}
			}
			if len(offered) != 2 {
				t.Errorf("%d bytes: found no write chunk in %v", n, m)
			}
			p.Send(m.Unused(rpctest.ReplyBytes(9, 24)))
			if r := <-done; r.Err != nil {
				t.Error(r.Err)
			}
		})
	}
}

// A server of version 2 writes a result without its roundup, even where the chunk has room for it,
// and returns the exact length (R82).
func TestWrittenResultsOfVersion2HaveNoRoundup(t *testing.T) {
	for _, n := range []int{3001, 3002, 3003} {
		v2test.Each(t, "", func(t *testing.T, w *rdmaiotest.World) {
			a := &rpctest.App{Reply: func(r *rdmaio.Request) bool {
				e := rpctest.ReplyHeader(9)
				e.Reduce = true
				e.Opaque("item", rdmaiotest.Pattern(n, 1))
				r.Reply(e.Message(), nil)
				return true
			}}
			p := v2test.Server(t, w, a, peer2.Config{}, v2test.Config(rdmaio.Config{}))
			o := p.Offer(3008, rdmaiotest.AnyAccess)
			for i := range o.Data {
				o.Data[i] = 0xee
			}
			m := peer2.Call(9, rpctest.CallBytes(9, 40))
			m.Writes = [][]peertest.Segment{{{Key: o.RKey(), Length: 3008, Addr: o.RemoteAddr()}}}
			p.Send(m)
			m = p.Next()
			if !m.IsReply() || len(m.Writes) != 1 || peertest.Length(m.Writes[0]) != n {
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
	v2test.Each(t, "", func(t *testing.T, w *rdmaiotest.World) {
		p, conn := v2test.Client(t, w, peer2.Config{}, v2test.Config(rdmaio.Config{}))
		done := v2test.Start(conn, rpctest.BigCall(9, 40))
		p.Next()
		answer := peer2.Err(9, 7, 16)
		if b, want := answer.Bytes()[12:], []byte{0, 0, 0, 4, 0, 0, 0, 1, 0, 0, 0, 7, 0, 0, 0, 16}; !bytes.Equal(b, want) {
			t.Fatalf("found the words %x, expected %x", b, want)
		}
		p.Send(answer)
		var e *rdmaio.PeerError
		if r := <-done; !errors.As(r.Err, &e) || e.Code != rdmaio.PeerErrSegments || e.Max != 16 || e.Version != 2 {
			t.Errorf("found %v, expected the error about 16 segments of version 2", r.Err)
		}
		done = v2test.Start(conn, rpctest.BigCall(10, 40))
		if m := p.Next(); !m.IsCall() || m.XID != 10 {
			t.Errorf("found %v, expected the next Call on the same connection", m)
		}
		p.Send(peer2.Reply(10, rpctest.ReplyBytes(10, 24)))
		if r := <-done; r.Err != nil {
			t.Error(r.Err)
		}
	})
}
