package version2

import (
	"bytes"
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rpcrdma/rpcrdma/internal/peertest"
	"github.com/rpcrdma/rpcrdma/internal/peertest/peer2"
	"github.com/rpcrdma/rpcrdma/internal/rdmaiotest"
	"github.com/rpcrdma/rpcrdma/internal/rpctest"
	"github.com/rpcrdma/rpcrdma/internal/v2test"
	"github.com/rpcrdma/rpcrdma/rdmaio"
)

// mayRun reports whether a responder that sends this code of version 2 may have run the procedure:
// not if it found the fault in the header (R195, R196, R198 to R200, R202, R205).
func mayRun(code rdmaio.PeerErrorCode) bool { return code < 1 || code > 7 }

// A client acts on each ERROR: it sends the Call again with the same XID and another shape, at most
// three times, or returns a PeerError that has the code and its numbers. The connection stays up
// (R201, R202, R204, R205, R208, R210, R211; T72, T74, T75, T76).
func TestClientActsOnEachError(t *testing.T) {
	writes := func(n int) func() *rdmaio.Call {
		return func() *rdmaio.Call { return rpctest.WriteCall(9, 0, make([]byte, n)) }
	}
	results := func(sizes ...int) func() *rdmaio.Call {
		return func() *rdmaio.Call { return rpctest.ResultsCall(9, sizes...) }
	}
	plain := func() *rdmaio.Call { return rpctest.BigCall(9, 40) }
	long := func() *rdmaio.Call { return rpctest.BigCall(9, 60000) }
	replies := func(n int) func() *rdmaio.Call {
		return func() *rdmaio.Call { c := rpctest.BigCall(9, 40); c.MaxReply = n; return c }
	}
	e := func(code uint32, args ...uint32) peer2.Message { return peer2.Err(9, code, args...) }
	one := func(m peer2.Message) []peer2.Message { return []peer2.Message{m} }
	type check func(was, m *peer2.Message) bool // of a Call that was sent again
	for _, c := range []struct {
		name   string
		call   func() *rdmaio.Call
		errs   []peer2.Message // each for a Call
		resent int             // -1: any number up to three
		check  check
		want   *rdmaio.PeerError // nil: the Call succeeds
	}{
		{"BAD_XDR", plain, one(e(2)), 0, nil, &rdmaio.PeerError{Version: 2, Code: rdmaio.PeerErrChunk}},
		{"INVAL_HTYPE", plain, one(e(3)), 0, nil, &rdmaio.PeerError{Version: 2, Code: rdmaio.PeerErrHeaderType}},
		{"INVAL_FLAG", plain, one(e(4)), 0, nil, &rdmaio.PeerError{Version: 2, Code: rdmaio.PeerErrFlag}},
		{"SYSTEM", plain, one(e(10)), 0, nil, &rdmaio.PeerError{Version: 2, Code: rdmaio.PeerErrSystem}},
		{"R211: code 11", plain, one(e(11)), 0, nil, &rdmaio.PeerError{Version: 2, Code: 11}},
		{"R211: code 77 with a body", plain, one(e(77, 1, 2, 3)), 0, nil, &rdmaio.PeerError{Version: 2, Code: 77}},
		{"code 0", plain, one(e(0)), 0, nil, &rdmaio.PeerError{Version: 2, Code: 0}},
		{"code 0xffffffff", plain, one(e(0xffffffff)), 0, nil, &rdmaio.PeerError{Version: 2, Code: 0xffffffff}},
		{"VERS", plain, one(e(1, 1, 1)), 0, nil, &rdmaio.PeerError{Version: 2, Code: rdmaio.PeerErrVers, Low: 1, High: 1}},
		{"READ_CHUNKS, then it goes", writes(30000), one(e(5, 0)), 1, func(was, m *peer2.Message) bool {
			return len(was.Reads) > 0 && m.Type == peer2.NoMsg && m.Reads[0].Position == 0
		}, nil},
		{"READ_CHUNKS without read chunks", plain, one(e(5, 3)), 0, nil, &rdmaio.PeerError{Version: 2, Code: rdmaio.PeerErrReadChunks, Max: 3}},
		{"T76: READ_CHUNKS again", writes(30000), []peer2.Message{e(5, 0), e(5, 0)}, 1, nil, &rdmaio.PeerError{Version: 2, Code: rdmaio.PeerErrReadChunks}},
		{"T76: READ_CHUNKS to a long Call", long, one(e(5, 0)), 0, nil, &rdmaio.PeerError{Version: 2, Code: rdmaio.PeerErrReadChunks}},
		{"WRITE_CHUNKS 1", results(5000, 6000, 7000), one(e(6, 1)), 1, func(was, m *peer2.Message) bool {
			return len(was.Writes) == 3 && len(m.Writes) == 1
		}, nil},
		{"WRITE_CHUNKS 0", results(5000), one(e(6, 0)), 1, func(was, m *peer2.Message) bool { return len(m.Writes) == 0 }, nil},
		{"WRITE_CHUNKS 9 for three", results(1, 2, 3), one(e(6, 9)), 0, nil, &rdmaio.PeerError{Version: 2, Code: rdmaio.PeerErrWriteChunks, Max: 9}},
		{"SEGMENTS 1", writes(30000), one(e(7, 1)), 1, func(was, m *peer2.Message) bool {
			return len(was.Reads) > 1 && len(m.Reads) == 1
		}, nil},
		{"SEGMENTS 0", writes(30000), one(e(7, 0)), 0, nil, &rdmaio.PeerError{Version: 2, Code: rdmaio.PeerErrSegments}},
		{"SEGMENTS 0xffffffff", writes(30000), one(e(7, 0xffffffff)), 0, nil, &rdmaio.PeerError{Version: 2, Code: rdmaio.PeerErrSegments, Max: 0xffffffff}},
		{"WRITE_RESOURCE 1", results(5000), one(e(8, 1, 6000)), 1, func(was, m *peer2.Message) bool {
			return len(m.Writes) == 0
		}, nil},
		{"WRITE_RESOURCE 2", results(5000, 100, 200), one(e(8, 2, 6000)), 1, func(was, m *peer2.Message) bool {
			return len(m.Writes) == 1 && peertest.Length(m.Reply) >= 6000
		}, nil},
		{"WRITE_RESOURCE 0", results(5000), one(e(8, 0, 0)), 0, nil, &rdmaio.PeerError{Version: 2, Code: rdmaio.PeerErrWriteResource}},
		{"T74: WRITE_RESOURCE 99", results(5000), one(e(8, 99, 6000)), -1, nil, &rdmaio.PeerError{Version: 2, Code: rdmaio.PeerErrWriteResource, Index: 99, Need: 6000}},
		{"T74: WRITE_RESOURCE of 4 GiB", results(5000), one(e(8, 1, 0xffffffff)), 0, nil, &rdmaio.PeerError{Version: 2, Code: rdmaio.PeerErrWriteResource, Index: 1, Need: 0xffffffff}},
		{"REPLY_RESOURCE", plain, one(e(9, 30000)), 1, func(was, m *peer2.Message) bool { return was.Reply == nil && peertest.Length(m.Reply) >= 30000 }, nil},
		{"REPLY_RESOURCE for more", replies(40000), one(e(9, 50000)), 1, func(was, m *peer2.Message) bool { return was.Reply != nil && peertest.Length(m.Reply) >= 50000 }, nil},
		{"R203, R204: REPLY_RESOURCE with write chunks", results(5000, 6000), one(e(9, 20000)), 1, func(was, m *peer2.Message) bool {
			return len(m.Writes) == 0 && peertest.Length(m.Reply) >= 20000
		}, nil},
		{"T74: REPLY_RESOURCE of 4 GiB", plain, one(e(9, 0xffffffff)), 0, nil, &rdmaio.PeerError{Version: 2, Code: rdmaio.PeerErrReplyResource, Need: 0xffffffff}},
		{"T75: REPLY_RESOURCE four times", plain, []peer2.Message{e(9, 30000), e(9, 40000), e(9, 50000), e(9, 60000)}, 3, nil, &rdmaio.PeerError{Version: 2, Code: rdmaio.PeerErrReplyResource, Need: 60000}},
		{"T75: the same REPLY_RESOURCE twice", plain, []peer2.Message{e(9, 30000), e(9, 30000)}, 1, nil, &rdmaio.PeerError{Version: 2, Code: rdmaio.PeerErrReplyResource, Need: 30000}},
		{"one after the other", func() *rdmaio.Call {
			c := rpctest.WriteCall(9, 0, make([]byte, 30000))
			c.Results = [][]byte{make([]byte, 5000), make([]byte, 6000)}
			return c
		}, []peer2.Message{e(7, 1), e(6, 1), e(5, 0)}, 3, func(was, m *peer2.Message) bool { return m.XID == 9 }, nil},
	} {
		v2test.Each(t, c.name, func(t *testing.T, w *rdmaiotest.World) {
			p, conn := v2test.Client(t, w, peer2.Config{}, v2test.Config(rdmaio.Config{SegmentSize: 3000}), peer2.Prop(peer2.SegmentCount, 100))
			done := v2test.Start(conn, c.call())
			first, _ := p.Whole()
			was, sent := first, 0
			for _, err := range c.errs {
				p.Send(err)
				if sent++; sent > c.resent && c.resent >= 0 {
					break
				}
				if c.resent < 0 {
					break
				}
				m, _ := p.Whole()
				if m.XID != 9 || c.check != nil && !c.check(&was, &m) {
					t.Errorf("after %v came %v, before it %v", err, m, was)
				}
				was = m
			}
			if c.want == nil {
				p.Send(was.Unused(rpctest.ReplyBytes(9, 24)))
			}
			r := <-done
			var pe *rdmaio.PeerError
			switch {
			case c.want == nil && r.Err != nil:
				t.Errorf("the Call ended with %v", r.Err)
			case c.want != nil && !errors.As(r.Err, &pe):
				t.Errorf("the Call ended with %v, want %v", r.Err, c.want)
			case c.want != nil && cmp.Diff(c.want, pe) != "":
				t.Error(cmp.Diff(c.want, pe))
			}
			if ce, ok := errors.AsType[*rdmaio.CallError](r.Err); ok && ce.MayHaveRun != mayRun(c.want.Code) {
				t.Errorf("MayHaveRun is %v after code %d", ce.MayHaveRun, c.want.Code)
			}
			p.Quiet()
			v2test.Serves(t, p, conn, 10)
		})
	}
}

// An ERROR that is cut, or has more bytes than its arm, makes its Call fail and nothing else (R211,
// R212, T72); one without RESPONSE, too. One for another XID has no effect (T62), nor has a second
// one.
func TestBadErrorEndsItsCallAlone(t *testing.T) {
	const head = "00000009 00000002 00080001 00000004 00000001 "
	for _, c := range []struct {
		name, bytes string
		goesOn      bool // the Call
	}{
		{"no code", head, false},
		{"no flags", "00000009 00000002 00080001 00000004", false},
		{"VERS without its range", head + "00000001", false},
		{"VERS with half of its range", head + "00000001 00000001", false},
		{"READ_CHUNKS without its number", head + "00000005", false},
		{"WRITE_CHUNKS without its number", head + "00000006", false},
		{"SEGMENTS with two bytes of its number", head + "00000007 0000", false},
		{"WRITE_RESOURCE without its size", head + "00000008 00000001", false},
		{"REPLY_RESOURCE without its size", head + "00000009", false},
		{"BAD_XDR with a word too many", head + "00000002 00000001", false},
		{"READ_CHUNKS with a word too many", head + "00000005 00000001 00000002", false},
		{"without RESPONSE", "00000009 00000002 00080001 00000004 00000000 00000002", false},
		{"with undefined flags", "00000009 00000002 00080001 00000004 00000009 00000002", false},
		{"another XID", "0000000a 00000002 00080001 00000004 00000001 00000002", true},
		{"XID 0", "00000000 00000002 00080001 00000004 00000001 00000002", true},
	} {
		v2test.Each(t, c.name, func(t *testing.T, w *rdmaiotest.World) {
			p, conn := v2test.Client(t, w, peer2.Config{}, v2test.Config(rdmaio.Config{}))
			done := v2test.Start(conn, rpctest.BigCall(9, 40))
			p.Next()
			p.SendBytes(peertest.Bytes(t, c.bytes))
			if c.goesOn {
				p.Quiet()
				p.Send(peer2.Reply(9, rpctest.ReplyBytes(9, 24)))
			}
			if r := <-done; (r.Err == nil) != c.goesOn {
				t.Errorf("the Call ended with %v", r.Err)
			}
			p.Send(peer2.Err(9, 2)) // no Call waits for it
			v2test.Serves(t, p, conn, 10)
		})
	}
}

// A write chunk that is too short gets WRITE_RESOURCE with its number and the size needed, and
// nothing is written past it (R206, T52, T53). The Call that comes again with more gets the reply
// that was kept: the procedure runs once (R209). Another Call with that XID is another Call.
func TestShortWriteChunkGetsWriteResource(t *testing.T) {
	for _, c := range []struct {
		name        string
		items       []int
		chunks      []uint32
		index, need uint32
	}{
		{"T52: one byte too short", []int{1000}, []uint32{999}, 1, 1000},
		{"T53: the second of three", []int{100, 200, 300}, []uint32{100, 150, 10}, 2, 200},
		{"the third of three", []int{100, 200, 300}, []uint32{100, 200, 299}, 3, 300},
		{"a chunk of one byte", []int{70000}, []uint32{1}, 1, 70000},
	} {
		v2test.Each(t, c.name, func(t *testing.T, w *rdmaiotest.World) {
			a := rpctest.ChunkApp(c.items...)
			p := v2test.Server(t, w, a, peer2.Config{}, v2test.Config(rdmaio.Config{}))
			o := p.Offer(100000, rdmaiotest.AnyAccess)
			call := func(xid uint32, sizes []uint32) peer2.Message {
				m, at := peer2.Call(xid, rpctest.CallBytes(9, 40)), uint64(0)
				m.Payload = rpctest.CallBytes(xid, 40)
				for _, n := range sizes {
					m.Writes = append(m.Writes, []peertest.Segment{{Key: o.RKey(), Length: n, Addr: o.RemoteAddr() + at}})
					at += uint64(n)
				}
				return m
			}
			p.Send(call(9, c.chunks))
			m := p.Next()
			if m.Type != peer2.Error || m.XID != 9 || m.Code != peer2.ErrWriteResource || m.Args[0] != c.index || m.Args[1] != c.need {
				t.Fatalf("answer %v, want WRITE_RESOURCE %d %d", m, c.index, c.need)
			}
			total := 0
			for _, n := range c.chunks {
				total += int(n)
			}
			if list := o.Changes(); !peertest.Within(list, 0, total) {
				t.Errorf("written outside the chunks")
			}
			enough := make([]uint32, len(c.items))
			for i, n := range c.items {
				enough[i] = uint32(n)
			}
			p.Send(call(9, enough))
			m = p.Next()
			if !m.IsReply() || len(m.Writes) != len(c.items) || peertest.Length(m.Writes[0]) != c.items[0] {
				t.Errorf("the second answer is %v", m)
			}
			if got := o.Data[:c.items[0]]; !bytes.Equal(got, rdmaiotest.Pattern(c.items[0], 0)) {
				t.Error("the first result has other bytes")
			}
			if n := len(a.Calls()); n != 1 {
				t.Errorf("R209: the procedure ran %d times", n)
			}
			p.Send(call(9, enough)) // the reply is no longer kept
			if m = p.Next(); !m.IsReply() || len(a.Calls()) != 2 {
				t.Errorf("the third answer is %v, the procedure ran %d times", m, len(a.Calls()))
			}
		})
	}
}

// A reply that fits neither inline nor in the reply chunk is continued (R166, T56, T57), and a
// reply chunk that is long enough is used (R98, R151). Each message has RESPONSE, and no undefined
// flag (R142, R144).
func TestLongReplyIsContinuedOrGoesByChunk(t *testing.T) {
	for _, c := range []struct {
		name   string
		size   int
		chunk  int // reply chunk; 0: none
		long   bool
		parts  int
		unused bool // the reply chunk
	}{
		{"inline", 4000, 0, false, 1, false},
		{"the largest inline", 4060, 0, false, 1, false},
		{"T58: inline, with a reply chunk", 1000, 5000, false, 1, true},
		{"T57: no reply chunk", 9000, 0, false, 3, false},
		{"T56: reply chunk too short", 9000, 8999, false, 3, true},
		{"reply chunk of one byte", 5000, 1, false, 2, true},
		{"by reply chunk", 9000, 9000, true, 1, false},
		{"by a longer reply chunk", 9000, 20000, true, 1, false},
		{"T57: 1 MiB", 1 << 20, 0, false, 259, false},
	} {
		v2test.Each(t, c.name, func(t *testing.T, w *rdmaiotest.World) {
			p := v2test.Server(t, w, &rpctest.App{Size: c.size}, peer2.Config{}, v2test.Config(rdmaio.Config{}))
			m := peer2.Call(9, rpctest.CallBytes(9, 40))
			var o *peertest.Offer
			if c.chunk > 0 {
				o = p.Offer(c.chunk, rdmaiotest.AnyAccess)
				m.Reply = []peertest.Segment{{Key: o.RKey(), Length: uint32(c.chunk), Addr: o.RemoteAddr()}}
			}
			p.Send(m)
			m = p.Next()
			parts, payload := 1, m.Payload
			for ; m.Flags&peer2.More != 0; parts++ {
				if p.Book.In <= 2 {
					p.Send(peer2.Grant())
				}
				m = p.Next()
				payload = append(payload, m.Payload...)
			}
			if (m.Type == peer2.NoMsg) != c.long || parts != c.parts {
				t.Errorf("%d parts, the last is %v, want %d", parts, m, c.parts)
			}
			switch {
			case c.long:
				if peertest.Length(m.Reply) != c.size {
					t.Errorf("%d bytes by reply chunk, want %d", peertest.Length(m.Reply), c.size)
				}
				payload = o.Data[:c.size]
			case c.unused && (m.Reply == nil || peertest.Length(m.Reply) != 0):
				t.Errorf("the reply chunk is not unused in %v", m)
			}
			if !bytes.Equal(payload, rpctest.ReplyBytes(9, c.size)) {
				t.Error("the reply has other bytes")
			}
			v2test.WorksInParts(t, p, 10, c.size)
		})
	}
}

// A result goes to its write chunk, whose segments are filled in order (R76, R79). An empty write
// chunk takes its result inline and comes back empty (T54). One without a result comes back unused
// (T55), also from a Reply in parts, where the lists are in the last one (R158).
func TestResultsFillTheirWriteChunks(t *testing.T) {
	const none = -1 // an empty chunk
	for _, c := range []struct {
		name   string
		items  []int
		chunks []int
		want   []int // lengths returned
		parts  int
	}{
		{"one result", []int{3000}, []int{3000}, []int{3000}, 1},
		{"a chunk with room", []int{3000}, []int{5000}, []int{3000}, 1},
		{"two results", []int{3000, 5}, []int{3000, 100}, []int{3000, 5}, 1},
		{"T54: an empty chunk", []int{3000}, []int{none}, []int{none}, 1},
		{"T54: an empty chunk, a long result", []int{9000}, []int{none}, []int{none}, 3},
		{"T55: no result", nil, []int{3000}, []int{0}, 1},
		{"T55: no second result", []int{10}, []int{3000, 200}, []int{10, 0}, 1},
		{"more results than chunks", []int{10, 9000}, []int{100}, []int{10}, 3},
	} {
		v2test.Each(t, c.name, func(t *testing.T, w *rdmaiotest.World) {
			a := &rpctest.App{Reply: func(r *rdmaio.Request) bool {
				e := rpctest.ReplyHeader(9)
				e.Reduce = true
				for i, n := range c.items {
					if i == len(rpctest.WriteChunks(r)) || rpctest.WriteChunks(r)[i] == 0 {
						e.Reduce = false
					}
					e.Opaque("item", rdmaiotest.Pattern(n, uint64(i)))
				}
				r.Reply(e.Message(), nil)
				return true
			}}
			p := v2test.Server(t, w, a, peer2.Config{}, v2test.Config(rdmaio.Config{}))
			o := p.Offer(10000, rdmaiotest.AnyAccess)
			m, at := peer2.Call(9, rpctest.CallBytes(9, 40)), uint64(0)
			for _, n := range c.chunks {
				chunk := []peertest.Segment{}
				if n != none { // two segments
					chunk = append(chunk, peertest.Segment{Key: o.RKey(), Length: 3, Addr: o.RemoteAddr() + at},
						peertest.Segment{Key: o.RKey(), Length: uint32(n - 3), Addr: o.RemoteAddr() + at + 3})
					at += uint64(n)
				}
				m.Writes = append(m.Writes, chunk)
			}
			p.Send(m)
			m, parts := p.Whole()
			if !m.IsReply() || parts != c.parts || len(m.Writes) != len(c.want) {
				t.Fatalf("%v in %d parts, want %d", m, parts, c.parts)
			}
			at = 0
			for i, n := range c.want {
				if n == none {
					if len(m.Writes[i]) != 0 {
						t.Errorf("chunk %d comes back as %v", i, m.Writes[i])
					}
					continue
				}
				if peertest.Length(m.Writes[i]) != n {
					t.Errorf("chunk %d has %d bytes, want %d", i, peertest.Length(m.Writes[i]), n)
				}
				if n > 0 && !bytes.Equal(o.Data[at:][:n], rdmaiotest.Pattern(n, uint64(i))) {
					t.Errorf("chunk %d has other bytes", i)
				}
				at += uint64(c.chunks[i])
			}
		})
	}
}

// T62, T63: a Reply to no Call, and the second Reply to one, are dropped. A Reply that breaks a
// rule makes its Call fail, and no ERROR is sent (R193, A8).
func TestBadReplyEndsItsCall(t *testing.T) {
	for _, c := range []struct {
		name   string
		answer func(call *peer2.Message) peer2.Message
		goesOn bool
	}{
		{"T62: another XID", func(m *peer2.Message) peer2.Message { return peer2.Reply(m.XID+1, rpctest.ReplyBytes(m.XID+1, 24)) }, true},
		{"R146: RESPONSE clear", func(m *peer2.Message) peer2.Message { return peer2.Call(m.XID, rpctest.CallBytes(m.XID, 40)) }, true},
		{"T29: RESPONSE clear, but REPLY", func(m *peer2.Message) peer2.Message { return peer2.Call(m.XID, rpctest.ReplyBytes(m.XID, 24)) }, true},
		{"T34: grant with the XID of the Call", func(m *peer2.Message) peer2.Message {
			return peer2.Message{XID: m.XID, Type: peer2.NoMsg, Flags: peer2.Response}
		}, true},
		{"T34: grant with an rdma_inv_handle", func(m *peer2.Message) peer2.Message {
			return peer2.Message{XID: m.XID, Type: peer2.NoMsg, Key: 77}
		}, true},
		{"R145: RESPONSE, but CALL", func(m *peer2.Message) peer2.Message { return peer2.Reply(m.XID, rpctest.CallBytes(m.XID, 40)) }, false},
		{"T28: another XID in the RPC message", func(m *peer2.Message) peer2.Message { return peer2.Reply(m.XID, rpctest.ReplyBytes(m.XID+1, 24)) }, false},
		{"RPC message of 4 bytes", func(m *peer2.Message) peer2.Message { return peer2.Reply(m.XID, rpctest.ReplyBytes(m.XID, 24)[:4]) }, false},
		{"T70: a read list", func(m *peer2.Message) peer2.Message {
			r := m.Unused(rpctest.ReplyBytes(m.XID, 24))
			r.Reads = []peertest.Segment{{Position: 24, Key: 1, Length: 4}}
			return r
		}, false},
		{"T66: no write list", func(m *peer2.Message) peer2.Message { return peer2.Reply(m.XID, rpctest.ReplyBytes(m.XID, 24)) }, false},
		{"T66: another handle", func(m *peer2.Message) peer2.Message {
			r := m.Unused(rpctest.ReplyBytes(m.XID, 24))
			r.Writes[0][0].Key++
			return r
		}, false},
		{"T69: NOMSG, the reply chunk unused", func(m *peer2.Message) peer2.Message {
			r := m.Unused(nil)
			r.Type = peer2.NoMsg
			return r
		}, false},
		{"header type 3", func(m *peer2.Message) peer2.Message { return peer2.Message{XID: m.XID, Type: 3, Flags: peer2.Response} }, false},
		{"undefined flags", func(m *peer2.Message) peer2.Message {
			r := m.Unused(rpctest.ReplyBytes(m.XID, 24))
			r.Flags |= 8
			return r
		}, false},
		{"MORE in NOMSG", func(m *peer2.Message) peer2.Message {
			r := m.Unused(nil)
			r.Type, r.Flags = peer2.NoMsg, peer2.Response|peer2.More
			return r
		}, false},
	} {
		v2test.Each(t, c.name, func(t *testing.T, w *rdmaiotest.World) {
			p, conn := v2test.Client(t, w, peer2.Config{}, v2test.Config(rdmaio.Config{}))
			call := rpctest.ResultsCall(9, 5000)
			call.MaxReply = 20000
			done := v2test.StartWith(context.Background(), conn, call)
			m := p.Next()
			p.Send(c.answer(&m))
			p.Quiet()
			if c.goesOn {
				p.Send(m.Unused(rpctest.ReplyBytes(9, 24)))
			}
			if r := <-done; (r.Err == nil) != c.goesOn {
				t.Errorf("the Call ended with %v", r.Err)
			}
			p.Send(m.Unused(rpctest.ReplyBytes(9, 24))) // T63
			v2test.Serves(t, p, conn, 10)
		})
	}
}
