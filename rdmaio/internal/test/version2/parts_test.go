package version2

import (
	"bytes"
	"context"
	"errors"
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

// cuts are ways to split a message of n bytes into parts.
var cuts = []struct {
	name string
	n    int
	at   []int
}{
	{"before the first byte", 40, []int{0}},
	{"after 1 byte", 40, []int{1}},
	{"after 3 bytes", 40, []int{3}},
	{"inside the XID and the type", 40, []int{2, 5}},
	{"after the XID", 40, []int{4}},
	{"after the type", 40, []int{8}},
	{"inside a word", 40, []int{21}},
	{"before the last byte", 40, []int{39}},
	{"after the last byte", 40, []int{40}},
	{"bytes", 40, every(40, 1)},
	{"empty parts", 40, []int{0, 0, 20, 20, 20, 40}},
	{"three long parts", 10000, []int{4000, 8000}},
	{"the longest parts", 20000, every(20000, 4060)},
	{"odd parts", 5001, every(5001, 777)},
	{"long and short", 6000, []int{4060, 4061, 4062, 4062, 5999}},
}

func every(n, step int) (at []int) {
	for i := step; i < n; i += step {
		at = append(at, i)
	}
	return at
}

// A message arrives whole, however it was cut, with grants between its parts, and also with one
// credit at a time (R153, R154, R160, R161, R163, T86, T91, T92). Each part costs a credit (R169).
func TestMessageArrivesHoweverItWasCut(t *testing.T) {
	for _, c := range cuts {
		for _, credits := range []int{32, 1} {
			name := fmt.Sprintf("%s, %d credits", c.name, credits)
			v2test.Each(t, "Call, "+name, func(t *testing.T, w *rdmaiotest.World) {
				a := new(rpctest.App)
				p := v2test.Server(t, w, a, peer2.Config{}, v2test.Config(rdmaio.Config{Credits: credits}))
				for xid := range uint32(2) {
					want := rpctest.CallBytes(xid, c.n)
					for i, part := range peer2.Call(xid, want).Split(c.at...) {
						if i == 2 && p.Book.Out > 2 {
							p.Send(peer2.Grant())
						}
						p.Send(part)
					}
					if m := p.Next(); !m.IsReply() || m.XID != xid {
						t.Errorf("answer %v", m)
					}
					if got := a.Calls(); len(got) != int(xid)+1 || !bytes.Equal(got[xid], want) {
						t.Errorf("%d Calls, or other bytes", len(got))
					}
				}
			})
			v2test.Each(t, "Reply, "+name, func(t *testing.T, w *rdmaiotest.World) {
				p, conn := v2test.Client(t, w, peer2.Config{}, v2test.Config(rdmaio.Config{Credits: credits}))
				for xid := range uint32(2) {
					call := rpctest.BigCall(xid, 40)
					call.MaxReply = -1
					done := v2test.Start(conn, call)
					m := p.Next()
					want := rpctest.ReplyBytes(xid, c.n)
					for i, part := range m.Unused(want).Split(c.at...) {
						if i == 2 && p.Book.Out > 2 {
							p.Send(peer2.Grant())
						}
						p.Send(part)
					}
					if r := <-done; r.Err != nil || !bytes.Equal(r.Reply.Message, want) {
						t.Errorf("the Call ended with %v, or other bytes", r.Err)
					}
				}
			})
		}
	}
}

// T86: a Call with chunks arrives whole, cut in two at each of its bytes, and in three around it.
func TestCallArrivesCutAtEachByte(t *testing.T) {
	v2test.Each(t, "Calls", func(t *testing.T, w *rdmaiotest.World) {
		a := new(rpctest.App)
		p := v2test.Server(t, w, a, peer2.Config{}, v2test.Config(rdmaio.Config{}))
		o := p.Offer(7, rdmaiotest.AnyAccess)
		xid := uint32(0)
		for at := range 61 {
			for _, list := range [][]int{{at}, {at / 2, at}, {at, at + (60-at)/2}} {
				xid++
				m := peer2.Call(xid, rpctest.CallBytes(xid, 60))
				m.Reads = []peertest.Segment{{Position: 44, Key: o.RKey(), Length: 7, Addr: o.RemoteAddr()}}
				for _, part := range m.Split(list...) {
					p.Send(part)
				}
				if m := p.Next(); !m.IsReply() || m.XID != xid {
					t.Fatalf("cut at %v: answer %v", list, m)
				}
				want := append(append(append(rpctest.CallBytes(xid, 60)[:44:44], o.Data...), 0), rpctest.CallBytes(xid, 60)[44:]...)
				if got := a.Calls(); !bytes.Equal(got[len(got)-1], want) {
					t.Errorf("cut at %v: the Call has other bytes", list)
				}
			}
		}
	})
}

// Our end sends a long message in parts of the threshold at most: in order, with one XID, and
// nothing but grants between them (R155, R158). It waits for credits (R159, T92).
func TestLongMessageGoesInParts(t *testing.T) {
	for _, ceiling := range []int{1, 2, 3, 8} {
		v2test.Each(t, fmt.Sprintf("Calls, ceiling %d", ceiling), func(t *testing.T, w *rdmaiotest.World) {
			p, conn := v2test.Client(t, w, peer2.Config{Ceiling: ceiling}, v2test.Config(rdmaio.Config{Continue: 1 << 20}))
			const n = 15000
			one, other := v2test.Start(conn, rpctest.BigCall(1, n)), v2test.Start(conn, rpctest.BigCall(2, n))
			seen := map[uint32][]byte{}
			var open uint32
			for replied := 0; replied < 2; {
				m := p.Next()
				if !m.IsCall() || open != 0 && m.XID != open || len(m.Payload)+36 > 4096 {
					t.Fatalf("%v while %#x is open", m, open)
				}
				seen[m.XID] = append(seen[m.XID], m.Payload...)
				if open = m.XID; m.Flags&peer2.More == 0 {
					open = 0
					if !bytes.Equal(seen[m.XID], rpctest.CallBytes(m.XID, n)) {
						t.Errorf("the Call %#x has other bytes", m.XID)
					}
					p.Send(peer2.Reply(m.XID, rpctest.ReplyBytes(m.XID, 24)))
					replied++
					continue
				}
				if p.Book.In == 0 {
					p.Quiet()
					p.SendWith(peer2.Grant(), ceiling, 1)
				}
			}
			for _, done := range []<-chan v2test.Result{one, other} {
				if r := <-done; r.Err != nil {
					t.Error(r.Err)
				}
			}
		})
		v2test.Each(t, fmt.Sprintf("Replies, ceiling %d", ceiling), func(t *testing.T, w *rdmaiotest.World) {
			p := v2test.Server(t, w, &rpctest.App{Size: 15000}, peer2.Config{Ceiling: ceiling}, v2test.Config(rdmaio.Config{}))
			for xid := range uint32(2) {
				p.SendWith(peer2.Call(xid, rpctest.CallBytes(xid, 40)), ceiling, min(1, ceiling-p.Book.In))
			}
			var payload []byte
			for done, open := 0, (*peer2.Message)(nil); done < 2; {
				m := p.Next()
				if open != nil && m.XID != open.XID || !m.IsReply() || len(m.Payload)+36 > 4096 {
					t.Fatalf("%v while %v is open", m, open)
				}
				if open == nil {
					payload = nil
				}
				payload = append(payload, m.Payload...)
				if open = &m; m.Flags&peer2.More == 0 {
					open = nil
					done++
					if !bytes.Equal(payload, rpctest.ReplyBytes(m.XID, 15000)) {
						t.Errorf("the Reply %#x has other bytes", m.XID)
					}
				}
				if p.Book.In == 0 && done < 2 {
					p.Quiet()
					p.SendWith(peer2.Grant(), ceiling, 1)
				}
			}
		})
	}
}

// A message that does not belong to the sequence interrupts it, and both are discarded: a server
// answers INVAL_FLAG (R156, T89, T91, T95). The next good Call is served.
func TestBrokenSequenceIsDiscarded(t *testing.T) {
	part := func(xid uint32) peer2.Message { return peer2.Call(xid, rpctest.CallBytes(xid, 40)).Split(20)[0] }
	last := func(xid uint32) peer2.Message { return peer2.Call(xid, rpctest.CallBytes(xid, 40)).Split(20)[1] }
	other := func(m peer2.Message, f func(m *peer2.Message)) peer2.Message { f(&m); return m }
	for _, c := range []struct {
		name string
		list []peer2.Message
		code uint32
		xid  uint32
		good bool // the sequence of 9 continues after it
	}{
		{"T89: a part of another Call", []peer2.Message{part(9), part(10)}, peer2.ErrFlag, 10, false},
		{"T89: the last part of another Call", []peer2.Message{part(9), last(10)}, peer2.ErrFlag, 10, false},
		{"T95: a whole Call", []peer2.Message{part(9), peer2.Call(10, rpctest.CallBytes(10, 40))}, peer2.ErrFlag, 10, false},
		{"T89: another type", []peer2.Message{part(9), {XID: 9, Type: peer2.NoMsg, Reads: []peertest.Segment{{Key: 1, Length: 40}}}}, peer2.ErrFlag, 9, false},
		{"T91: a CONNPROP", []peer2.Message{part(9), peer2.Props(9)}, peer2.ErrFlag, 9, false},
		{"T91: a CONNPROP with another XID", []peer2.Message{part(9), peer2.Props(11)}, peer2.ErrFlag, 11, false},
		{"T87: MORE in NOMSG", []peer2.Message{part(9), {XID: 9, Type: peer2.NoMsg, Flags: peer2.More}}, peer2.ErrFlag, 9, false},
		{"T88: MORE with chunks", []peer2.Message{part(9), other(part(9), func(m *peer2.Message) { m.Writes = [][]peertest.Segment{{}} })}, peer2.ErrFlag, 9, false},
		{"an unknown type", []peer2.Message{part(9), {XID: 9, Type: 6}}, peer2.ErrHeaderType, 9, false},
		{"undefined flags", []peer2.Message{part(9), other(part(9), func(m *peer2.Message) { m.Flags |= 8 })}, peer2.ErrFlag, 9, false},
		{"T91: a grant", []peer2.Message{part(9), peer2.Grant()}, 0, 0, true},
		{"an ERROR", []peer2.Message{part(9), peer2.Err(9, 2)}, 0, 0, true},
		{"T28: another XID in the RPC message", []peer2.Message{other(part(9), func(m *peer2.Message) { m.XID = 12 }), other(last(9), func(m *peer2.Message) { m.XID = 12 })}, peer2.ErrBadXDR, 12, false},
		{"T29: a REPLY", peer2.Call(9, rpctest.ReplyBytes(9, 40)).Split(3, 30), peer2.ErrFlag, 9, false},
		{"A26: 7 bytes in all", peer2.Call(9, rpctest.CallBytes(9, 40)[:7]).Split(3, 5), peer2.ErrBadXDR, 9, false},
		{"no bytes in all", peer2.Call(9, nil).Split(0, 0), peer2.ErrBadXDR, 9, false},
	} {
		v2test.Each(t, "Call, "+c.name, func(t *testing.T, w *rdmaiotest.World) {
			a := new(rpctest.App)
			p := v2test.Server(t, w, a, peer2.Config{}, v2test.Config(rdmaio.Config{}))
			for _, m := range c.list {
				p.Send(m)
			}
			if c.good {
				p.Send(last(9))
				if m := p.Next(); !m.IsReply() || m.XID != 9 || len(a.Calls()) != 1 {
					t.Errorf("answer %v", m)
				}
				return
			}
			if m := p.Next(); m.Type != peer2.Error || m.Code != c.code || m.XID != c.xid {
				t.Errorf("answer %v, want code %d to %#x", m, c.code, c.xid)
			}
			if len(a.Calls()) != 0 {
				t.Errorf("a Call was served: %x", a.Calls())
			}
			v2test.Works(t, p, 77)
		})
	}
	// At a client, with the Calls 9 and 10: a part of the Reply to 9 comes first.
	for _, c := range []struct {
		name   string
		second func(nine, ten []peer2.Message) peer2.Message
		ends   []uint32 // the Calls that end by it
	}{
		{"T89: a part of another Reply", func(nine, ten []peer2.Message) peer2.Message { return ten[0] }, []uint32{9, 10}},
		{"T95: a whole Reply", func(nine, ten []peer2.Message) peer2.Message { return peer2.Reply(10, rpctest.ReplyBytes(10, 24)) }, []uint32{9, 10}},
		{"a long Reply to the same Call", func(nine, ten []peer2.Message) peer2.Message {
			return peer2.Message{XID: 9, Type: peer2.NoMsg, Flags: peer2.Response, Reply: []peertest.Segment{{Key: 1, Length: 40}}}
		}, []uint32{9}},
		{"undefined flags", func(nine, ten []peer2.Message) peer2.Message {
			return other(nine[1], func(m *peer2.Message) { m.Flags |= 8 })
		}, []uint32{9}},
		{"MORE with chunks", func(nine, ten []peer2.Message) peer2.Message {
			return other(nine[0], func(m *peer2.Message) { m.Writes = [][]peertest.Segment{{}} })
		}, []uint32{9}},
		{"a CONNPROP", func(nine, ten []peer2.Message) peer2.Message { return peer2.Props(11) }, []uint32{9}},
		{"a grant", func(nine, ten []peer2.Message) peer2.Message { return peer2.Grant() }, nil},
	} {
		v2test.Each(t, "Reply, "+c.name, func(t *testing.T, w *rdmaiotest.World) {
			p, conn := v2test.Client(t, w, peer2.Config{}, v2test.Config(rdmaio.Config{}))
			calls := map[uint32]<-chan v2test.Result{9: v2test.Start(conn, rpctest.BigCall(9, 40)), 10: v2test.Start(conn, rpctest.BigCall(10, 40))}
			p.Next()
			p.Next()
			nine, ten := peer2.Reply(9, rpctest.ReplyBytes(9, 24)).Split(10), peer2.Reply(10, rpctest.ReplyBytes(10, 24)).Split(10)
			p.Send(nine[0])
			p.Send(c.second(nine, ten))
			for _, xid := range c.ends {
				if r := <-calls[xid]; r.Err == nil {
					t.Errorf("the Call %d succeeded", xid)
				}
				delete(calls, xid)
			}
			p.Quiet() // no ERROR: R193, A8
			if len(c.ends) == 0 {
				p.Send(nine[1])
				if r := <-calls[9]; r.Err != nil {
					t.Error(r.Err)
				}
				delete(calls, 9)
			}
			for xid, done := range calls {
				p.Send(peer2.Reply(xid, rpctest.ReplyBytes(xid, 24)))
				if r := <-done; r.Err != nil {
					t.Errorf("the Call %d ended with %v", xid, r.Err)
				}
			}
			v2test.Serves(t, p, conn, 11)
		})
	}
}

// A message over Config.MaxContinued, or for which there is no memory, is passed over to its end. A
// Call gets SYSTEM, and the connection lives (R162, R210, T90).
func TestTooLongMessageIsPassedOver(t *testing.T) {
	for _, c := range []struct {
		name string
		cfg  rdmaio.Config
		n    int
		good bool
	}{
		{"just the limit", rdmaio.Config{MaxContinued: 10000}, 10000, true},
		{"a byte more", rdmaio.Config{MaxContinued: 10000}, 10001, false},
		{"much more", rdmaio.Config{MaxContinued: 10000}, 100000, false},
		{"the default limit", rdmaio.Config{}, 1 << 20, true},
		{"a byte over the default", rdmaio.Config{}, 1<<20 + 1, false},
		{"no memory", rdmaio.Config{MaxContinued: -1, MaxMemory: 64 << 10}, 300000, false},
	} {
		v2test.Each(t, "Call, "+c.name, func(t *testing.T, w *rdmaiotest.World) {
			a := new(rpctest.App)
			p := v2test.Server(t, w, a, peer2.Config{}, v2test.Config(c.cfg))
			for range 2 {
				before := len(a.Calls())
				for _, part := range peer2.Call(9, rpctest.CallBytes(9, c.n)).Split(every(c.n, 4000)...) {
					p.Send(part)
				}
				m := p.Next()
				if ran := len(a.Calls()) - before; c.good && !m.IsReply() || !c.good && m.Code != peer2.ErrSystem || m.XID != 9 || (ran == 1) != c.good {
					t.Errorf("answer %v, %d Calls ran", m, ran)
				}
				v2test.Works(t, p, 10)
			}
		})
		if c.cfg.MaxMemory != 0 {
			continue
		}
		v2test.Each(t, "Reply, "+c.name, func(t *testing.T, w *rdmaiotest.World) {
			p, conn := v2test.Client(t, w, peer2.Config{}, v2test.Config(c.cfg))
			for range 2 {
				done := v2test.Start(conn, rpctest.BigCall(9, 40))
				m := p.Next()
				for _, part := range m.Unused(rpctest.ReplyBytes(9, c.n)).Split(every(c.n, 4000)...) {
					p.Send(part)
				}
				var f *rdmaio.Fault
				if r := <-done; (r.Err == nil) != c.good || r.Err != nil && !errors.As(r.Err, &f) {
					t.Errorf("the Call ended with %v", r.Err)
				}
				v2test.Serves(t, p, conn, 10)
			}
		})
	}
}

// A sequence that is not complete within Config.WorkTimeout closes the connection, whether or not
// further parts arrive (R162, T90).
func TestEndlessSequenceEndsTheConnection(t *testing.T) {
	for _, more := range []bool{false, true} {
		v2test.Each(t, fmt.Sprintf("Call, parts go on: %v", more), func(t *testing.T, w *rdmaiotest.World) {
			ends := make(chan error, 1)
			a := new(rpctest.App)
			p := v2test.Server(t, w, a, peer2.Config{}, v2test.Config(rdmaio.Config{WorkTimeout: 40 * time.Millisecond, Events: func(e rdmaio.Event) {
				if down, ok := e.(*rdmaio.ConnDown); ok {
					ends <- down.Reason
				}
			}}))
			part := peer2.Call(9, rpctest.CallBytes(9, 80)).Split(40)[0]
			p.Send(part)
			for end := false; more && !end; {
				select {
				case <-p.Lost:
					end = true
				default:
					if p.Book.Out == 0 {
						p.Quiet()
						continue
					}
					p.Send(part)
				}
			}
			p.Ends()
			if err := <-ends; !errors.Is(err, rdmaio.ErrTimeout) {
				t.Errorf("the connection ended with %v, want %v", err, rdmaio.ErrTimeout)
			}
			if len(a.Calls()) != 0 {
				t.Error("a part was served")
			}
		})
	}
	v2test.Each(t, "Reply", func(t *testing.T, w *rdmaiotest.World) {
		p, conn := v2test.Client(t, w, peer2.Config{}, v2test.Config(rdmaio.Config{WorkTimeout: 40 * time.Millisecond}))
		done := v2test.Start(conn, rpctest.BigCall(9, 40))
		m := p.Next()
		p.Send(m.Unused(rpctest.ReplyBytes(9, 24)).Split(8)[0])
		if r := <-done; !errors.Is(r.Err, rdmaio.ErrTimeout) {
			t.Errorf("the Call ended with %v, want %v", r.Err, rdmaio.ErrTimeout)
		}
		p.Ends()
	})
}

// Chunks go with the last part, and positions count from the first byte of the first one (R158,
// R164, T94), in both directions.
func TestChunksGoWithTheLastPart(t *testing.T) {
	for _, at := range [][]int{{0}, {20}, {40}, {96}, {100}, {3, 41, 99}, {105}} {
		v2test.Each(t, fmt.Sprint("Call cut at ", at), func(t *testing.T, w *rdmaiotest.World) {
			a := new(rpctest.App)
			p := v2test.Server(t, w, a, peer2.Config{}, v2test.Config(rdmaio.Config{}))
			o := p.Offer(5001, rdmaiotest.AnyAccess)
			inline := rpctest.CallBytes(9, 105)
			m := peer2.Call(9, inline)
			m.Reads = []peertest.Segment{
				{Position: 44, Key: o.RKey(), Length: 1000, Addr: o.RemoteAddr()},
				{Position: 44, Key: o.RKey(), Length: 4001, Addr: o.RemoteAddr() + 1000},
			}
			for _, part := range m.Split(at...) {
				p.Send(part)
			}
			if m := p.Next(); !m.IsReply() {
				t.Fatalf("answer %v", m)
			}
			want := append(append(append(bytes.Clone(inline[:44]), o.Data...), 0, 0, 0), inline[44:]...)
			if got := a.Calls()[0]; !bytes.Equal(got, want) {
				t.Errorf("the Call has %d bytes, want %d, or others", len(got), len(want))
			}
		})
	}
	v2test.Each(t, "our Call", func(t *testing.T, w *rdmaiotest.World) {
		p, conn := v2test.Client(t, w, peer2.Config{}, v2test.Config(rdmaio.Config{}))
		e := rpctest.CallHeader(9, rpctest.ProcWrite)
		e.Buf = append(e.Buf, rdmaiotest.Pattern(9000, 1)...)
		data := rdmaiotest.Pattern(20001, 2)
		e.Opaque(rpctest.SiteWriteData, data)
		call := &rdmaio.Call{Message: e.Message(), Results: [][]byte{make([]byte, 6000)}}
		done := v2test.Start(conn, call)
		m, parts := p.Whole()
		if parts != 3 || len(m.Writes) != 1 || peertest.Length(m.Writes[0]) != 6000 || m.Type != peer2.Msg {
			t.Errorf("%d parts, the last is %v", parts, m)
		}
		var read []byte
		for _, s := range m.Reads {
			for at := uint32(0); at < s.Length; at += 4000 {
				read = append(read, p.Read(s.Key, s.Addr+uint64(at), int(min(4000, s.Length-at)))...)
			}
			if s.Position != 40+9000+4 {
				t.Errorf("position %d", s.Position)
			}
		}
		if !bytes.Equal(m.Payload, call.Message.Inline) || !bytes.Equal(read, data) {
			t.Error("the Call has other bytes")
		}
		p.Send(m.Unused(rpctest.ReplyBytes(9, 24)))
		if r := <-done; r.Err != nil {
			t.Error(r.Err)
		}
	})
}

// R165: a CONNPROP may be continued. The set is judged as a whole, and answered once.
func TestPropertiesMayBeContinued(t *testing.T) {
	size, count := peer2.Prop(peer2.ReceiveSize, 8192), peer2.Prop(peer2.SegmentCount, 16)
	more := func(set ...peer2.Property) peer2.Message {
		m := peer2.Props(9, set...)
		m.Flags = peer2.More
		return m
	}
	for _, c := range []struct {
		name string
		last peer2.Message
		bad  bool
		send int
	}{
		{"another property", peer2.Props(9, count), false, 8192},
		{"none", peer2.Props(9), false, 8192},
		{"the same property", peer2.Props(9, size), true, 4096},
		{"a bad property", peer2.Props(9, peer2.Property{ID: 1, Data: []byte{1}}), true, 4096},
	} {
		v2test.Each(t, c.name, func(t *testing.T, w *rdmaiotest.World) {
			w.Serve(&rpctest.App{Size: 7000}, v2test.Config(rdmaio.Config{InlineSend: 8192, InlineRecv: 8192}))
			p := v2test.RawClient(t, w, peer2.Config{Size: 8192})
			p.Send(more(size))
			p.Send(c.last) // after a grant
			got := map[uint32]int{}
			for range 1 + btoi(c.bad) {
				m := p.Next()
				got[m.Type]++
			}
			if got[peer2.Error] != btoi(c.bad) || got[peer2.ConnProp] != 1 {
				t.Errorf("answers by type: %v", got)
			}
			p.Send(peer2.Call(9, rpctest.CallBytes(9, 40)))
			if m, parts := p.Whole(); len(m.Payload) != 7000 || (parts == 1) != (c.send == 8192) {
				t.Errorf("a Reply in %d parts: %v", parts, m)
			}
		})
	}
}

// A Call that is cancelled while its parts are sent returns at once, and its memory is the caller's
// again. Its parts are sent to the end with the bytes that it had (ADR 0049), and its Reply is
// dropped (R181).
func TestCallIsCancelledBetweenParts(t *testing.T) {
	v2test.Each(t, "Call", func(t *testing.T, w *rdmaiotest.World) {
		p, conn := v2test.Client(t, w, peer2.Config{Ceiling: 1}, v2test.Config(rdmaio.Config{Continue: 1 << 20, NoCancel: true}))
		ctx, cancel := context.WithCancel(context.Background())
		call := rpctest.BigCall(9, 12000)
		done := v2test.StartWith(ctx, conn, call)
		m := p.Next()
		payload := m.Payload
		cancel()
		if r := <-done; !errors.Is(r.Err, context.Canceled) {
			t.Errorf("the Call ended with %v", r.Err)
		}
		clear(call.Message.Inline)
		for m.Flags&peer2.More != 0 {
			p.SendWith(peer2.Grant(), 1, 1)
			m = p.Next()
			payload = append(payload, m.Payload...)
		}
		if !bytes.Equal(payload, rpctest.CallBytes(9, 12000)) {
			t.Error("the Call has other bytes")
		}
		p.Send(m.Unused(rpctest.ReplyBytes(9, 24)))
		v2test.Serves(t, p, conn, 10)
	})
}

// An ERROR between the parts of our Call makes it fail when all parts are sent (ADR 0049).
func TestErrorBetweenPartsEndsTheCall(t *testing.T) {
	v2test.Each(t, "SYSTEM", func(t *testing.T, w *rdmaiotest.World) {
		p, conn := v2test.Client(t, w, peer2.Config{Ceiling: 1}, v2test.Config(rdmaio.Config{Continue: 1 << 20}))
		done := v2test.Start(conn, rpctest.BigCall(9, 12000))
		m := p.Next()
		p.SendWith(peer2.Err(9, peer2.ErrSystem), 1, 0)
		for m.Flags&peer2.More != 0 {
			p.SendWith(peer2.Grant(), 1, 1)
			m = p.Next()
		}
		var pe *rdmaio.PeerError
		if r := <-done; !errors.As(r.Err, &pe) || pe.Code != rdmaio.PeerErrSystem {
			t.Errorf("the Call ended with %v", r.Err)
		}
		p.SendWith(peer2.Grant(), 1, 1)
		v2test.Serves(t, p, conn, 10)
	})
}

// The connection is lost between two parts: a Call of ours fails, one of the peer is not run, and
// nothing leaks (T93). The World checks for keys and memory that are left.
func TestConnectionIsLostBetweenParts(t *testing.T) {
	v2test.Each(t, "our Call", func(t *testing.T, w *rdmaiotest.World) {
		p, conn := v2test.Client(t, w, peer2.Config{Ceiling: 1}, v2test.Config(rdmaio.Config{Continue: 1 << 20}))
		done := v2test.Start(conn, rpctest.BigCall(9, 12000))
		p.Next()
		if err := p.QP.Disconnect(); err != nil {
			t.Error(err)
		}
		var ce *rdmaio.CallError
		if r := <-done; !errors.As(r.Err, &ce) {
			t.Errorf("the Call ended with %v", r.Err)
		}
	})
	v2test.Each(t, "the peer's Call", func(t *testing.T, w *rdmaiotest.World) {
		a := new(rpctest.App)
		p := v2test.Server(t, w, a, peer2.Config{}, v2test.Config(rdmaio.Config{}))
		p.Send(peer2.Call(9, rpctest.CallBytes(9, 9000)).Split(4000)[0])
		if err := p.QP.Disconnect(); err != nil {
			t.Error(err)
		}
		v2test.Works(t, v2test.Hello(t, v2test.RawClient(t, w, peer2.Config{})), 9)
		if n := len(a.Calls()); n != 1 {
			t.Errorf("%d Calls ran", n)
		}
	})
	v2test.Each(t, "our Reply", func(t *testing.T, w *rdmaiotest.World) {
		sent := make(chan error, 1)
		a := &rpctest.App{Reply: func(r *rdmaio.Request) bool {
			r.Reply(rdmaio.Message{Inline: rpctest.ReplyBytes(9, 12000)}, func(err error) { sent <- err })
			return true
		}}
		p := v2test.Server(t, w, a, peer2.Config{Ceiling: 1}, v2test.Config(rdmaio.Config{}))
		p.Send(peer2.Call(9, rpctest.CallBytes(9, 40)))
		p.Next()
		if err := p.QP.Disconnect(); err != nil {
			t.Error(err)
		}
		if err := <-sent; err == nil {
			t.Error("the Reply was sent")
		}
	})
	v2test.Each(t, "the peer's Reply", func(t *testing.T, w *rdmaiotest.World) {
		p, conn := v2test.Client(t, w, peer2.Config{}, v2test.Config(rdmaio.Config{}))
		done := v2test.Start(conn, rpctest.BigCall(9, 40))
		m := p.Next()
		p.Send(m.Unused(rpctest.ReplyBytes(9, 24)).Split(8)[0])
		if err := p.QP.Disconnect(); err != nil {
			t.Error(err)
		}
		if r := <-done; r.Err == nil {
			t.Error("the Call succeeded")
		}
	})
}
