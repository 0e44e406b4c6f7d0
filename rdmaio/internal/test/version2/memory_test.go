package version2

import (
	"fmt"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/peertest"
	"github.com/rpcrdma/rpcrdma/internal/peertest/peer2"
	"github.com/rpcrdma/rpcrdma/internal/rdmaiotest"
	"github.com/rpcrdma/rpcrdma/internal/rpctest"
	"github.com/rpcrdma/rpcrdma/internal/v2test"
	"github.com/rpcrdma/rpcrdma/rdmaio"
)

// refuseWrites makes n Calls, from this XID on, whose write chunk is too short. It returns the
// answers by code.
func refuseWrites(t *testing.T, p *peer2.Peer, first, n uint32) map[uint32]int {
	t.Helper()
	o := p.Offer(64, rdmaiotest.AnyAccess)
	codes := map[uint32]int{}
	for xid := first; xid < first+n; xid++ {
		m := peer2.Call(xid, rpctest.CallBytes(xid, 40))
		m.Writes = [][]peertest.Segment{{{Key: o.RKey(), Length: 1, Addr: o.RemoteAddr()}}}
		p.Send(m)
		codes[p.Next().Code]++
	}
	return codes
}

// sendQuietly sends m without a line in the log, which would be long, and would count as memory.
func sendQuietly(p *peer2.Peer, m peer2.Message) {
	for p.Book.Out == 0 {
		p.NextGrant()
	}
	m.Credit = peer2.Word(p.Ceiling, max(0, p.Ceiling-p.Book.In))
	_ = p.Book.Sent(&m)
	p.Peer.Send(m.Bytes())
}

// Replies that are kept for Calls that come again (R209) count for Config.MaxMemory, over all
// connections. Without memory the Call gets SYSTEM. When a connection is closed, they are freed
// (R310).
func TestKeptRepliesCountAsMemory(t *testing.T) {
	const reply = 40000
	v2test.Each(t, "one connection", func(t *testing.T, w *rdmaiotest.World) {
		s := w.Serve(rpctest.ChunkApp(reply), v2test.Config(rdmaio.Config{MaxErrors: -1}))
		p := v2test.Hello(t, v2test.RawClient(t, w, peer2.Config{}))
		if codes := refuseWrites(t, p, 0, 100); codes[peer2.ErrWriteResource] != 100 {
			t.Errorf("answers %v", codes)
		}
		// The last Request counts until the server releases the memory.
		got := s.Stats().Memory
		for end := time.Now().Add(10 * time.Second); got > 1<<20 && time.Now().Before(end); got = s.Stats().Memory {
			time.Sleep(time.Millisecond)
		}
		if got < 20*reply || got > 1<<20 {
			t.Errorf("%d bytes are in use, want a MiB at most", got)
		}
		if err := p.QP.Disconnect(); err != nil {
			t.Error(err)
		}
		rdmaiotest.AwaitMemory(t, s)
	})
	v2test.Each(t, "many connections", func(t *testing.T, w *rdmaiotest.World) {
		const limit = 300 << 10
		s := w.Serve(rpctest.ChunkApp(reply), v2test.Config(rdmaio.Config{MaxErrors: -1, MaxMemory: limit, Credits: 4}))
		codes := map[uint32]int{}
		var peers []*peer2.Peer
		for range 10 {
			p := v2test.Hello(t, v2test.RawClient(t, w, peer2.Config{}))
			for code, n := range refuseWrites(t, p, 0, 3) {
				codes[code] += n
			}
			peers = append(peers, p)
		}
		if codes[peer2.ErrWriteResource] == 0 || codes[peer2.ErrSystem] == 0 || len(codes) != 2 {
			t.Errorf("answers %v, want some of 8 and of 10", codes)
		}
		if got := s.Stats().Memory; got > limit {
			t.Errorf("%d bytes are in use", got)
		}
		for _, p := range peers {
			if err := p.QP.Disconnect(); err != nil {
				t.Error(err)
			}
		}
		rdmaiotest.AwaitMemory(t, s)
	})
	v2test.Each(t, "small replies", func(t *testing.T, w *rdmaiotest.World) {
		s := w.Serve(rpctest.ChunkApp(8), v2test.Config(rdmaio.Config{MaxErrors: -1}))
		p := v2test.Hello(t, v2test.RawClient(t, w, peer2.Config{}))
		refuseWrites(t, p, 0, 10)
		if got := s.Stats().Memory; got < 10*300 {
			t.Errorf("%d bytes are in use for 10 replies: what holds them is not counted", got)
		}
	})
}

// A kept reply is dropped after 30 s on an idle connection, too.
func TestKeptReplyExpiresOnAnIdleConnection(t *testing.T) {
	rdmaiotest.Steady(t, func(t *testing.T, w *rdmaiotest.World) {
		s := w.Serve(rpctest.ChunkApp(40000), v2test.Config(rdmaio.Config{}))
		p := v2test.Hello(t, v2test.RawClient(t, w, peer2.Config{}))
		refuseWrites(t, p, 1, 1)
		time.Sleep(20 * time.Second)
		refuseWrites(t, p, 2, 1)
		for _, c := range []struct {
			after time.Duration
			least int64
		}{{9 * time.Second, 80000}, {2 * time.Second, 40000}, {20 * time.Second, 0}} {
			time.Sleep(c.after)
			if got := s.Stats().Memory; got < c.least || got > c.least+2000 {
				t.Errorf("%d bytes are in use, want about %d", got, c.least)
			}
		}
	})
}

// Properties of a peer that this side does not know use no memory after they were checked. While
// their set is not complete, they count for Config.MaxMemory (R222, R310, R313).
func TestUnknownPropertiesCostNoMemory(t *testing.T) {
	// set is one of many properties without a value, which are largest in memory.
	set := func(more bool) peer2.Message {
		m := peer2.Props(9)
		for i := range uint32(500) {
			m.Set = append(m.Set, peer2.Property{ID: 1000 + i})
		}
		if more {
			m.Flags = peer2.More
		}
		return m
	}
	v2test.Each(t, "a set that goes on", func(t *testing.T, w *rdmaiotest.World) {
		const limit = 200 << 10
		s := w.Serve(new(rpctest.App), v2test.Config(rdmaio.Config{MaxMemory: limit}))
		p := v2test.RawClient(t, w, peer2.Config{})
		for i := range 30 {
			sendQuietly(p, set(true))
			p.Quiet()
			if got := s.Stats().Memory; got > limit || i == 5 && got < 6*500*8 {
				t.Fatalf("%d bytes are in use after %d parts", got, i+1)
			}
		}
		sendQuietly(p, set(false))
		codes := map[string]int{}
		for range 2 {
			m := p.Next()
			codes[fmt.Sprint(m.Type, m.Code)]++
		}
		if codes["4 10"]+codes["4 2"] != 1 || codes["5 0"] != 1 {
			t.Errorf("answers %v, want an ERROR and a CONNPROP", codes)
		}
		rdmaiotest.AwaitMemory(t, s)
		v2test.Works(t, p, 10)
	})
	v2test.Each(t, "a set that breaks off", func(t *testing.T, w *rdmaiotest.World) {
		s := w.Serve(new(rpctest.App), v2test.Config(rdmaio.Config{}))
		p := v2test.RawClient(t, w, peer2.Config{})
		sendQuietly(p, set(true))
		p.Send(peer2.Call(10, rpctest.CallBytes(10, 40)))
		if m := p.Next(); m.Type != peer2.Error {
			t.Errorf("answer %v", m)
		}
		rdmaiotest.AwaitMemory(t, s)
		sendQuietly(p, set(true))
		if err := p.QP.Disconnect(); err != nil {
			t.Error(err)
		}
		rdmaiotest.AwaitMemory(t, s)
	})
	t.Run("idle connections", func(t *testing.T) {
		w := rdmaiotest.NewWith(t, rdmaiotest.Options{Bare: true})
		w.Serve(new(rpctest.App), v2test.Config(rdmaio.Config{Credits: 4}))
		grown := func(message peer2.Message, parts int) int64 {
			before := rdmaiotest.HeapInUse()
			const many = 8
			for range many {
				p := v2test.RawClient(t, w, peer2.Config{})
				for range parts {
					m := message
					m.Flags = peer2.More
					sendQuietly(p, m)
				}
				sendQuietly(p, message)
				if m := p.Next(); m.Type != peer2.ConnProp {
					t.Errorf("got %v", m)
				}
				v2test.Works(t, p, 9)
			}
			return (rdmaiotest.HeapInUse() - before) / many
		}
		// Goroutines of other tests may still return their memory, which takes long on a busy
		// machine: the smallest of at most ten growths counts.
		const allowed = 50 << 10
		least, most := grown(peer2.Props(1), 0), grown(set(false), 12)
		for n := 1; n < 10 && most > least+allowed; n++ {
			most = min(most, grown(set(false), 12))
		}
		if most > least+allowed {
			t.Errorf("an idle connection keeps %d bytes after 6,500 properties, %d after none", most, least)
		}
	})
}
