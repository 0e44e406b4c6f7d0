package v2_test

import (
	"encoding/hex"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/header"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/v2"
)

// vector is a message and its bytes, written by hand from sections 6.3, 6.4 and 7 of the draft.
type vector struct {
	name string
	hex  string
	msg  header.Message
	// encoded has the bytes that Append writes, if they differ.
	encoded string
	dialed  bool // decoded by an end that dialed, as the first message
	cut     bool // invalid, though not a fault; Append is not tried
}

func seg(h, n uint32, off uint64) header.Segment {
	return header.Segment{Handle: h, Length: n, Offset: off}
}

// prefix is the first three words of most vectors: XID, version, and a grant of 1 with a maximum of
// 32. The header type and the flags follow.
const prefix = "cafe0001 00000002 00200001 "

// none is rdma_inv_handle and three absent lists.
const none = "00000000 00000000 00000000 00000000 "

// extType is the header type of the extension that the tests know, and extFlag its flag.
const (
	extType = 0x20
	extFlag = 0x100
)

func types(htype uint32) (uint32, bool) { return extFlag, htype == extType }

func newVersion(dialed bool) *v2.Version {
	return v2.New(v2.Config{Dialed: dialed, Own: v2.DefaultProperties(), Types: types})
}

func message(k header.Kind) header.Message {
	return header.Message{XID: 0xcafe0001, Vers: 2, Credit: 0x00200001, Kind: k}
}

// with returns m, changed by f.
func with(m header.Message, f func(*header.Message)) header.Message {
	f(&m)
	return m
}

func errorMessage(e header.Error) header.Message {
	return with(message(header.KindError), func(m *header.Message) { m.Answer, m.Err = true, e })
}

func vectors() []vector {
	var (
		callBytes = []byte{0xca, 0xfe, 0, 1, 0, 0, 0, 0}
		msg       = message(header.KindMsg)
	)
	return []vector{
		// Header type 0 is MSG, flags 0: a Call. Then rdma_inv_handle, three lists, the payload.
		{
			name: "R138, R139, R148, R149: MSG without chunks",
			hex:  prefix + "00000000 00000000 " + none + "cafe0001 00000000",
			msg:  with(msg, func(m *header.Message) { m.Payload = callBytes }),
		},
		{
			name: "R144: a Reply",
			hex:  prefix + "00000000 00000001 " + none + "cafe0001 00000001",
			msg:  with(msg, func(m *header.Message) { m.Answer, m.Payload = true, []byte{0xca, 0xfe, 0, 1, 0, 0, 0, 1} }),
		},
		{
			// Flags 2: MORE. The payload is one byte: no word of the RPC message is whole.
			name: "R153, R161, T86, A26: the first part of a Call, of one byte",
			hex:  prefix + "00000000 00000002 " + none + "ca",
			msg:  with(msg, func(m *header.Message) { m.More, m.Payload = true, []byte{0xca} }),
		},
		{
			// Flags 3: both.
			name: "R161: a part of a Reply without payload",
			hex:  prefix + "00000000 00000003 " + none,
			msg:  with(msg, func(m *header.Message) { m.More, m.Answer = true, true }),
		},
		{
			// Entries of the read list begin with the word 1, have a position and a segment of
			// handle, length and offset (two words), and end with the word 0.
			name: "R152, R259: MSG with a read chunk of two segments, whose second handle may be invalidated",
			hex: prefix + "00000000 00000000 deadbef0 " +
				"00000001 00000078 deadbeef 00001000 00000001 00002000 " +
				"00000001 00000078 deadbef0 00000003 00000000 00000010 00000000 " +
				"00000000 00000000 cafe0001 00000000",
			msg: with(msg, func(m *header.Message) {
				m.InvalidateKey, m.Payload = 0xdeadbef0, callBytes
				m.Reads = []header.ReadSegment{
					{Position: 120, Segment: seg(0xdeadbeef, 0x1000, 0x1_0000_2000)},
					{Position: 120, Segment: seg(0xdeadbef0, 3, 16)},
				}
			}),
		},
		{
			// Entries of the write list begin with the word 1 and have a number of segments.
			name: "R152, R164: the last part of a Call, with two write chunks, one of them empty, and a reply chunk",
			hex: prefix + "00000000 00000000 00000013 00000000 " +
				"00000001 00000002 00000011 00000100 00000000 00000000 00000012 00000200 00000000 00000100 " +
				"00000001 00000000 00000000 " +
				"00000001 00000001 00000013 00000400 ffffffff fffffc00 ",
			msg: with(msg, func(m *header.Message) {
				m.InvalidateKey = 0x13
				m.Writes = [][]header.Segment{{seg(0x11, 0x100, 0), seg(0x12, 0x200, 0x100)}, {}}
				m.HasReply, m.Reply = true, []header.Segment{seg(0x13, 0x400, 0xffff_ffff_ffff_fc00)}
			}),
		},
		{
			name: "§6.3.3: a Reply names no key to invalidate",
			hex:  prefix + "00000000 00000001 00000099 00000000 00000000 00000000 cafe0001",
			msg:  with(msg, func(m *header.Message) { m.Answer, m.Payload = true, callBytes[:4] }),

			encoded: prefix + "00000000 00000001 " + none,
		},
		{
			name: "R150, R151: NOMSG with a chunk at position zero",
			hex: prefix + "00000001 00000000 00000007 " +
				"00000001 00000000 00000007 00000800 00000000 00000000 00000000 00000000 00000000",
			msg: with(message(header.KindNomsg), func(m *header.Message) {
				m.InvalidateKey = 7
				m.Reads = []header.ReadSegment{{Segment: seg(7, 0x800, 0)}}
			}),
		},
		{
			name: "R150: NOMSG as a Reply by reply chunk",
			hex: prefix + "00000001 00000001 00000000 00000000 00000000 " +
				"00000001 00000001 00000008 00000900 00000000 00000000",
			msg: with(message(header.KindNomsg), func(m *header.Message) {
				m.Answer, m.HasReply, m.Reply = true, true, []header.Segment{seg(8, 0x900, 0)}
			}),
		},
		{
			name: "R174: a grant",
			hex:  "00000000 00000002 00400010 00000001 00000000 " + none,
			msg:  header.Message{Vers: 2, Credit: 0x00400010, Kind: header.KindGrant},
		},
		{
			name: "A10, T34: a grant with an XID and rdma_inv_handle",
			hex:  prefix + "00000001 00000001 00000055 00000000 00000000 00000000",
			msg:  with(message(header.KindGrant), func(m *header.Message) { m.XID, m.Answer = 0, true }),

			encoded: "00000000 00000002 00200001 00000001 00000001 " + none,
		},

		// Header type 4, flags 1, the code, and the arm of the code.
		{
			name: "R195, A1, T97: ERR_VERS in the form of version 2, 32 bytes",
			hex:  prefix + "00000004 00000001 00000001 00000001 00000003",
			msg:  errorMessage(header.Error{Code: header.ErrVers, Low: 1, High: 3}),

			encoded: prefix + "00000004 00000001 00000001 00000003",
		},
		{
			name: "A1, T96: ERR_VERS in the form of version 1, 28 bytes", dialed: true,
			hex: prefix + "00000004 00000001 00000001 00000003",
			msg: errorMessage(header.Error{Code: header.ErrVers, Low: 1, High: 3}),
		},
		{
			name: "R196: BAD_XDR",
			hex:  prefix + "00000004 00000001 00000002",
			msg:  errorMessage(header.Error{Code: header.ErrChunk}),
		},
		{
			name: "R198: INVAL_HTYPE",
			hex:  prefix + "00000004 00000001 00000003",
			msg:  errorMessage(header.Error{Code: header.ErrHeaderType}),
		},
		{
			name: "R199: INVAL_FLAG",
			hex:  prefix + "00000004 00000001 00000004",
			msg:  errorMessage(header.Error{Code: header.ErrFlag}),
		},
		{
			name: "R200: READ_CHUNKS",
			hex:  prefix + "00000004 00000001 00000005 00000004",
			msg:  errorMessage(header.Error{Code: header.ErrReadChunks, Max: 4}),
		},
		{
			name: "R202: WRITE_CHUNKS",
			hex:  prefix + "00000004 00000001 00000006 00000005",
			msg:  errorMessage(header.Error{Code: header.ErrWriteChunks, Max: 5}),
		},
		{
			name: "R205: SEGMENTS",
			hex:  prefix + "00000004 00000001 00000007 00000010",
			msg:  errorMessage(header.Error{Code: header.ErrSegments, Max: 16}),
		},
		{
			name: "R206: WRITE_RESOURCE: index, then length",
			hex:  prefix + "00000004 00000001 00000008 00000002 00010000",
			msg:  errorMessage(header.Error{Code: header.ErrWriteResource, Index: 2, Need: 65536}),
		},
		{
			name: "R207: REPLY_RESOURCE",
			hex:  prefix + "00000004 00000001 00000009 00001234",
			msg:  errorMessage(header.Error{Code: header.ErrReplyResource, Need: 0x1234}),
		},
		{
			name: "R210: SYSTEM",
			hex:  prefix + "00000004 00000001 0000000a",
			msg:  errorMessage(header.Error{Code: header.ErrSystem}),
		},
		{
			name: "R211: an unknown code has no arm",
			hex:  prefix + "00000004 00000001 00000063",
			msg:  errorMessage(header.Error{Code: 99}),
		},
		{
			name: "R147: an ERROR without the RESPONSE flag is an answer all the same",
			hex:  prefix + "00000004 00000000 0000000a",
			msg:  errorMessage(header.Error{Code: header.ErrSystem}),

			encoded: prefix + "00000004 00000001 0000000a",
		},
		{
			name: "R212: bytes after the arm are ignored",
			hex:  prefix + "00000004 00000001 0000000a ffffffff ff",
			msg:  errorMessage(header.Error{Code: header.ErrSystem}),

			encoded: prefix + "00000004 00000001 0000000a",
		},
		{
			name: "R212, T72: an arm that is cut", cut: true,
			hex: prefix + "00000004 00000001 00000008 00000002 000100",
			msg: errorMessage(header.Error{}),
		},
		{
			name: "T72: an ERROR of 16 bytes", cut: true,
			hex: prefix + "00000004",
			msg: errorMessage(header.Error{}),
		},

		// Header type 5, then a number of properties, each a number, a length, and the data with
		// zeros up to a multiple of four bytes.
		{
			name: "R213: CONNPROP with a number, data of three bytes, and no data",
			hex:  prefix + "00000005 00000000 00000003 00000002 00000004 00002000 00000063 00000003 01020300 00000003 00000000",
			msg: with(message(header.KindProps), func(m *header.Message) {
				m.Props = []header.Property{{ID: 2, Data: []byte{0, 0, 0x20, 0}}, {ID: 99, Data: []byte{1, 2, 3}}, {ID: 3}}
			}),
		},
		{
			name: "R165: a part of a continued CONNPROP, without properties",
			hex:  prefix + "00000005 00000002 00000000",
			msg:  with(message(header.KindProps), func(m *header.Message) { m.More = true }),
		},
		{
			// 0x101: the flag of the extension, and RESPONSE.
			name: "R143: a message of an extension, with a flag of its own",
			hex:  prefix + "00000020 00000101 01020304 05",
			msg: with(message(header.KindOther), func(m *header.Message) {
				m.Type, m.Flags, m.Answer, m.Payload = extType, extFlag, true, []byte{1, 2, 3, 4, 5}
			}),
		},

		// Other versions have the same first four words, and ERR_VERS in the same place.
		{
			name: "A2: ERR_VERS of version 1",
			hex:  "cafe0001 00000001 00200001 00000004 00000001 00000001 00000001",
			msg: with(errorMessage(header.Error{Code: header.ErrVers, Low: 1, High: 1}), func(m *header.Message) {
				m.Vers = 1
			}),
		},
		{
			name: "another ERROR of version 1", cut: true,
			hex: "cafe0001 00000001 00200001 00000004 00000002",
			msg: with(errorMessage(header.Error{}), func(m *header.Message) { m.Vers = 1 }),
		},
	}
}

func unhex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.ReplaceAll(s, " ", ""))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

var same = cmp.Options{cmpopts.EquateEmpty()}

// Decode returns the message of each vector.
func TestDecodeReadsEachVector(t *testing.T) {
	for _, v := range vectors() {
		t.Run(v.name, func(t *testing.T) {
			var m header.Message
			for range 2 { // the second time into the same Message
				if f := newVersion(v.dialed).Decode(unhex(t, v.hex), &m); f != nil {
					t.Fatal(f)
				}
				if diff := cmp.Diff(v.msg, m, same); diff != "" {
					t.Error(diff)
				}
			}
		})
	}
}

// One Version and one Message decode all vectors, forwards and backwards: nothing of an earlier
// message remains.
func TestDecodeReused(t *testing.T) {
	c := newVersion(false)
	var m header.Message
	all := vectors()
	for i := range 2 * len(all) {
		v := all[min(i, 2*len(all)-1-i)]
		if v.dialed {
			continue
		}
		if f := c.Decode(unhex(t, v.hex), &m); f != nil {
			t.Fatal(f)
		}
		if diff := cmp.Diff(v.msg, m, same); diff != "" {
			t.Errorf("%s: %s", v.name, diff)
		}
	}
}

// Append writes the bytes of each vector, and Overhead is the number of those before a payload:
// R142, R144, R147, R174, R194, R259.
func TestAppendWritesEachVector(t *testing.T) {
	c := newVersion(false)
	for _, v := range vectors() {
		if v.cut {
			continue
		}
		want := unhex(t, v.encoded)
		if v.encoded == "" {
			want = unhex(t, v.hex)
			want = want[:len(want)-len(v.msg.Payload)]
		}
		got, err := c.Append(make([]byte, 0, 1024), &v.msg)
		if err != nil {
			t.Fatalf("%s: %v", v.name, err)
		}
		if diff := cmp.Diff(hex.EncodeToString(want), hex.EncodeToString(got)); diff != "" {
			t.Errorf("%s: %s", v.name, diff)
		}
		if k := v.msg.Kind; k != header.KindMsg && k != header.KindNomsg && k != header.KindGrant {
			continue
		}
		if n := c.Overhead(&v.msg.Lists); n != len(want) {
			t.Errorf("%s: Overhead is %d, the header has %d bytes", v.name, n, len(want))
		}
	}
}

// R142, R157: Append writes no flags that a message of its kind cannot have.
func TestFlagsWritten(t *testing.T) {
	for _, c := range []struct {
		m    header.Message
		want uint32
	}{
		{header.Message{Kind: header.KindMsg, More: true, Flags: 0xffffffff}, 2},
		{header.Message{Kind: header.KindNomsg, More: true}, 0},
		{header.Message{Kind: header.KindGrant, More: true, Answer: true}, 1},
		{header.Message{Kind: header.KindProps, More: true}, 2},
		{header.Message{Kind: header.KindError, More: true, Err: header.Error{Code: header.ErrSystem}}, 1},
		{header.Message{Kind: header.KindOther, Type: extType, More: true, Flags: 0xffffffff}, extFlag},
		{header.Message{Kind: header.KindOther, Type: extType + 1, Flags: 0xffffffff}, 0},
	} {
		b, err := newVersion(false).Append(make([]byte, 0, 64), &c.m)
		if err != nil {
			t.Fatal(err)
		}
		if got := uint32(b[16])<<24 | uint32(b[17])<<16 | uint32(b[18])<<8 | uint32(b[19]); got != c.want {
			t.Errorf("%v of type %d: flags %#x, want %#x", c.m.Kind, c.m.Type, got, c.want)
		}
	}
}
