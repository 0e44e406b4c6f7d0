package v1_test

import (
	"encoding/hex"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/header"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/v1"
)

// vector is a message and its bytes, written by hand from RFC 8166 §4.1.2.
type vector struct {
	name string
	hex  string
	msg  header.Message
	// oneWay is set if Append does not write these bytes.
	oneWay bool
}

func seg(h, n uint32, off uint64) header.Segment {
	return header.Segment{Handle: h, Length: n, Offset: off}
}

func vectors() []vector {
	call := "cafe0001 00000000"
	callBytes := []byte{0xca, 0xfe, 0, 1, 0, 0, 0, 0}
	return []vector{
		{
			name: "R19, R27: MSG without chunks",
			hex:  "cafe0001 00000001 00000020 00000000  00000000 00000000 00000000 " + call,
			msg:  header.Message{XID: 0xcafe0001, Vers: 1, Credit: 32, Kind: header.KindMsg, Payload: callBytes},
		}, {
			name: "R24, R61: MSG with a read chunk of two segments",
			hex: "cafe0001 00000001 00000020 00000000 " +
				"00000001 00000078 deadbeef 00001000 00000001 00002000 " +
				"00000001 00000078 deadbef0 00000003 00000000 00000010 00000000 " +
				"00000000 00000000 " + call,
			msg: header.Message{
				XID: 0xcafe0001, Vers: 1, Credit: 32, Kind: header.KindMsg, Payload: callBytes,
				Lists: header.Lists{Reads: []header.ReadSegment{
					{Position: 120, Segment: seg(0xdeadbeef, 0x1000, 0x1_0000_2000)},
					{Position: 120, Segment: seg(0xdeadbef0, 3, 16)},
				}},
			},
		}, {
			name: "R25, R26, R86: MSG with two write chunks, one of them empty, and a reply chunk",
			hex: "cafe0001 00000001 00000020 00000000 00000000 " +
				"00000001 00000002 00000011 00000100 00000000 00000000 00000012 00000200 00000000 00000100 " +
				"00000001 00000000 00000000 " +
				"00000001 00000001 00000013 00000400 ffffffff fffffc00 " + call,
			msg: header.Message{
				XID: 0xcafe0001, Vers: 1, Credit: 32, Kind: header.KindMsg, Payload: callBytes,
				Lists: header.Lists{
					Writes:   [][]header.Segment{{seg(0x11, 0x100, 0), seg(0x12, 0x200, 0x100)}, {}},
					HasReply: true, Reply: []header.Segment{seg(0x13, 0x400, 0xffff_ffff_ffff_fc00)},
				},
			},
		}, {
			name: "R20, R92: NOMSG with a chunk at position zero",
			hex: "cafe0001 00000001 00000001 00000001 " +
				"00000001 00000000 00000007 00000800 00000000 00000000 00000000 00000000 00000000",
			msg: header.Message{
				XID: 0xcafe0001, Vers: 1, Credit: 1, Kind: header.KindNomsg,
				Lists: header.Lists{Reads: []header.ReadSegment{{Segment: seg(7, 0x800, 0)}}},
			},
		}, {
			name: "R21: MSGP: alignment and threshold before the lists",
			hex:  "cafe0001 00000001 00000020 00000002 00001000 00000400  00000000 00000000 00000000 " + call,
			msg: header.Message{
				XID: 0xcafe0001, Vers: 1, Credit: 32, Kind: header.KindPadded, Payload: callBytes,
				Pad: header.Pad{Align: 4096, Threshold: 1024},
			},
		}, {
			name: "R21: MSGP with a write chunk and a reply chunk",
			hex: "cafe0001 00000001 00000020 00000002 00000004 ffffffff 00000000 " +
				"00000001 00000001 00000011 00000100 00000000 00000000 00000000 " +
				"00000001 00000000 " + call,
			msg: header.Message{
				XID: 0xcafe0001, Vers: 1, Credit: 32, Kind: header.KindPadded, Payload: callBytes,
				Pad:   header.Pad{Align: 4, Threshold: 0xffffffff},
				Lists: header.Lists{Writes: [][]header.Segment{{seg(0x11, 0x100, 0)}}, HasReply: true},
			},
		}, {
			name: "R22: DONE is four words",
			hex:  "cafe0001 00000001 00000020 00000003",
			msg:  header.Message{XID: 0xcafe0001, Vers: 1, Credit: 32, Kind: header.KindDone},
		}, {
			name: "R23, R115: ERR_VERS: code, low and high at 16, 20 and 24, 28 bytes in all",
			hex:  "cafe0001 00000001 00000020 00000004 00000001 00000001 00000001",
			msg: header.Message{
				XID: 0xcafe0001, Vers: 1, Credit: 32, Kind: header.KindError,
				Err: header.Error{Code: header.ErrVers, Low: 1, High: 1},
			},
		}, {
			name: "R117: ERR_CHUNK is 20 bytes",
			hex:  "cafe0001 00000001 00000020 00000004 00000002",
			msg:  header.Message{XID: 0xcafe0001, Vers: 1, Credit: 32, Kind: header.KindError, Err: header.Error{Code: header.ErrChunk}},
		}, {
			name: "R121: an unknown error code",
			hex:  "cafe0001 00000001 00000020 00000004 00000063",
			msg:  header.Message{XID: 0xcafe0001, Vers: 1, Credit: 32, Kind: header.KindError, Err: header.Error{Code: 99}},
		}, {
			name: "T72: ERROR cut after the prefix", oneWay: true,
			hex: "cafe0001 00000001 00000020 00000004",
			msg: header.Message{XID: 0xcafe0001, Vers: 1, Credit: 32, Kind: header.KindError},
		}, {
			name: "T72: ERR_VERS cut after the code", oneWay: true,
			hex: "cafe0001 00000001 00000020 00000004 00000001 00000001",
			msg: header.Message{XID: 0xcafe0001, Vers: 1, Credit: 32, Kind: header.KindError},
		},
	}
}

func unhex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.ReplaceAll(strings.ReplaceAll(s, " ", ""), "\n", ""))
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
			var c v1.Version
			var m header.Message
			for range 2 { // the second time into the same Message
				if f := c.Decode(unhex(t, v.hex), &m); f != nil {
					t.Fatal(f)
				}
				if diff := cmp.Diff(v.msg, m, same); diff != "" {
					t.Error(diff)
				}
			}
		})
	}
}

// One Codec and one Message decode all vectors, forwards and backwards: nothing of an earlier
// message remains.
func TestDecodeReused(t *testing.T) {
	var c v1.Version
	var m header.Message
	all := vectors()
	for i := range 2 * len(all) {
		v := all[min(i, 2*len(all)-1-i)]
		if f := c.Decode(unhex(t, v.hex), &m); f != nil {
			t.Fatal(f)
		}
		if diff := cmp.Diff(v.msg, m, same); diff != "" {
			t.Errorf("%s: %s", v.name, diff)
		}
	}
}

// Append and Size return the bytes of each vector, and their number.
func TestAppendWritesEachVector(t *testing.T) {
	var c v1.Version
	for _, v := range vectors() {
		if v.oneWay {
			continue
		}
		want := unhex(t, v.hex)
		want = want[:len(want)-len(v.msg.Payload)]
		got, err := c.Append(make([]byte, 0, 1024), &v.msg)
		if err != nil {
			t.Fatalf("%s: %v", v.name, err)
		}
		if diff := cmp.Diff(hex.EncodeToString(want), hex.EncodeToString(got)); diff != "" {
			t.Errorf("%s: %s", v.name, diff)
		}
		if n := v1.Size(&v.msg); n != len(want) {
			t.Errorf("%s: Size is %d, header has %d bytes", v.name, n, len(want))
		}
	}
}
