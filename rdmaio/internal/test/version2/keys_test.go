package version2

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/peertest"
	"github.com/rpcrdma/rpcrdma/internal/peertest/peer2"
	"github.com/rpcrdma/rpcrdma/internal/rdmaiotest"
	"github.com/rpcrdma/rpcrdma/internal/rpctest"
	"github.com/rpcrdma/rpcrdma/internal/v2test"
	"github.com/rpcrdma/rpcrdma/rdmaio"
)

// A Call names one of its keys if Config.RemoteInvalidate is set, and otherwise none (R259). The
// peer may invalidate that key with its Reply, or not (R261, T79); anything else is fatal (R264,
// T77). All keys are dead when the Call returns (R263).
func TestPeerMayInvalidateTheNamedKey(t *testing.T) {
	type invalidation int
	const (
		none     invalidation = iota // plain Send
		named                        // the key that the Call named
		another                      // another key of the Call
		unknown                      // a key that was never offered
		previous                     // the key of an earlier Call
	)
	for _, c := range []struct {
		name   string
		cfg    rdmaio.Config
		key    invalidation
		answer func(m *peer2.Message) peer2.Message
		ends   bool
	}{
		{"plain Send", rdmaio.Config{RemoteInvalidate: 1}, none, nil, false},
		{"T79: the key that was named", rdmaio.Config{RemoteInvalidate: 1}, named, nil, false},
		{"T77: another key of the Call", rdmaio.Config{RemoteInvalidate: 1}, another, nil, true},
		{"T77: an unknown key", rdmaio.Config{RemoteInvalidate: 1}, unknown, nil, true},
		{"T77: the key of an earlier Call", rdmaio.Config{RemoteInvalidate: 1}, previous, nil, true},
		{"the key, with a Reply to no Call", rdmaio.Config{RemoteInvalidate: 1}, named, func(m *peer2.Message) peer2.Message { return peer2.Reply(77, rpctest.ReplyBytes(77, 24)) }, true},
		{"the key, with a CONNPROP", rdmaio.Config{RemoteInvalidate: 1}, named, func(m *peer2.Message) peer2.Message { return peer2.Props(5) }, true},
		{"the key, with a grant", rdmaio.Config{RemoteInvalidate: 1}, named, func(m *peer2.Message) peer2.Message { return peer2.Grant() }, true},
		{"a key, where none was named", rdmaio.Config{RemoteInvalidate: -1}, another, nil, true},
		{"plain Send, where none was named", rdmaio.Config{RemoteInvalidate: -1}, none, nil, false},
	} {
		v2test.Each(t, c.name, func(t *testing.T, w *rdmaiotest.World) {
			p, conn := v2test.Client(t, w, peer2.Config{}, v2test.Config(c.cfg))
			call := func(xid uint32) (<-chan v2test.Result, peer2.Message) {
				rpc := rpctest.ResultsCall(xid, 5000, 6000)
				rpc.MaxReply = 20000
				done := v2test.Start(conn, rpc)
				m := p.Next()
				if (m.Key != 0) != (c.cfg.RemoteInvalidate > 0) {
					t.Errorf("R259: the Call names %#x: %v", m.Key, m)
				}
				return done, m
			}
			done, m := call(8)
			earlier := m.Writes[0][0].Key
			p.Send(m.Unused(rpctest.ReplyBytes(8, 24)))
			if r := <-done; r.Err != nil {
				t.Fatal(r.Err)
			}
			done, m = call(9)
			answer := m.Unused(rpctest.ReplyBytes(9, 24))
			if c.answer != nil {
				answer = c.answer(&m)
			}
			key := m.Key
			switch c.key {
			case another:
				for _, s := range append(m.Reply, m.Writes[0][0], m.Writes[1][0]) {
					if s.Key != m.Key {
						key = s.Key
					}
				}
			case unknown:
				key = 0x12345678
			case previous:
				key = earlier
			}
			if c.key == none {
				p.Send(answer)
			} else {
				p.SendInvalidate(answer, key)
			}
			r := <-done
			if (r.Err != nil) != c.ends {
				t.Errorf("the Call ended with %v", r.Err)
			}
			if n, reaching := w.LiveKeys("client"); reaching != 0 {
				t.Errorf("R263: %d keys are live, %d reach the memory of the Call", n, reaching)
			}
			if c.ends {
				p.Ends()
				return
			}
			v2test.Serves(t, p, conn, 10)
		})
	}
	v2test.Each(t, "the Reply to a Call that was cancelled", func(t *testing.T, w *rdmaiotest.World) {
		p, conn := v2test.Client(t, w, peer2.Config{}, v2test.Config(rdmaio.Config{RemoteInvalidate: 1, NoCancel: true}))
		ctx, cancel := context.WithCancel(context.Background())
		done := v2test.StartWith(ctx, conn, rpctest.ResultsCall(9, 5000))
		m := p.Next()
		cancel()
		if r := <-done; !errors.Is(r.Err, context.Canceled) {
			t.Errorf("the Call ended with %v", r.Err)
		}
		p.Send(m.Unused(rpctest.ReplyBytes(9, 24))) // T64: the key is still the connection's
		v2test.Serves(t, p, conn, 10)
	})
}

// A server invalidates exactly the key that the Call named, with the last Send of its Reply (R260),
// and no key if the Call named none (R261), or is answered by an ERROR.
func TestServerInvalidatesTheNamedKey(t *testing.T) {
	for _, c := range []struct {
		name  string
		size  int  // of the Reply
		named int  // which of the two write chunks is named, from 1; 0: none
		bad   bool // the Call is refused
		parts int
	}{
		{"none named", 100, 0, false, 1},
		{"the first", 100, 1, false, 1},
		{"the second", 100, 2, false, 1},
		{"a Reply in parts", 9000, 2, false, 3},
		{"an ERROR", 100, 1, true, 1},
	} {
		v2test.Each(t, c.name, func(t *testing.T, w *rdmaiotest.World) {
			p := v2test.Server(t, w, &rpctest.App{Size: c.size}, peer2.Config{}, v2test.Config(rdmaio.Config{RemoteInvalidate: 1, MaxChunks: 2}))
			offers := []*peertest.Offer{p.Offer(100, rdmaiotest.AnyAccess), p.Offer(200, rdmaiotest.AnyAccess)}
			m := peer2.Call(9, rpctest.CallBytes(9, 40))
			for _, o := range offers {
				m.Writes = append(m.Writes, []peertest.Segment{{Key: o.RKey(), Length: 100, Addr: o.RemoteAddr()}})
			}
			if c.named > 0 {
				m.Key = offers[c.named-1].RKey()
			}
			if c.bad {
				m.Writes = append(m.Writes, nil, nil, nil)
			}
			p.Send(m)
			answer, parts := p.Whole()
			if (answer.Type == peer2.Error) != c.bad || parts != c.parts {
				t.Errorf("%d parts: %v", parts, answer)
			}
			want := uint32(0)
			if c.named > 0 && !c.bad {
				want = offers[c.named-1].RKey()
			}
			if p.Invalidated != want {
				t.Errorf("key %#x was invalidated, want %#x", p.Invalidated, want)
			}
		})
	}
}

// Config.SegmentSize and the properties of the peer bound the segments of a Call: their size by
// property 3, their number in a header by property 4 (R216, R217, T104).
func TestPropertiesBoundSegments(t *testing.T) {
	for _, c := range []struct {
		name    string
		set     []peer2.Property
		data    int
		size, n int // of the segments: at most
	}{
		{"the defaults", nil, 3 << 20, 1 << 20, 16},
		{"size 4096", []peer2.Property{peer2.Prop(peer2.SegmentSize, 4096)}, 30000, 4096, 16},
		{"size 1000, 100 segments", []peer2.Property{peer2.Prop(peer2.SegmentSize, 1000), peer2.Prop(peer2.SegmentCount, 100)}, 30000, 1000, 100},
		{"T104: size 0", []peer2.Property{peer2.Prop(peer2.SegmentSize, 0)}, 3 << 20, 1 << 20, 16},
		{"T104: 0 segments", []peer2.Property{peer2.Prop(peer2.SegmentCount, 0)}, 3 << 20, 1 << 20, 16},
		{"T104: all of 4294967295", []peer2.Property{peer2.Prop(peer2.SegmentSize, 0xffffffff), peer2.Prop(peer2.SegmentCount, 0xffffffff)}, 3 << 20, math.MaxInt32, 1},
		{"2 segments", []peer2.Property{peer2.Prop(peer2.SegmentCount, 2)}, 30000, 1 << 20, 2},
	} {
		v2test.Each(t, c.name, func(t *testing.T, w *rdmaiotest.World) {
			p, conn := v2test.Client(t, w, peer2.Config{}, v2test.Config(rdmaio.Config{}), c.set...)
			done := v2test.Start(conn, rpctest.WriteCall(9, 0, make([]byte, c.data)))
			m, _ := p.Whole()
			if len(m.Reads) > c.n {
				t.Errorf("R217: %d segments", len(m.Reads))
			}
			total := 0
			for _, s := range m.Reads {
				if total += int(s.Length); int(s.Length) > c.size {
					t.Errorf("R216: a segment of %d bytes", s.Length)
				}
			}
			if total != c.data {
				t.Errorf("segments of %d bytes in all, want %d", total, c.data)
			}
			p.Send(m.Unused(rpctest.ReplyBytes(9, 24)))
			if r := <-done; r.Err != nil {
				t.Error(r.Err)
			}
		})
	}
	v2test.Each(t, "too many segments for the peer", func(t *testing.T, w *rdmaiotest.World) {
		p, conn := v2test.Client(t, w, peer2.Config{}, v2test.Config(rdmaio.Config{Continue: -1}),
			peer2.Prop(peer2.SegmentSize, 1000), peer2.Prop(peer2.SegmentCount, 2))
		for _, data := range []int{3000, 100000} {
			done := v2test.Start(conn, rpctest.WriteCall(9, 0, make([]byte, data)))
			for end := false; !end; {
				if m, ok := p.Poll(time.Millisecond); ok && !m.IsGrant() {
					if len(m.Reads) > 2 {
						t.Errorf("R217: %d segments", len(m.Reads))
					}
					if m.Flags&peer2.More == 0 {
						p.Send(m.Unused(rpctest.ReplyBytes(9, 24)))
					}
				}
				select {
				case r := <-done:
					var size *rdmaio.SizeError
					if end = true; r.Err != nil && !errors.As(r.Err, &size) {
						t.Errorf("the Call of %d bytes ended with %v", data, r.Err)
					}
				default:
				}
			}
		}
		v2test.Serves(t, p, conn, 10)
	})
}

// A second CONNPROP with other values changes nothing (R224, T105), at either end, and needs no
// answer.
func TestSecondPropertiesChangeNothing(t *testing.T) {
	v2test.Each(t, "client", func(t *testing.T, w *rdmaiotest.World) {
		p, conn := v2test.Client(t, w, peer2.Config{Size: 8192}, v2test.Config(rdmaio.Config{InlineSend: 8192, InlineRecv: 8192}), peer2.Prop(peer2.ReceiveSize, 6000))
		p.Send(peer2.Props(7, peer2.Prop(peer2.ReceiveSize, 8192), peer2.Prop(peer2.SegmentCount, 1)))
		p.Quiet()
		done := v2test.Start(conn, rpctest.BigCall(9, 7000))
		m, parts := p.Whole()
		if parts != 2 {
			t.Errorf("a Call in %d parts: %v", parts, m)
		}
		p.Send(peer2.Reply(9, rpctest.ReplyBytes(9, 24)))
		if r := <-done; r.Err != nil {
			t.Error(r.Err)
		}
	})
	v2test.Each(t, "server", func(t *testing.T, w *rdmaiotest.World) {
		p := v2test.Server(t, w, &rpctest.App{Size: 7000}, peer2.Config{Size: 8192}, v2test.Config(rdmaio.Config{InlineSend: 8192, InlineRecv: 8192}), peer2.Prop(peer2.ReceiveSize, 6000))
		p.Send(peer2.Props(7, peer2.Prop(peer2.ReceiveSize, 8192)))
		p.Quiet()
		p.Send(peer2.Call(9, rpctest.CallBytes(9, 40)))
		m, parts := p.Whole()
		if parts != 2 || !bytes.Equal(m.Payload, rpctest.ReplyBytes(9, 7000)) {
			t.Errorf("a Reply in %d parts: %v", parts, m)
		}
	})
	for _, n := range []int{1, 20, 200} {
		v2test.Each(t, fmt.Sprintf("%d of them", n), func(t *testing.T, w *rdmaiotest.World) {
			p := v2test.Server(t, w, new(rpctest.App), peer2.Config{}, v2test.Config(rdmaio.Config{}))
			for i := range n {
				p.Send(peer2.Props(uint32(i), peer2.Prop(peer2.ReceiveSize, uint32(i))))
			}
			v2test.Works(t, p, 9)
		})
	}
}
