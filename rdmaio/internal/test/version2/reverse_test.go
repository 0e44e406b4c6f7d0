package version2

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"testing"

	"github.com/rpcrdma/rpcrdma/internal/peertest"
	"github.com/rpcrdma/rpcrdma/internal/peertest/peer2"
	"github.com/rpcrdma/rpcrdma/internal/rdmaiotest"
	"github.com/rpcrdma/rpcrdma/internal/rpctest"
	"github.com/rpcrdma/rpcrdma/internal/v2test"
	"github.com/rpcrdma/rpcrdma/rdmaio"
	"github.com/rpcrdma/rpcrdma/runtime/xdr"
)

// A client advertises the level of reverse Calls that it takes (R218), and acts by it: without a
// handler they are dropped (R281, T117); without Config.ReverseChunks those with chunks are
// refused, with chunks for results by REPLY_RESOURCE (R203, R207, R277, T118). Forward Calls are
// still served.
func TestClientActsByItsReverseLevel(t *testing.T) {
	const none, inline, general = 0, 1, 2
	rpc := func(n int) peer2.Message { return peer2.Call(9, rpctest.CallBytes(9, n)) }
	type seg = peertest.Segment
	for _, c := range []struct {
		name  string
		level uint32
		size  int // of the Reply
		call  func(s seg) peer2.Message
		code  uint32 // of the ERROR; 0: none
		args  []uint32
		runs  bool
		parts int // of the Reply
	}{
		{"none", none, 24, func(s seg) peer2.Message { return rpc(40) }, 0, nil, false, 0},
		{"none, with a read chunk", none, 24, func(s seg) peer2.Message {
			m := rpc(40)
			s.Position = 40
			m.Reads = []seg{s}
			return m
		}, 0, nil, false, 0},
		{"inline", inline, 24, func(s seg) peer2.Message { return rpc(40) }, 0, nil, true, 1},
		{"inline, the longest Call", inline, 24, func(s seg) peer2.Message { return rpc(4060) }, 0, nil, true, 1},
		{"inline, the longest Reply", inline, 4060, func(s seg) peer2.Message { return rpc(40) }, 0, nil, true, 1},
		{"T118: inline, with a read chunk", inline, 24, func(s seg) peer2.Message {
			m := rpc(40)
			s.Position = 40
			m.Reads = []seg{s}
			return m
		}, peer2.ErrReadChunks, []uint32{0}, false, 0},
		{"T118: inline, a long Call", inline, 24, func(s seg) peer2.Message {
			return peer2.Message{XID: 9, Type: peer2.NoMsg, Reads: []seg{s}}
		}, peer2.ErrReadChunks, []uint32{0}, false, 0},
		{"T118: inline, with a write chunk", inline, 24, func(s seg) peer2.Message {
			m := rpc(40)
			m.Writes = [][]seg{{s}}
			return m
		}, peer2.ErrReplyResource, []uint32{0}, false, 0},
		{"T118: inline, with a reply chunk", inline, 24, func(s seg) peer2.Message {
			m := rpc(40)
			m.Reply = []seg{s}
			return m
		}, peer2.ErrReplyResource, []uint32{0}, false, 0},
		{"general", general, 24, func(s seg) peer2.Message { return rpc(40) }, 0, nil, true, 1},
		{"R275: general, with a read chunk", general, 24, func(s seg) peer2.Message {
			m := rpc(40)
			s.Position = 40
			m.Reads = []seg{s}
			return m
		}, 0, nil, true, 1},
		{"R275: general, with a write chunk", general, 24, func(s seg) peer2.Message {
			m := rpc(40)
			m.Writes = [][]seg{{s}}
			return m
		}, 0, nil, true, 1},
		{"general, with a reply chunk", general, 5000, func(s seg) peer2.Message {
			m := rpc(40)
			m.Reply = []seg{s}
			return m
		}, 0, nil, true, 1},
		{"general, a Reply in parts", general, 9000, func(s seg) peer2.Message { return rpc(40) }, 0, nil, true, 3},
	} {
		v2test.Each(t, c.name, func(t *testing.T, w *rdmaiotest.World) {
			a := &rpctest.App{Size: c.size}
			cfg := v2test.Config(rdmaio.Config{ReverseChunks: c.level == general})
			if c.level != none {
				cfg.ReverseHandler = a
			}
			p, done := v2test.DialPeer(t, w, peer2.Config{}, cfg)
			offer := p.Next()
			if v, ok := offer.Value(peer2.Reverse); !ok || v != c.level {
				t.Errorf("R218: level %d, %v, want %d", v, ok, c.level)
			}
			p.Send(peer2.Props(offer.XID))
			conn := v2test.Connected(t, done)
			o := p.Offer(8000, rdmaiotest.AnyAccess)
			p.Send(c.call(seg{Key: o.RKey(), Length: 8000, Addr: o.RemoteAddr()}))
			switch {
			case c.code != 0:
				m := p.Next()
				if m.Type != peer2.Error || m.XID != 9 || m.Code != c.code || m.Args[0] != c.args[0] {
					t.Errorf("answer %v, want code %d %v", m, c.code, c.args)
				}
			case c.runs:
				m, parts := p.Whole()
				if !m.IsReply() || m.XID != 9 || parts != c.parts {
					t.Errorf("answer %v in %d parts", m, parts)
				}
				got := m.Payload
				if m.Type == peer2.NoMsg {
					got = o.Data[:peertest.Length(m.Reply)]
				}
				if !bytes.Equal(got, rpctest.ReplyBytes(9, c.size)) {
					t.Errorf("%v has other bytes", m)
				}
			default:
				p.Quiet()
			}
			if (len(a.Calls()) == 1) != c.runs {
				t.Errorf("%d reverse Calls ran", len(a.Calls()))
			}
			v2test.Serves(t, p, conn, 9) // R268, T116: the same XID in the other direction
		})
	}
}

// R268, T116: a reverse Call with the XID of our Call, between it and its Reply, is another one; so
// is an ERROR for it.
func TestReverseCallMayHaveTheSameXID(t *testing.T) {
	v2test.Each(t, "client", func(t *testing.T, w *rdmaiotest.World) {
		a := new(rpctest.App)
		p, conn := v2test.Client(t, w, peer2.Config{}, v2test.Config(rdmaio.Config{ReverseHandler: a}))
		done := v2test.Start(conn, rpctest.BigCall(9, 40))
		call := p.Next()
		p.Send(peer2.Call(9, rpctest.CallBytes(9, 44)))
		if m := p.Next(); !m.IsReply() || m.XID != 9 || len(a.Calls()) != 1 {
			t.Errorf("the reverse Call is answered with %v", m)
		}
		p.Send(call.Unused(rpctest.ReplyBytes(9, 28)))
		if r := <-done; r.Err != nil || len(r.Reply.Message) != 28 {
			t.Errorf("the Call ended with %v", r.Err)
		}
	})
}

// A server makes reverse Calls by the level that the client advertised: none at all, without chunks
// and in one Send (R276), or as forward ones (R275). The default is inline (R230). They share the
// client's credits with the Replies (R168).
func TestServerKeepsToTheReverseLevel(t *testing.T) {
	for _, c := range []struct {
		name  string
		set   []peer2.Property
		call  func() *rdmaio.Call
		sent  bool
		parts int
	}{
		{"none", []peer2.Property{peer2.Prop(peer2.Reverse, 0)}, func() *rdmaio.Call { return rpctest.BigCall(9, 40) }, false, 0},
		{"inline", []peer2.Property{peer2.Prop(peer2.Reverse, 1)}, func() *rdmaio.Call { return rpctest.BigCall(9, 40) }, true, 1},
		{"R230: by default", nil, func() *rdmaio.Call { return rpctest.BigCall(9, 40) }, true, 1},
		{"inline, the longest", nil, func() *rdmaio.Call { return rpctest.BigCall(9, 4060) }, true, 1},
		{"inline, too long", nil, func() *rdmaio.Call { return rpctest.BigCall(9, 4064) }, false, 0},
		{"inline, an item that fits", nil, func() *rdmaio.Call { return rpctest.WriteCall(9, 0, make([]byte, 2000)) }, true, 1},
		{"inline, an item too long", nil, func() *rdmaio.Call { return rpctest.WriteCall(9, 0, make([]byte, 5000)) }, false, 0},
		{"general", []peer2.Property{peer2.Prop(peer2.Reverse, 2)}, func() *rdmaio.Call { return rpctest.BigCall(9, 40) }, true, 1},
		{"general, in parts", []peer2.Property{peer2.Prop(peer2.Reverse, 2)}, func() *rdmaio.Call { return rpctest.BigCall(9, 9000) }, true, 3},
		{"general, an item", []peer2.Property{peer2.Prop(peer2.Reverse, 2)}, func() *rdmaio.Call { return rpctest.WriteCall(9, 0, make([]byte, 50000)) }, true, 1},
	} {
		v2test.Each(t, c.name, func(t *testing.T, w *rdmaiotest.World) {
			conns := make(chan *rdmaio.Conn, 1)
			a := &rpctest.App{Reply: func(r *rdmaio.Request) bool {
				r.Conn().AllowReverse()
				select {
				case conns <- r.Conn().(*rdmaio.Conn):
				default:
				}
				return false
			}}
			p := v2test.Server(t, w, a, peer2.Config{}, v2test.Config(rdmaio.Config{ReverseCredits: 4, ReverseChunks: true}), c.set...)
			v2test.Works(t, p, 1)
			call := c.call()
			want := rpctest.Whole(call.Message)
			done := v2test.Start(<-conns, call)
			if !c.sent {
				r := <-done
				var size *rdmaio.SizeError
				if !errors.Is(r.Err, rdmaio.ErrReverse) && !errors.As(r.Err, &size) {
					t.Errorf("the reverse Call ended with %v", r.Err)
				}
				p.Quiet()
				v2test.Works(t, p, 2)
				return
			}
			m, parts := p.Whole()
			if !m.IsCall() || parts != c.parts {
				t.Fatalf("%v in %d parts", m, parts)
			}
			if len(m.Reads) > 0 {
				var data []byte
				for _, s := range m.Reads {
					for at := uint32(0); at < s.Length; at += 4000 {
						data = append(data, p.Read(s.Key, s.Addr+uint64(at), int(min(4000, s.Length-at)))...)
					}
				}
				at := int(m.Reads[0].Position)
				data = append(data, make([]byte, xdr.Padded(len(data))-len(data))...)
				m.Payload = append(append(bytes.Clone(m.Payload[:at]), data...), m.Payload[at:]...)
			}
			if !bytes.Equal(m.Payload, want) {
				t.Error("the reverse Call has other bytes")
			}
			v2test.Works(t, p, 9) // in the meantime, with the same XID
			p.Send(m.Unused(rpctest.ReplyBytes(9, 24)))
			if r := <-done; r.Err != nil {
				t.Error(r.Err)
			}
			v2test.Works(t, p, 10)
		})
	}
}

// R168, R283, T119: reverse Calls without end, as many as there are credits, do not stop forward
// ones. The handler calls back before it answers, with one credit in each direction.
func TestReverseCallsStopNoForwardCalls(t *testing.T) {
	for _, credits := range []int{1, 2, 8} {
		v2test.Each(t, "both ours, "+string(rune('0'+credits))+" credits", func(t *testing.T, w *rdmaiotest.World) {
			a := &rpctest.App{Reply: func(r *rdmaio.Request) bool {
				xid := binary.BigEndian.Uint32(r.Message)
				r.Conn().AllowReverse()
				if _, err := r.Conn().Call(context.Background(), rpctest.BigCall(xid, 40)); err != nil {
					t.Error(err)
				}
				return false
			}}
			cfg := v2test.Config(rdmaio.Config{Credits: credits, ReverseCredits: credits})
			w.Serve(a, cfg)
			back := new(rpctest.App)
			reverse := *cfg
			reverse.ReverseHandler = back
			conn := w.Dial(&reverse)
			const n = 100
			var calls []<-chan v2test.Result
			for xid := range uint32(n) {
				calls = append(calls, v2test.Start(conn, rpctest.BigCall(xid, 40)))
			}
			for _, done := range calls {
				if r := <-done; r.Err != nil {
					t.Fatal(r.Err)
				}
			}
			if len(a.Calls()) != n || len(back.Calls()) != n {
				t.Errorf("%d Calls and %d reverse Calls ran", len(a.Calls()), len(back.Calls()))
			}
		})
	}
}
