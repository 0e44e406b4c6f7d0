package v2test

import (
	"encoding/binary"
	"math"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/rpcrdma/rpcrdma/internal/peertest"
	"github.com/rpcrdma/rpcrdma/internal/peertest/peer2"
	"github.com/rpcrdma/rpcrdma/internal/rdmaiotest"
	"github.com/rpcrdma/rpcrdma/internal/rpctest"
	"github.com/rpcrdma/rpcrdma/rdmaio"
)

// Worlds runs a test with each World that its caller has, as subtests with a name. It is Each, or
// has the World of another provider.
type Worlds func(t *testing.T, name string, test func(t *testing.T, w *rdmaiotest.World))

// TakesAdvertised checks that a server takes as much as it says, and refuses one more as it says:
// credits, bytes of a message and a segment, segments of a chunk, and the numbers of read and write
// chunks, which its ERRORs name. The scripted client reads each value from the server's messages.
func TakesAdvertised(t *testing.T, each Worlds) {
	t.Helper()
	type seg = peertest.Segment
	for name, cfg := range map[string]rdmaio.Config{
		"small": {Credits: 3, ReverseCredits: -1, MaxSegments: 5, MaxChunks: 2},
		"large": {Credits: 20, ReverseCredits: 7, MaxSegments: 150, MaxChunks: 9, InlineSend: 8192, InlineRecv: 12288},
		"queue": {Credits: 2, SendQueue: 4, MaxSegments: 64, MaxChunks: 3},
	} {
		each(t, name, func(t *testing.T, w *rdmaiotest.World) {
			hold := make(chan struct{})
			var held atomic.Bool
			var length atomic.Int32 // of replies; 0: any
			a := &rpctest.App{Reply: func(r *rdmaio.Request) bool {
				if held.Load() {
					<-hold
				}
				n := int(length.Load())
				if n > 0 {
					r.Reply(rdmaio.Message{Inline: rpctest.ReplyBytes(binary.BigEndian.Uint32(r.Message), n)}, nil)
				}
				return n > 0
			}}
			w.Serve(a, Config(cfg))
			p := RawClient(t, w, peer2.Config{Ceiling: 64, Size: 8192})
			p.Send(peer2.Props(0x100, peer2.Prop(peer2.ReceiveSize, 8192)))
			offer := p.Next()
			size, ok := offer.Value(peer2.ReceiveSize)
			segments, ok2 := offer.Value(peer2.SegmentCount)
			if offer.Type != peer2.ConnProp || !ok || !ok2 {
				t.Fatalf("the server answers a CONNPROP with %v", offer)
			}
			if want := max(cfg.InlineRecv, 4096); int(size) != want || int(segments) != cfg.MaxSegments {
				t.Errorf("it advertises %d bytes and %d segments, want %d and %d", size, segments, want, cfg.MaxSegments)
			}
			longest, _ := offer.Value(peer2.SendSize)
			segment, _ := offer.Value(peer2.SegmentSize)
			if want := max(cfg.InlineSend, 4096); int(longest) != want || segment != math.MaxInt32 {
				t.Errorf("it advertises messages of %d bytes and segments of %d, want %d and 2 GiB", longest, segment, want)
			}
			if reverse, _ := offer.Value(peer2.Reverse); reverse != 2 || len(offer.Set) != 5 {
				t.Errorf("it advertises level %d of reverse Calls, and %d properties", reverse, len(offer.Set))
			}
			credits := p.Book.Out
			o := p.Offer(8192, rdmaiotest.AnyAccess)
			target := seg{Key: o.RKey(), Length: 8, Addr: o.RemoteAddr()}
			xid := uint32(0x200)
			ask := func(change func(m *peer2.Message)) peer2.Message {
				xid++
				m := peer2.Call(xid, rpctest.CallBytes(xid, 40))
				change(&m)
				p.Send(m)
				answer := p.Next()
				if answer.XID != xid {
					t.Fatalf("%v answers %#x", answer, xid)
				}
				return answer
			}
			refused := func(code uint32, change func(m *peer2.Message)) uint32 {
				m := ask(change)
				if m.Type != peer2.Error || m.Code != code || len(m.Args) != 1 {
					t.Fatalf("one more: %v, want an ERROR of code %d with a number", m, code)
				}
				return m.Args[0]
			}
			served := func(what string, change func(m *peer2.Message)) {
				if m := ask(change); !m.IsReply() {
					t.Errorf("%s: %v", what, m)
				}
			}

			served("a message of the advertised size", func(m *peer2.Message) {
				m.Payload = rpctest.CallBytes(m.XID, int(size)-(len(m.Bytes())-len(m.Payload)))
			})
			replies := func(n int) peer2.Message { // of one message, header included
				m := peer2.Reply(0, nil)
				length.Store(int32(n - len(m.Bytes())))
				xid++
				p.Send(peer2.Call(xid, rpctest.CallBytes(xid, 40)))
				answer := p.Next()
				length.Store(0)
				return answer
			}
			if m := replies(int(longest)); !m.IsReply() || m.Flags&peer2.More != 0 || len(m.Bytes()) != int(longest) {
				t.Errorf("a reply of the advertised size: %v, %d bytes", m, len(m.Bytes()))
			}
			if m := replies(int(longest) + 4); m.Flags&peer2.More == 0 || len(m.Bytes()) > int(longest) {
				t.Errorf("a longer one: %v, %d bytes", m, len(m.Bytes()))
			} else if _, parts := p.Whole(); parts != 1 {
				t.Errorf("%d further parts", parts)
			}
			served("a segment of the advertised size", func(m *peer2.Message) {
				m.Writes = [][]seg{{{Key: target.Key, Length: segment, Addr: target.Addr}}}
			})
			chunk := func(n int) []seg { return slices.Repeat([]seg{target}, n) }
			served("segments of a write chunk", func(m *peer2.Message) { m.Writes = [][]seg{chunk(int(segments))} })
			served("segments of the reply chunk", func(m *peer2.Message) { m.Reply = chunk(int(segments)) })
			for _, change := range []func(m *peer2.Message){
				func(m *peer2.Message) { m.Writes = [][]seg{chunk(int(segments) + 1)} },
				func(m *peer2.Message) { m.Reply = chunk(int(segments) + 1) },
			} {
				if n := refused(peer2.ErrSegments, change); n != segments {
					t.Errorf("the ERROR names %d segments, the properties %d", n, segments)
				}
			}

			reads := func(n int) func(m *peer2.Message) {
				return func(m *peer2.Message) {
					m.Payload = rpctest.CallBytes(m.XID, 40+8*n)
					for i := range n {
						s := target
						s.Position, s.Length = uint32(40+16*i), 8
						m.Reads = append(m.Reads, s)
					}
				}
			}
			writes := func(n int) func(m *peer2.Message) {
				return func(m *peer2.Message) { m.Writes = make([][]seg, n) }
			}
			served("as many read chunks as the ERROR names", reads(int(refused(peer2.ErrReadChunks, reads(cfg.MaxChunks+1)))))
			served("as many write chunks as the ERROR names", writes(int(refused(peer2.ErrWriteChunks, writes(cfg.MaxChunks+1)))))

			if credits != cfg.Credits+max(cfg.ReverseCredits, 0) && cfg.ReverseCredits != 0 {
				t.Errorf("it grants %d credits, want %d and %d", credits, cfg.Credits, cfg.ReverseCredits)
			}
			p.Quiet()
			if p.Book.Out > credits {
				t.Fatalf("%d credits, the first message granted %d", p.Book.Out, credits)
			}
			held.Store(true)
			n := p.Book.Out
			for range n {
				xid++
				p.Send(peer2.Call(xid, rpctest.CallBytes(xid, 40)))
			}
			close(hold)
			for range n {
				if m := p.Next(); !m.IsReply() {
					t.Errorf("one of %d Calls for as many credits: %v", n, m)
				}
			}
		})
	}
}

// RefusesMore checks that a message more than the server's credits, or a word longer than its
// Receives, costs the connection.
func RefusesMore(t *testing.T, each Worlds) {
	t.Helper()
	for name, more := range map[string]func(p *peer2.Peer, size, credits int){
		"a message longer than the Receives": func(p *peer2.Peer, size, _ int) {
			m := peer2.Call(0x200, nil)
			m.Payload = rpctest.CallBytes(0x200, size-len(m.Bytes())+4)
			p.Send(m)
		},
		"a message more than the credits": func(p *peer2.Peer, _, credits int) {
			for xid := uint32(0x200); xid <= 0x200+uint32(credits); xid++ {
				p.Force(peer2.Call(xid, rpctest.CallBytes(xid, 40)), p.Ceiling, 0)
			}
		},
	} {
		each(t, name, func(t *testing.T, w *rdmaiotest.World) {
			hold := make(chan struct{})
			w.Serve(&rpctest.App{Reply: func(*rdmaio.Request) bool {
				select {
				case <-hold:
				case <-t.Context().Done():
				}
				return false
			}}, Config(rdmaio.Config{Credits: 3, ReverseCredits: -1}))
			p := RawClient(t, w, peer2.Config{Ceiling: 64, Size: 8192})
			p.Send(peer2.Props(0x100, peer2.Prop(peer2.ReceiveSize, 8192)))
			offer := p.Next()
			size, _ := offer.Value(peer2.ReceiveSize)
			more(p, int(size), p.Book.Out)
			p.Ends()
			close(hold)
		})
	}
}

// TakesAdvertisedBack checks that a client takes as many messages of a server as its first message
// grants, all of them reverse Calls, in messages as long as it says, and refuses one more.
func TakesAdvertisedBack(t *testing.T, each Worlds) {
	t.Helper()
	for name, more := range map[string]bool{"as many reverse Calls as credits": false, "one more": true} {
		each(t, name, func(t *testing.T, w *rdmaiotest.World) {
			const n = 5 // credits: the properties take one, which a Grant gives back
			hold := make(chan struct{})
			app := &rpctest.App{Reply: func(*rdmaio.Request) bool {
				select {
				case <-hold:
				case <-t.Context().Done():
				}
				return false
			}}
			p, done := DialPeer(t, w, peer2.Config{Ceiling: 16}, Config(rdmaio.Config{
				Versions: []int{2}, Credits: 3, ReverseCredits: 2, ReverseHandler: app, InlineRecv: 8192, InlineSend: 4096,
			}))
			offer := p.Next()
			size, _ := offer.Value(peer2.ReceiveSize)
			longest, _ := offer.Value(peer2.SendSize)
			if level, _ := offer.Value(peer2.Reverse); level != 1 || size != 8192 || longest != 4096 || p.Book.Out != n {
				t.Errorf("%v, %d credits; want reverse Calls of one message, 8192 and 4096 bytes, 5 credits", offer, p.Book.Out)
			}
			p.Send(peer2.Props(offer.XID, peer2.Prop(peer2.SendSize, size)))
			Connected(t, done)
			for xid := range uint32(n) {
				m := peer2.Call(xid, nil)
				m.Payload = rpctest.CallBytes(xid, int(size)-len(m.Bytes()))
				p.SendWith(m, p.Ceiling, 0)
			}
			if more {
				p.Force(peer2.Call(99, rpctest.CallBytes(99, 40)), p.Ceiling, 0)
				p.Ends()
				close(hold)
				return
			}
			close(hold)
			for range n {
				if m := p.Next(); !m.IsReply() {
					t.Errorf("one of %d reverse Calls for as many credits: %v", n, m)
				}
			}
		})
	}
}
