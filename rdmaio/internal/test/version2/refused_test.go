package version2

import (
	"encoding/binary"
	"slices"
	"testing"

	"github.com/rpcrdma/rpcrdma/internal/peertest"
	"github.com/rpcrdma/rpcrdma/internal/peertest/peer2"
	"github.com/rpcrdma/rpcrdma/internal/rdmaiotest"
	"github.com/rpcrdma/rpcrdma/internal/rpctest"
	"github.com/rpcrdma/rpcrdma/internal/v2test"
	"github.com/rpcrdma/rpcrdma/rdmaio"
)

// The XID of the messages in TestBadMessageGetsItsError.
const badXID = 0xcafe0001

// refusal is the reaction of a server to a message.
type refusal struct {
	code uint32 // of the ERROR; 0: none
	args []uint32
	good bool // it is served
}

// A server answers a message that breaks a rule by the ERROR of that rule, with the XID of the
// message, and runs nothing. The next good Call is served (R140, R141, R143, R145, R147, R151,
// R157, R158, R193, R194, R196, R198, R199, R200, R202, R205, R210, R262; T22, T24 to T28, T29,
// T30, T32, T36 to T42, T46, T47, T51, T78, T87, T88).
func TestBadMessageGetsItsError(t *testing.T) {
	type seg = peertest.Segment
	// read returns a read segment in an 8192-byte region.
	read := func(s seg, pos, n uint32) seg { s.Position, s.Length = pos, n; return s }
	call := func() peer2.Message { return peer2.Call(badXID, rpctest.CallBytes(badXID, 40)) }
	bad := func(code uint32, args ...uint32) refusal { return refusal{code: code, args: args} }
	dropped, served := refusal{}, refusal{good: true}
	with := func(f func(m *peer2.Message, s seg)) func(seg) []byte {
		return func(s seg) []byte {
			m := call()
			m.Credit = peer2.Word(8, 1)
			f(&m, s)
			return m.Bytes()
		}
	}
	reads := func(list ...[2]uint32) func(seg) []byte {
		return with(func(m *peer2.Message, s seg) {
			for _, r := range list {
				m.Reads = append(m.Reads, read(s, r[0], r[1]))
			}
		})
	}
	htype := func(n uint32) func(seg) []byte {
		return with(func(m *peer2.Message, s seg) { m.Type, m.Payload = n, make([]byte, 40) })
	}
	flags := func(f uint32) func(seg) []byte {
		return with(func(m *peer2.Message, s seg) { m.Flags = f })
	}
	const prefix = "cafe0001 00000002 00080001 "
	hex := func(text string) func(seg) []byte {
		return func(seg) []byte { return peertest.Bytes(t, prefix+text) }
	}
	for _, c := range []struct {
		name string
		msg  func(s seg) []byte
		want refusal
	}{
		{"a good Call", with(func(m *peer2.Message, s seg) {}), served},
		{"T18: 16 bytes", hex("00000000"), dropped},
		{"T18: 19 bytes", hex("00000000 000000"), dropped},
		{"T22: type 2", htype(2), bad(peer2.ErrHeaderType)},
		{"T22: type 3", htype(3), bad(peer2.ErrHeaderType)},
		{"T22: type 6", htype(6), bad(peer2.ErrHeaderType)},
		{"T22: type 7", htype(7), bad(peer2.ErrHeaderType)},
		{"T22: type 13", htype(13), bad(peer2.ErrHeaderType)},
		{"T22: type 255", htype(255), bad(peer2.ErrHeaderType)},
		{"T22: type 0xffffffff", htype(0xffffffff), bad(peer2.ErrHeaderType)},
		{"T22: type 2, nothing else", hex("00000002 00000000"), bad(peer2.ErrHeaderType)},
		{"T30: flag 4", flags(4), bad(peer2.ErrFlag)},
		{"T30: flag 0x80000000", flags(0x80000000), bad(peer2.ErrFlag)},
		{"T30: all flags but RESPONSE", flags(0xfffffffe), bad(peer2.ErrFlag)},
		{"T87: MORE in NOMSG", with(func(m *peer2.Message, s seg) {
			m.Type, m.Flags, m.Reads, m.Payload = peer2.NoMsg, peer2.More, []seg{read(s, 0, 40)}, nil
		}), bad(peer2.ErrFlag)},
		{"T87: MORE in a grant", hex("00000001 00000002 00000000 00000000 00000000 00000000"), bad(peer2.ErrFlag)},
		{"T87: MORE in type 6", with(func(m *peer2.Message, s seg) { m.Type, m.Flags = 6, peer2.More }), bad(peer2.ErrHeaderType)},
		{"T87: MORE in an ERROR", hex("00000004 00000002 00000002"), dropped},
		{"T88: MORE with a read chunk", with(func(m *peer2.Message, s seg) { m.Flags, m.Reads = peer2.More, []seg{read(s, 40, 8)} }), bad(peer2.ErrFlag)},
		{"T88: MORE with a write chunk", with(func(m *peer2.Message, s seg) { m.Flags, m.Writes = peer2.More, [][]seg{{s}} }), bad(peer2.ErrFlag)},
		{"T88: MORE with a reply chunk", with(func(m *peer2.Message, s seg) { m.Flags, m.Reply = peer2.More, []seg{s} }), bad(peer2.ErrFlag)},
		{"T29: a REPLY without RESPONSE", with(func(m *peer2.Message, s seg) { m.Payload = rpctest.ReplyBytes(badXID, 40) }), bad(peer2.ErrFlag)},
		{"T29: a CALL with RESPONSE", flags(peer2.Response), dropped},
		{"a Reply", with(func(m *peer2.Message, s seg) { m.Flags, m.Payload = peer2.Response, rpctest.ReplyBytes(badXID, 40) }), dropped},
		{"R193: an ERROR", hex("00000004 00000001 00000002"), dropped},
		{"R193: an ERROR without RESPONSE", hex("00000004 00000000 00000002"), dropped},
		{"RPC message of type 2", with(func(m *peer2.Message, s seg) { m.Payload[7] = 2 }), bad(peer2.ErrFlag)},
		{"T24: 2 for the read list", hex("00000000 00000000 00000000 00000002 00000000 00000000"), bad(peer2.ErrBadXDR)},
		{"T24: 2 for the write list", hex("00000000 00000000 00000000 00000000 00000002 00000000"), bad(peer2.ErrBadXDR)},
		{"T24: 2 for the reply chunk", hex("00000000 00000000 00000000 00000000 00000000 00000002"), bad(peer2.ErrBadXDR)},
		{"the lists are cut", hex("00000000 00000000 00000000 00000000"), bad(peer2.ErrBadXDR)},
		{"T25: endless read list", func(s seg) []byte {
			b := peertest.Bytes(t, prefix+"00000000 00000000 00000000")
			for len(b) < 4000 {
				b = append(b, peertest.Bytes(t, "00000001 00000028 00000001 00000004 00000000 00000000")...)
			}
			return b
		}, bad(peer2.ErrBadXDR)},
		{"T26: segment count 0xffffffff", hex("00000000 00000000 00000000 00000000 00000001 ffffffff"), bad(peer2.ErrBadXDR)},
		{"T26: segment count wraps", hex("00000000 00000000 00000000 00000000 00000001 10000001 00000001 00000004 00000000 00000000 00000000 00000000"), bad(peer2.ErrBadXDR)},
		{"T26: one segment less than counted", hex("00000000 00000000 00000000 00000000 00000000 00000001 00000002 00000001 00000004 00000000 00000000"), bad(peer2.ErrBadXDR)},
		{"T28: another XID in the RPC message", with(func(m *peer2.Message, s seg) { m.Payload = rpctest.CallBytes(badXID+1, 40) }), bad(peer2.ErrBadXDR)},
		{"T28: RPC message of 4 bytes", with(func(m *peer2.Message, s seg) { m.Payload = m.Payload[:4] }), bad(peer2.ErrBadXDR)},
		{"RPC message of 3 bytes", with(func(m *peer2.Message, s seg) { m.Payload = m.Payload[:3] }), bad(peer2.ErrBadXDR)},
		{"no RPC message", with(func(m *peer2.Message, s seg) { m.Payload = nil }), bad(peer2.ErrBadXDR)},
		{"T28 by chunk: another XID", with(func(m *peer2.Message, s seg) { m.Type, m.Reads, m.Payload = peer2.NoMsg, []seg{read(s, 0, 48)}, nil }), bad(peer2.ErrBadXDR)},
		{"T32: bytes after NOMSG", with(func(m *peer2.Message, s seg) { m.Type, m.Reads = peer2.NoMsg, []seg{read(s, 0, 40)} }), bad(peer2.ErrBadXDR)},
		{"T32: bytes after a grant, which has an XID", hex("00000001 00000000 00000000 00000000 00000000 00000000 00000000"), bad(peer2.ErrBadXDR)},
		{"NOMSG with a reply chunk alone", with(func(m *peer2.Message, s seg) { m.Type, m.Reply, m.Payload = peer2.NoMsg, []seg{s}, nil }), bad(peer2.ErrBadXDR)},
		{"T36: position 41", reads([2]uint32{41, 8}), bad(peer2.ErrBadXDR)},
		{"T37: position past the end", reads([2]uint32{44, 8}), bad(peer2.ErrBadXDR)},
		{"T38: overlap", reads([2]uint32{20, 8}, [2]uint32{24, 8}), bad(peer2.ErrBadXDR)},
		{"T39: decreasing", reads([2]uint32{24, 4}, [2]uint32{20, 4}), bad(peer2.ErrBadXDR)},
		{"T39: A B A", reads([2]uint32{20, 4}, [2]uint32{24, 4}, [2]uint32{20, 4}), bad(peer2.ErrBadXDR)},
		{"T41: position 0 in MSG", reads([2]uint32{0, 8}), bad(peer2.ErrBadXDR)},
		{"T42: NOMSG without position 0", with(func(m *peer2.Message, s seg) { m.Type, m.Reads, m.Payload = peer2.NoMsg, []seg{read(s, 4, 40)}, nil }), bad(peer2.ErrBadXDR)},
		{"T40: a chunk of nothing at the end", reads([2]uint32{40, 0}), served},
		{"T44: odd segments", reads([2]uint32{40, 1}, [2]uint32{40, 2}, [2]uint32{40, 3}), served},
		{"T47: wraps 2^64", with(func(m *peer2.Message, s seg) {
			m.Reads = []seg{{Position: 40, Key: s.Key, Length: 16, Addr: 0xfffffffffffffff8}}
		}), bad(peer2.ErrBadXDR)},
		{"T46: more bytes than Config.MaxReadBytes", reads([2]uint32{40, 6001}), bad(peer2.ErrSystem)},
		{"T46: 4 GiB", reads([2]uint32{40, 0xffffffff}), bad(peer2.ErrSystem)},
		{"T51: five segments", reads([2]uint32{40, 4}, [2]uint32{40, 4}, [2]uint32{40, 4}, [2]uint32{40, 4}, [2]uint32{40, 4}), bad(peer2.ErrSegments, 4)},
		{"T51: four read chunks", reads([2]uint32{8, 4}, [2]uint32{16, 4}, [2]uint32{24, 4}, [2]uint32{32, 4}), bad(peer2.ErrReadChunks, 3)},
		{"T27: four write chunks", with(func(m *peer2.Message, s seg) { m.Writes = [][]seg{{}, {}, {}, {}} }), bad(peer2.ErrWriteChunks, 3)},
		{"T51: five segments in a write chunk", with(func(m *peer2.Message, s seg) { m.Writes = [][]seg{{s, s, s, s, s}} }), bad(peer2.ErrSegments, 4)},
		{"T51: five segments in the reply chunk", with(func(m *peer2.Message, s seg) { m.Reply = []seg{s, s, s, s, s} }), bad(peer2.ErrSegments, 4)},
		{"T78: rdma_inv_handle without chunks", with(func(m *peer2.Message, s seg) { m.Key = s.Key }), bad(peer2.ErrBadXDR)},
		{"T78: rdma_inv_handle of another chunk", with(func(m *peer2.Message, s seg) { m.Key, m.Writes = s.Key+1, [][]seg{{s}} }), bad(peer2.ErrBadXDR)},
		{"rdma_inv_handle of a write chunk", with(func(m *peer2.Message, s seg) { m.Key, m.Writes = s.Key, [][]seg{{s}} }), served},
	} {
		v2test.Each(t, c.name, func(t *testing.T, w *rdmaiotest.World) {
			a := new(rpctest.App)
			p := v2test.Server(t, w, a, peer2.Config{}, v2test.Config(rdmaio.Config{MaxReadBytes: 6000, MaxSegments: 4, MaxChunks: 3}))
			o := p.Offer(8192, rdmaiotest.AnyAccess)
			s := seg{Key: o.RKey(), Length: 8192, Addr: o.RemoteAddr()}
			binary.BigEndian.PutUint32(o.Data, badXID+5)
			p.SendBytes(c.msg(s))
			p.Book.In++ // its word granted this
			switch {
			case c.want.good:
				if m := p.Next(); !m.IsReply() || m.XID != badXID {
					t.Errorf("answer %v", m)
				}
			case c.want.code == 0:
				p.Quiet()
			default:
				m := p.Next()
				if m.Type != peer2.Error || m.XID != badXID || m.Code != c.want.code || !slices.Equal(m.Args, c.want.args) {
					t.Errorf("answer %v, want code %d %v", m, c.want.code, c.want.args)
				}
			}
			if ran := len(a.Calls()); (ran == 1) != c.want.good {
				t.Errorf("the handler ran %d times", ran)
			}
			v2test.Works(t, p, 77)
		})
	}
}

// CONNPROP at either end: unknown properties are skipped, in any order (R222, R223); bad ones are
// BAD_XDR (R197, R228, R313), and then nothing of the set is applied (T103). The set of a client
// that is refused is answered by ERROR and by the server's own set, a body that is not XDR by ERROR
// alone. A client sends no ERROR (R193).
func TestPropertiesAreJudgedAsASet(t *testing.T) {
	size := peer2.Prop(peer2.ReceiveSize, 8192)
	raw := func(id uint32, data ...byte) peer2.Property { return peer2.Property{ID: id, Data: data} }
	for _, c := range []struct {
		name  string
		set   []peer2.Property
		bytes string // instead of a set: the body
		bad   bool
		send  int // threshold afterwards; 0: 8192
	}{
		{name: "one", set: []peer2.Property{size}},
		{name: "T102: unknown id", set: []peer2.Property{raw(0x1234, 1, 2, 3), size, raw(0, 9), raw(7), raw(0xffffffff, 1)}},
		{name: "an unknown id twice", set: []peer2.Property{raw(0x1234), size, raw(0x1234)}},
		{name: "R223: decreasing", set: []peer2.Property{peer2.Prop(5, 0), peer2.Prop(4, 16), peer2.Prop(3, 4096), size, peer2.Prop(1, 4096)}},
		{name: "T102: twice", set: []peer2.Property{size, size}, bad: true},
		{name: "twice, with other values", set: []peer2.Property{size, peer2.Prop(peer2.ReceiveSize, 16384)}, bad: true},
		{name: "T102: short data", set: []peer2.Property{size, raw(peer2.SendSize, 0, 0, 16)}, bad: true},
		{name: "T102: long data", set: []peer2.Property{size, raw(peer2.SendSize, 0, 0, 16, 0, 0)}, bad: true},
		{name: "T102: data of 8 bytes", set: []peer2.Property{size, raw(peer2.SegmentCount, 0, 0, 0, 16, 0, 0, 0, 16)}, bad: true},
		{name: "T102: zero data", set: []peer2.Property{raw(1), raw(2), raw(3), raw(4), raw(5)}, send: 4096},
		{name: "T102: 2^32-1 properties", bytes: "ffffffff 00000002 00000004 00002000", bad: true},
		{name: "one property less than counted", bytes: "00000002 00000002 00000004 00002000", bad: true},
		{name: "T102: data past the end", bytes: "00000001 00000002 00000040 00002000", bad: true},
		{name: "T102: 2^32-1 bytes of data", bytes: "00000001 00000002 ffffffff 00002000", bad: true},
		{name: "no padding", bytes: "00000001 00001234 00000001 01", bad: true},
		{name: "bytes after the set", bytes: "00000001 00000002 00000004 00002000 00000000", bad: true},
		{name: "no count", bytes: "", bad: true},
		{name: "T103: a bad one between two good ones", set: []peer2.Property{size, raw(peer2.SegmentSize, 1), peer2.Prop(peer2.SegmentCount, 8)}, bad: true},
		{name: "reverse support 3", set: []peer2.Property{size, peer2.Prop(peer2.Reverse, 3)}, bad: true},
		{name: "T104: segment size and count 0", set: []peer2.Property{size, peer2.Prop(peer2.SegmentSize, 0), peer2.Prop(peer2.SegmentCount, 0)}},
		{name: "T104: all of 0xffffffff but one", set: []peer2.Property{size, peer2.Prop(1, 0xffffffff), peer2.Prop(3, 0xffffffff), peer2.Prop(4, 0xffffffff)}},
		{name: "host authentication that was not asked for", set: []peer2.Property{size, raw(peer2.HostAuth, 0, 0, 0, 1, 7, 0, 0, 0)}},
		{name: "T102: host authentication cut", set: []peer2.Property{size, raw(peer2.HostAuth, 0, 0, 0, 9, 7, 0, 0, 0)}, bad: true},
		{name: "T106: host authentication of 1 GiB, without its bytes", set: []peer2.Property{size, raw(peer2.HostAuth, 0x40, 0, 0, 0)}, bad: true},
		{name: "host authentication without data", set: []peer2.Property{size, raw(peer2.HostAuth)}, bad: true},
	} {
		if c.send == 0 {
			c.send = 8192
		}
		m := peer2.Props(0x100, c.set...)
		m.Credit = peer2.Word(8, 8)
		body := m.Bytes() // not XDR, if there is no set
		if c.set == nil {
			body = append(body[:20:20], peertest.Bytes(t, c.bytes)...)
		}
		if c.bad {
			c.send = 4096
		}
		cfg := v2test.Config(rdmaio.Config{InlineSend: 8192, InlineRecv: 8192})
		v2test.Each(t, "server, "+c.name, func(t *testing.T, w *rdmaiotest.World) {
			a := &rpctest.App{Size: 7000}
			w.Serve(a, cfg)
			p := v2test.RawClient(t, w, peer2.Config{Size: 8192})
			p.SendBytes(body)
			p.Book.In += 8
			var got []uint32
			for range 1 + btoi(c.bad && c.set != nil) {
				m := p.Next()
				if got = append(got, m.Type); m.Type == peer2.Error && (m.Code != peer2.ErrBadXDR || m.XID != 0x100) {
					t.Errorf("answer %v", m)
				}
			}
			if slices.Contains(got, peer2.Error) != c.bad || slices.Contains(got, peer2.ConnProp) != (c.set != nil) {
				t.Errorf("answers of types %v", got)
			}
			p.Send(peer2.Call(9, rpctest.CallBytes(9, 40)))
			m, parts := p.Whole()
			if len(m.Payload) != 7000 || (parts == 1) != (c.send == 8192) {
				t.Errorf("a Reply in %d parts: %v", parts, m)
			}
		})
		v2test.Each(t, "client, "+c.name, func(t *testing.T, w *rdmaiotest.World) {
			p, done := v2test.DialPeer(t, w, peer2.Config{Size: 8192}, cfg)
			p.Next()
			p.SendBytes(body)
			p.Book.In += 8
			conn := v2test.Connected(t, done)
			end := v2test.Start(conn, rpctest.BigCall(9, 7000))
			m, parts := p.Whole()
			if len(m.Payload) != 7000 || (parts == 1) != (c.send == 8192) {
				t.Errorf("a Call in %d parts: %v", parts, m)
			}
			p.Send(peer2.Reply(9, rpctest.ReplyBytes(9, 24)))
			if r := <-end; r.Err != nil {
				t.Error(r.Err)
			}
		})
	}
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}
