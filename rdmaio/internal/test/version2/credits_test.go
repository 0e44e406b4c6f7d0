package version2

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/rpcrdma/rpcrdma/internal/peertest/peer2"
	"github.com/rpcrdma/rpcrdma/internal/rdmaiotest"
	"github.com/rpcrdma/rpcrdma/internal/rpctest"
	"github.com/rpcrdma/rpcrdma/internal/v2test"
	"github.com/rpcrdma/rpcrdma/rdmaio"
)

// takeCalls takes n Calls, after which no other comes.
func takeCalls(t *testing.T, p *peer2.Peer, n int) (list []peer2.Message) {
	t.Helper()
	for range n {
		m := p.Next()
		if !m.IsCall() {
			t.Fatalf("%v, want a Call", m)
		}
		list = append(list, m)
	}
	p.Quiet()
	return list
}

// Our client has as many messages out as the server granted, whatever the words say: the first
// grant is one at least, none is more than its ceiling, a later one may lower it, and an ERROR
// grants nothing (R167, R169, R170, R173, R177, R178, R179, R180; T8, T9, T10, T11, T14).
func TestClientKeepsToTheGrants(t *testing.T) {
	type word struct{ ceiling, credits int }
	reply := func(m *peer2.Message) peer2.Message { return peer2.Reply(m.XID, rpctest.ReplyBytes(m.XID, 24)) }
	refuse := func(m *peer2.Message) peer2.Message { return peer2.Err(m.XID, peer2.ErrSystem) }
	type step struct {
		answer func(m *peer2.Message) peer2.Message // to the oldest Call; nil: a grant
		word   word
		more   int // Calls that come afterwards
	}
	for _, c := range []struct {
		name  string
		first word // of the CONNPROP
		more  int  // Calls that come then
		steps []step
	}{
		{"one", word{8, 1}, 1, []step{{reply, word{8, 1}, 1}, {reply, word{8, 1}, 1}}},
		{"T8: the first grant is zero", word{8, 0}, 1, []step{{reply, word{8, 1}, 1}}},
		{"T8: ceiling zero, too", word{0, 0}, 1, []step{{reply, word{8, 2}, 2}}},
		{"ceiling zero, one credit", word{0, 1}, 1, []step{{reply, word{8, 1}, 1}}},
		{"a later grant of zero is none", word{8, 1}, 1, []step{{reply, word{8, 0}, 0}, {nil, word{8, 1}, 1}}},
		{"three at once", word{8, 3}, 3, []step{{reply, word{8, 2}, 2}}},
		{"T9: more than the ceiling", word{2, 5}, 2, []step{{reply, word{2, 5}, 1}}},
		{"T9: 65535 with a ceiling of 1", word{1, 65535}, 1, []step{{reply, word{1, 65535}, 1}, {reply, word{1, 65535}, 1}}},
		{"T10: 65535 again and again", word{65535, 65535}, 10, []step{{reply, word{65535, 65535}, 1}, {nil, word{65535, 65535}, 0}, {nil, word{65535, 65535}, 0}, {reply, word{65535, 65535}, 1}}},
		{"T11: a grant alone", word{8, 1}, 1, []step{{nil, word{8, 2}, 2}, {nil, word{8, 1}, 1}}},
		{"R173: the ceiling is lowered", word{8, 4}, 4, []step{{reply, word{2, 0}, 0}, {reply, word{2, 0}, 0}, {reply, word{2, 1}, 1}, {reply, word{2, 1}, 1}, {reply, word{8, 3}, 3}}},
		{"R177: an ERROR grants nothing", word{8, 1}, 1, []step{{refuse, word{8, 5}, 0}, {nil, word{8, 1}, 1}}},
		{"the ceiling limits Calls in flight, too", word{1, 1}, 1, []step{{nil, word{1, 1}, 0}, {reply, word{1, 0}, 1}}},
	} {
		v2test.Each(t, c.name, func(t *testing.T, w *rdmaiotest.World) {
			p, done := v2test.DialPeer(t, w, peer2.Config{Ceiling: 32}, v2test.Config(rdmaio.Config{Credits: 10, NoCancel: true}))
			offer := p.Next()
			if offer.Ceiling() != 10+1 {
				t.Errorf("R167: the first ceiling is %d, want 11", offer.Ceiling())
			}
			p.SendWith(peer2.Props(offer.XID), c.first.ceiling, c.first.credits)
			conn := v2test.Connected(t, done)
			ctx, cancel := context.WithCancel(context.Background())
			var calls []<-chan v2test.Result
			for xid := range uint32(20) {
				calls = append(calls, v2test.StartWith(ctx, conn, rpctest.BigCall(xid, 40)))
			}
			out := takeCalls(t, p, c.more)
			for i, s := range c.steps {
				m := peer2.Grant()
				if s.answer != nil {
					m, out = s.answer(&out[0]), out[1:]
				}
				p.SendWith(m, s.word.ceiling, s.word.credits)
				t.Logf("step %d", i)
				out = append(out, takeCalls(t, p, s.more)...)
			}
			cancel()
			for _, done := range calls {
				<-done
			}
			p.Book.In = min(p.Book.In, 16) // of those beyond the ceiling, none is used
			// T14, R181: the Replies to cancelled Calls come now, and the credits are back.
			for i := range out {
				p.SendWith(reply(&out[i]), 32, 1)
			}
			for xid := range uint32(3) {
				v2test.Serves(t, p, conn, 100+xid)
			}
		})
	}
}

// A peer that sends more than it was granted loses the connection (R170; T1, T12, T15), but for one
// grant alone, for which there is a Receive more (R172, R175, T11).
func TestPeerBeyondItsGrantIsLost(t *testing.T) {
	call := func(i int) peer2.Message { return peer2.Call(uint32(i), rpctest.CallBytes(uint32(i), 40)) }
	for _, c := range []struct {
		name    string
		credits int
		list    func() []peer2.Message
		ends    bool
	}{
		{"as many Calls as granted", 3, func() []peer2.Message { return []peer2.Message{call(1), call(2), call(3)} }, false},
		{"T11: and a grant", 3, func() []peer2.Message { return []peer2.Message{call(1), call(2), call(3), peer2.Grant()} }, false},
		{"T1: many Calls more", 3, func() (l []peer2.Message) {
			for i := range 3 + 3 {
				l = append(l, call(i))
			}
			return l
		}, true},
		{"T12: grants after the last credit", 1, func() []peer2.Message { return []peer2.Message{call(1), peer2.Grant(), peer2.Grant(), peer2.Grant()} }, true},
		{"T15: Calls before the first grant", 1, func() []peer2.Message { return []peer2.Message{call(1), call(2), call(3)} }, true},
	} {
		v2test.Each(t, "server, "+c.name, func(t *testing.T, w *rdmaiotest.World) {
			ends := make(chan error, 1)
			release := make(chan struct{})
			a := &rpctest.App{Reply: func(r *rdmaio.Request) bool { <-release; r.Drop(nil); return true }}
			p := v2test.Server(t, w, a, peer2.Config{Ceiling: 1}, v2test.Config(rdmaio.Config{Credits: c.credits, Events: func(e rdmaio.Event) {
				if down, ok := e.(*rdmaio.ConnDown); ok {
					ends <- down.Reason
				}
			}}))
			if p.Book.Out != c.credits {
				t.Fatalf("%d credits", p.Book.Out)
			}
			for i, m := range c.list() {
				p.Force(m, 1, 1-min(i, 1)) // the server has used the credit of the properties
			}
			if c.ends {
				p.Ends()
				close(release)
				var f *rdmaio.Fault
				if err := <-ends; !errors.As(err, &f) {
					t.Errorf("the connection ended with %v, want a Fault", err)
				}
				return
			}
			p.Quiet()
			close(release)
		})
	}
	v2test.Each(t, "client, T11: a grant more", func(t *testing.T, w *rdmaiotest.World) {
		p, done := v2test.DialPeer(t, w, peer2.Config{}, v2test.Config(rdmaio.Config{Credits: 2}))
		offer := p.Next()
		p.SendWith(peer2.Props(offer.XID), 1, 0) // one credit, for which there is no use
		conn := v2test.Connected(t, done)
		p.Force(peer2.Err(1, 2), 1, 0)
		p.Force(peer2.Grant(), 1, 0)
		p.Quiet()
		v2test.Serves(t, p, conn, 7)
	})
}

// A peer that sends Grants alone, as keep-alives, always gets new credits, for any ceiling, even if
// it grants nothing by them: both ends can go on to call each other (R171, R176).
func TestGrantsAloneLeaveCredits(t *testing.T) {
	for _, credits := range []int{1, 2, 3, 16} {
		for _, reverse := range []int{-1, 1, 4} {
			cfg := func() *rdmaio.Config {
				return v2test.Config(rdmaio.Config{Credits: credits, ReverseCredits: reverse})
			}
			keepAlive := func(p *peer2.Peer, n int) {
				for range n {
					p.SendWith(peer2.Grant(), 16, 0)
				}
			}
			name := fmt.Sprintf("%d and %d credits", credits, reverse)
			v2test.Each(t, "server, "+name, func(t *testing.T, w *rdmaiotest.World) {
				p := v2test.Server(t, w, new(rpctest.App), peer2.Config{Ceiling: 16}, cfg())
				for xid := range uint32(3) {
					keepAlive(p, 100)
					v2test.Works(t, p, xid)
				}
			})
			v2test.Each(t, "client, "+name, func(t *testing.T, w *rdmaiotest.World) {
				p, conn := v2test.Client(t, w, peer2.Config{Ceiling: 16}, cfg())
				for xid := range uint32(3) {
					keepAlive(p, 100)
					v2test.Serves(t, p, conn, xid)
				}
			})
		}
	}
}

// Grants that use half of the credits are answered by one Grant at most (R176, T12), and a Grant
// without use costs nothing else.
func TestGrantsAreAnsweredTogether(t *testing.T) {
	v2test.Each(t, "server", func(t *testing.T, w *rdmaiotest.World) {
		p := v2test.Server(t, w, new(rpctest.App), peer2.Config{}, v2test.Config(rdmaio.Config{Credits: 20}))
		p.Quiet()
		before := p.Grants
		for range 10 {
			p.Send(peer2.Grant())
		}
		p.Quiet()
		if p.Grants > before+1 { // one for the properties
			t.Errorf("%d grants came", p.Grants-before)
		}
		v2test.Works(t, p, 9)
	})
	v2test.Each(t, "client", func(t *testing.T, w *rdmaiotest.World) {
		p, conn := v2test.Client(t, w, peer2.Config{}, v2test.Config(rdmaio.Config{Credits: 20}))
		p.Quiet()
		before := p.Grants
		for range 10 {
			p.Send(peer2.Grant())
		}
		p.Quiet()
		if p.Grants > before+1 { // one for the properties
			t.Errorf("%d grants came", p.Grants-before)
		}
		v2test.Serves(t, p, conn, 9)
	})
}

// Messages that get no answer return their credits all the same, so that however many cannot stop
// the peer (R171, R181). The server's first word grants at most its ceiling (R167, R179).
func TestUnansweredMessagesGiveCreditsBack(t *testing.T) {
	for _, credits := range []int{1, 2, 5} {
		for _, c := range []struct {
			name string
			m    func(xid uint32) peer2.Message
			wait bool // each has an answer
		}{
			{"Calls", func(xid uint32) peer2.Message { return peer2.Call(xid, rpctest.CallBytes(xid, 40)) }, true},
			{"Calls that are dropped", func(xid uint32) peer2.Message { return peer2.Call(xid, rpctest.CallBytes(xid, 44)) }, false},
			{"bad Calls", func(xid uint32) peer2.Message { return peer2.Call(xid, nil) }, true},
			{"Replies", func(xid uint32) peer2.Message { return peer2.Reply(xid, rpctest.ReplyBytes(xid, 24)) }, false},
			{"CONNPROPs", func(xid uint32) peer2.Message { return peer2.Props(xid) }, false},
			{"ERRORs", func(xid uint32) peer2.Message { return peer2.Err(xid, 2) }, false},
		} {
			v2test.Each(t, fmt.Sprintf("%s, %d credits", c.name, credits), func(t *testing.T, w *rdmaiotest.World) {
				a := &rpctest.App{Reply: func(r *rdmaio.Request) bool {
					if len(r.Message) == 44 {
						r.Drop(nil)
						return true
					}
					return false
				}}
				p := v2test.Server(t, w, a, peer2.Config{}, v2test.Config(rdmaio.Config{Credits: credits, MaxErrors: -1}))
				if got := p.Book.Out; got != credits {
					t.Errorf("%d credits after the properties", got)
				}
				for i := range 30 {
					p.Send(c.m(uint32(i)))
					if c.wait {
						p.Next()
					}
				}
				v2test.Works(t, p, 99)
			})
		}
	}
}
