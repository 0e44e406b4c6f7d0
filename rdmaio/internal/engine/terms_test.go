package engine_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/engine"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/header"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/protocol"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/v1"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// agreed gives the engine its terms.
func (b *bench) agreed(t header.Terms) {
	b.t.Helper()
	b.step(engine.Event{Kind: engine.EventTerms, Control: &engine.Control{Terms: &t}})
}

var invalidating = header.Terms{Send: 1024, Recv: 1024, RemoteInvalidate: true}

// R36, R37: however large a buffer is, a message is at most as large as the negotiated terms say,
// or 1024 bytes without negotiation.
func TestSendThreshold(t *testing.T) {
	for _, c := range []struct{ agreed, most int }{{0, 1024}, {1024, 1024}, {2048, 2048}, {4096, 4096}, {8192, 4096}} {
		t.Run(fmt.Sprint(c.agreed), func(t *testing.T) {
			b := &bench{t: t, open: make([]bool, 1), mem: [][]byte{make([]byte, 4096)}}
			b.cfg = engine.Config{
				Role: engine.Requester, Versions: []protocol.Version{new(v1.Version)}, Calls: 1, SendWRs: 4,
				Send: []engine.Buffer{{Bytes: b.mem[0]}},
				Recv: []engine.Buffer{{Bytes: make([]byte, 4096)}},
			}
			b.e = engine.New(b.cfg)
			b.step(engine.Event{Kind: engine.EventStart})
			if c.agreed > 0 {
				b.agreed(header.Terms{Send: c.agreed, Recv: 1024})
			}
			over := call(1)
			over.Payload = [][]byte{make([]byte, c.most-28+1)}
			b.call(over)
			var se *engine.SizeError
			if !errors.As(over.Err, &se) || se.Need != c.most+1 || se.Limit != c.most || len(b.sent) != 0 {
				t.Errorf("one byte over %d: %v", c.most, over.Err)
			}
			most := call(2)
			most.Payload = [][]byte{make([]byte, c.most-28)}
			b.call(most)
			if len(b.sent) != 1 || len(b.sent[0]) != c.most {
				t.Errorf("%d bytes were not sent: %v", c.most, most.Err)
			}
		})
	}
}

const (
	readKey  = "00000001 00000010 000000aa 00000004 00000000 00001000 00000000 "
	writeKey = "00000001 00000001 000000bb 00000008 00000000 00002000 00000000 "
	replyKey = "00000001 00000001 000000cc 00000080 00000000 00003000 "
)

// RFC 8797 §4.1, R261, R265: a Reply, and no other message, invalidates one key of the Call that it
// answers, if that was negotiated.
func TestResponderInvalidates(t *testing.T) {
	for _, c := range []struct {
		name  string
		terms header.Terms
		lists string
		pull  bool
		a     engine.Answer
		want  string
	}{
		{"read chunk", invalidating, readKey + "00000000 00000000 ", true, engine.Answer{}, "send-invalidate 40 bytes ends key 0xaa"},
		{
			"write chunk: after the Writes", invalidating, "00000000 " + writeKey + "00000000 ", false,
			engine.Answer{Results: &engine.Results{Data: []verbs.SGE{{Length: 8}}}},
			"write 8 bytes key 0xbb at 0x2000 none\nsend-invalidate 64 bytes ends key 0xbb",
		},
		{"an unused write chunk is one as well", invalidating, "00000000 " + writeKey + "00000000 ", false, engine.Answer{}, "send-invalidate 64 bytes ends key 0xbb"},
		{"reply chunk", invalidating, "00000000 00000000 " + replyKey, false, engine.Answer{Results: &engine.Results{Long: verbs.SGE{Length: 8}}}, "write 8 bytes key 0xcc at 0x3000 none\nsend-invalidate 48 bytes ends key 0xcc"},
		{"no chunk", invalidating, "00000000 00000000 00000000 ", false, engine.Answer{}, "send 40 bytes"},
		{"a chunk of no bytes names nothing", invalidating, "00000000 00000001 00000001 000000dd 00000000 00000000 00002000 00000000 00000000 ", false, engine.Answer{}, "send 64 bytes"},
		{"ERROR instead of a Reply", invalidating, "00000000 " + writeKey + "00000000 ", false, engine.Answer{Refuse: header.Error{Code: header.ErrChunk}}, "send 20 bytes"},
		{"R265: not agreed", header.DefaultTerms(), "00000000 " + writeKey + "00000000 ", false, engine.Answer{}, "send 64 bytes"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t, engine.Responder, 2, 16)
			b.agreed(c.terms)
			b.receive(0, unhex(t, "cafe0001 00000001 00000020 00000000 "+c.lists+rpcCall))
			if c.pull {
				b.complete()
			}
			b.logged()
			if c.a.Results == nil || c.a.Long.Length == 0 {
				c.a.Payload = [][]byte{unhex(t, "cafe0001 00000001 44444444")}
			}
			b.answer(c.a)
			want := "recv 0\n" + c.want + " signaled|solicited\n"
			if !strings.Contains(want, "write") {
				want += "release 0xcafe0001: <nil>\n" // its memory is free when the post returns
			}
			if diff := cmp.Diff(want, b.logged()); diff != "" {
				t.Error(diff)
			}
			if ends := b.e.Stats().RemoteInvalidations; (ends == 1) != strings.Contains(c.want, "ends") {
				t.Errorf("%d counted", ends)
			}
		})
	}
}

// R264, B19: a requester accepts an invalidated key from the Reply to the Call that offered the
// key. Any other invalidation closes the connection.
func TestRequesterAccepts(t *testing.T) {
	msg := func(xid uint32) []byte {
		return unhex(t, fmt.Sprintf("%08x 00000001 00000004 00000000 00000000 00000001 00000001 %08x 00000000 00000000 00001000 00000000 00000000 %08x 00000001 00000000", xid, 0xb0+xid, xid))
	}
	with := func(xid uint32) *engine.Call {
		c := call(xid)
		copy(c.WithOffer().Lists.AddWrite(1), []header.Segment{{Handle: 0xb0 + xid, Length: 8, Offset: 0x1000}})
		return c
	}
	for _, c := range []struct {
		name  string
		msg   []byte
		key   uint32
		terms header.Terms
		fatal bool
	}{
		{"its own key", msg(1), 0xb1, invalidating, false},
		{"no key", msg(1), 0, invalidating, false},
		{"a Reply we cannot use: its key is ended all the same", msg(1)[:44], 0xb1, invalidating, false},
		{"B19: the key of another Call in flight", msg(1), 0xb2, invalidating, true},
		{"B19: a key that was not offered", msg(1), 0xff, invalidating, true},
		{"a Reply to nothing", msg(9), 0xb1, invalidating, true},
		{"a Reply to a Call that waits for its credit", msg(3), 0xb3, invalidating, true},
		{"R268: a Call of the peer with the same XID", unhex(t, "00000001 00000001 00000004 00000000 00000000 00000000 00000000 00000001 00000000"), 0xb1, invalidating, true},
		{"DONE", unhex(t, "00000001 00000001 00000004 00000003"), 0xb1, invalidating, true},
		{"no header", msg(1)[:12], 0xb1, invalidating, true},
		{"version 2", append(unhex(t, "00000001 00000002"), msg(1)[8:]...), 0xb1, invalidating, false},
		{"version 2, of no Call", append(unhex(t, "00000009 00000002"), msg(1)[8:]...), 0xb1, invalidating, true},
		{"R265, T80: not agreed", msg(1), 0xb1, header.DefaultTerms(), true},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t, engine.Requester, 4, 16)
			b.agreed(c.terms)
			b.call(call(0)) // for a grant of 2
			b.receive(0, reply(t, 0, 2))
			calls := map[uint32]*engine.Call{1: with(1), 2: with(2), 3: with(3)}
			for xid := uint32(1); xid <= 3; xid++ {
				b.call(calls[xid])
			}
			b.done = nil
			b.ending(1, c.msg, c.key)
			if !c.fatal {
				if b.fail != nil || len(b.done) != 1 || calls[1].InvalidatedKey != c.key {
					t.Errorf("ended with %v, %d Calls over, key %#x", b.fail, len(b.done), calls[1].InvalidatedKey)
				}
				return
			}
			if !errors.Is(b.fail, engine.ErrInvalidated) || len(b.done) != 3 {
				t.Errorf("ended with %v, %d Calls over", b.fail, len(b.done))
			}
			for xid, c := range calls {
				if c.Err != b.fail || c.InvalidatedKey != 0 {
					t.Errorf("Call %d: %v, key %#x", xid, c.Err, c.InvalidatedKey)
				}
			}
		})
	}
}

// A Call was cancelled while its Reply, which invalidated one of the Call's keys, was in the queue:
// that is not a violation, and the credit is free again (R135, T64). A key of another Call still is
// one.
func TestCancelledCallsKeys(t *testing.T) {
	for _, key := range []uint32{0xbb, 0xbc} {
		b := newBench(t, engine.Requester, 4, 16)
		b.agreed(invalidating)
		c := call(1)
		copy(c.WithOffer().Lists.AddWrite(1), []header.Segment{{Handle: 0xbb, Length: 8, Offset: 0x1000}})
		b.call(c)
		b.step(engine.Event{Kind: engine.EventCancel, XID: 1, Call: c})
		c.Lists.Reset() // it is its owner's again
		b.ending(0, reply(t, 1, 4), key)
		switch {
		case key == 0xbb && (b.fail != nil || b.e.Stats().InFlight != 0):
			t.Errorf("its own key: %v, %+v", b.fail, b.e.Stats())
		case key == 0xbc && !errors.Is(b.fail, engine.ErrInvalidated):
			t.Errorf("another key: %v", b.fail)
		}
	}
}

// A responder offers no keys, so the peer cannot invalidate any.
func TestResponderLosesKey(t *testing.T) {
	b := newBench(t, engine.Responder, 2, 16)
	b.agreed(invalidating)
	b.ending(0, unhex(t, short(1)), 7)
	if !errors.Is(b.fail, engine.ErrInvalidated) || len(b.reqs) != 0 {
		t.Errorf("ended with %v, %d delivered", b.fail, len(b.reqs))
	}
}
