package version2

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/peertest"
	"github.com/rpcrdma/rpcrdma/internal/peertest/peer2"
	"github.com/rpcrdma/rpcrdma/internal/rdmaiotest"
	"github.com/rpcrdma/rpcrdma/internal/rpctest"
	"github.com/rpcrdma/rpcrdma/internal/v2test"
	"github.com/rpcrdma/rpcrdma/rdmaio"
)

// randomMessage returns a message that is good, or has a few faults: fields with other values, a
// word changed, bytes missing or added.
func randomMessage(r *rand.Rand, o *peertest.Offer, response bool) []byte {
	pick := func(list ...uint32) uint32 { return list[r.IntN(len(list))] }
	xid := pick(1, 2, 3, 4)
	seg := func() peertest.Segment {
		s := peertest.Segment{Position: pick(0, 4, 40, 44, 41), Key: o.RKey(), Length: pick(0, 1, 40, 1000), Addr: o.RemoteAddr()}
		if r.IntN(60) == 0 {
			s.Length = pick(0xffffffff, 1<<20)
		}
		return s
	}
	m := peer2.Call(xid, rpctest.CallBytes(xid, 40+int(pick(0, 4, 100, 3000))))
	if response {
		m = peer2.Reply(xid, rpctest.ReplyBytes(xid, 24+int(pick(0, 4, 100, 3000))))
	}
	switch r.IntN(12) {
	case 0:
		m = peer2.Props(xid, peer2.Prop(pick(1, 2, 3, 4, 5, 6, 7), pick(0, 1, 2, 4096, 0xffffffff)))
	case 1:
		m = peer2.Grant()
	case 2:
		m = peer2.Err(xid, pick(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11), pick(0, 1, 2, 5000), pick(0, 100, 100000))
	case 3:
		m.Type, m.Payload = peer2.NoMsg, nil
	case 4:
		m.Type = pick(2, 3, 6, 14, 0xffffffff)
	case 5, 6, 7:
		m.Flags |= peer2.More
		m.Payload = m.Payload[:r.IntN(len(m.Payload)+1)]
	}
	for range r.IntN(3) * r.IntN(2) {
		switch r.IntN(4) {
		case 0:
			m.Reads = append(m.Reads, seg())
		case 1:
			m.Writes = append(m.Writes, []peertest.Segment{seg()})
		case 2:
			m.Reply = []peertest.Segment{seg()}
		case 3:
			m.Key = pick(o.RKey(), 0, 77)
		}
	}
	m.Credit = peer2.Word(int(pick(0, 1, 8, 65535)), int(pick(0, 1, 4, 65535)))
	b := m.Bytes()
	switch r.IntN(12) {
	case 0:
		b = b[:r.IntN(len(b)+1)]
	case 1:
		b = append(b, make([]byte, r.IntN(9))...)
	case 2:
		if at := 4 * r.IntN(len(b)/4); at != 4 || r.IntN(10) == 0 { // a version seldom
			copy(b[at:], []byte{0, 0, 0, byte(r.IntN(4))})
		}
	}
	return b[:min(len(b), 4096)]
}

// Whatever a peer sends, our end stays up or closes the connection: it does not hang, and the
// messages that it sends obey the rules that the World's oracle checks, among them credits and
// keys. A server continues to serve others. Each message without a credit may close the connection,
// so the peer waits for credits.
func TestRandomMessagesHangNothing(t *testing.T) {
	runs := uint64(60)
	if testing.Short() {
		runs = 15
	}
	for seed := range runs {
		name := fmt.Sprint("seed ", seed)
		v2test.Each(t, "server, "+name, func(t *testing.T, w *rdmaiotest.World) {
			r := rand.New(rand.NewPCG(seed, 1))
			sizes := []int{24, 4000, 9000}
			a := &rpctest.App{Size: sizes[seed%3]}
			w.Serve(a, v2test.Config(rdmaio.Config{Credits: 1 + r.IntN(5), MaxErrors: -1, MaxContinued: 20000, WorkTimeout: 100 * time.Millisecond, RemoteInvalidate: 1}))
			p := v2test.RawClient(t, w, peer2.Config{Ceiling: 64})
			o := p.Offer(4096, rdmaiotest.AnyAccess)
			if r.IntN(4) > 0 {
				v2test.Hello(t, p)
			}
			randomTraffic(p, func() []byte { return randomMessage(r, o, r.IntN(8) == 0) })
			if err := p.QP.Disconnect(); err != nil {
				t.Error(err)
			}
			q := v2test.Hello(t, v2test.RawClient(t, w, peer2.Config{Ceiling: 32}))
			v2test.WorksInParts(t, q, 9, a.Size)
		})
		v2test.Each(t, "client, "+name, func(t *testing.T, w *rdmaiotest.World) {
			r := rand.New(rand.NewPCG(seed, 2))
			p, conn := v2test.Client(t, w, peer2.Config{Ceiling: 64}, v2test.Config(rdmaio.Config{
				Credits: 1 + r.IntN(5), MaxContinued: 20000, WorkTimeout: 100 * time.Millisecond, RemoteInvalidate: 1,
				ReverseHandler: new(rpctest.App), ReverseChunks: seed%2 == 0, MaxErrors: -1,
			}))
			o := p.Offer(4096, rdmaiotest.AnyAccess)
			var calls []<-chan v2test.Result
			for xid := range uint32(5) {
				call := rpctest.ResultsCall(xid, 500)
				if xid == 2 {
					call = rpctest.BigCall(xid, 9000)
				}
				calls = append(calls, v2test.Start(conn, call))
			}
			randomTraffic(p, func() []byte { return randomMessage(r, o, r.IntN(4) > 0) })
			if err := p.QP.Disconnect(); err != nil {
				t.Error(err)
			}
			for _, done := range calls {
				<-done // all end with the connection
			}
			<-conn.Done()
		})
	}
}

// randomTraffic sends random messages, each when there is a credit for it, until the connection is
// lost or 60 were sent. It reads all that comes.
func randomTraffic(p *peer2.Peer, next func() []byte) {
	left := p.Book.Out
	for range 60 {
		for wait := time.Millisecond; ; wait = 20 * time.Millisecond {
			b := p.Peer.Message(wait)
			if b == nil {
				break
			}
			if m, err := peer2.Parse(b); err == nil && m.Type != peer2.Error {
				left += m.Credits()
			}
			if left > 0 {
				break
			}
		}
		select {
		case <-p.Lost:
			return
		default:
		}
		if left == 0 {
			return // the other end waits for something good
		}
		left--
		p.Peer.Send(next())
	}
}
