package peer2_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rpcrdma/rpcrdma/internal/peertest"
	"github.com/rpcrdma/rpcrdma/internal/peertest/peer2"
)

var segment = peertest.Segment{Key: 0x11, Length: 8, Addr: 0x1_0000_2000}

// Messages written by hand from the document, with the form that builds them and their words.
var messages = []struct {
	hex  string
	m    peer2.Message
	text string
}{
	{
		"00000001 00000002 00080003 00000000 00000000 00000000 00000000 00000000 00000000 00000001 00000000",
		peer2.Call(1, []byte{0, 0, 0, 1, 0, 0, 0, 0}), "Call 0x1 +3 of 8 + 8 inline",
	},
	{
		"00000001 00000002 00080003 00000000 00000001 00000000 00000000 00000000 00000000 00000001 00000001",
		peer2.Reply(1, []byte{0, 0, 0, 1, 0, 0, 0, 1}), "Reply 0x1 +3 of 8 + 8 inline",
	},
	{
		"00000001 00000002 00080003 00000000 00000002 00000000 00000000 00000000 00000000 01",
		peer2.Message{XID: 1, Flags: peer2.More, Payload: []byte{1}},
		"Call 0x1 +3 of 8 MORE + 1 inline",
	},
	{
		"00000001 00000002 00080003 00000000 00000000 00000011 00000001 00000028 00000011 00000008 00000001 00002000 00000000" +
			"00000001 00000001 00000011 00000008 00000001 00002000 00000001 00000000 00000000 00000001 00000001 00000011 00000008 00000001 00002000 aabb",
		peer2.Message{
			XID: 1, Key: 0x11, Reads: []peertest.Segment{{Position: 40, Key: 0x11, Length: 8, Addr: 0x1_0000_2000}},
			Writes: [][]peertest.Segment{{segment}, {}}, Reply: []peertest.Segment{segment}, Payload: []byte{0xaa, 0xbb},
		},
		"Call 0x1 +3 of 8 invalidate 0x11 read{at 40: 8 bytes key 0x11 addr 0x100002000} write[8 bytes key 0x11 addr 0x100002000] write[] reply[8 bytes key 0x11 addr 0x100002000] + 2 inline",
	},
	{
		"00000001 00000002 00080003 00000001 00000001 00000000 00000000 00000000 00000001 00000001 00000011 00000008 00000001 00002000",
		peer2.Message{XID: 1, Type: peer2.NoMsg, Flags: peer2.Response, Reply: []peertest.Segment{segment}},
		"Reply 0x1 +3 of 8 NOMSG reply[8 bytes key 0x11 addr 0x100002000]",
	},
	{"00000000 00000002 00080003 00000001 00000000 00000000 00000000 00000000 00000000", peer2.Grant(), "grant 0x0 +3 of 8"},
	{"00000001 00000002 00080003 00000004 00000001 00000001 00000001 00000002", peer2.Err(1, 1, 1, 2), "ERROR 0x1 +3 of 8 code 1 [1 2]"},
	{"00000001 00000002 00080003 00000004 00000001 00000002", peer2.Err(1, 2), "ERROR 0x1 +3 of 8 code 2 []"},
	{"00000001 00000002 00080003 00000004 00000001 00000003", peer2.Err(1, 3), "ERROR 0x1 +3 of 8 code 3 []"},
	{"00000001 00000002 00080003 00000004 00000001 00000004", peer2.Err(1, 4), "ERROR 0x1 +3 of 8 code 4 []"},
	{"00000001 00000002 00080003 00000004 00000001 00000005 00000007", peer2.Err(1, 5, 7), "ERROR 0x1 +3 of 8 code 5 [7]"},
	{"00000001 00000002 00080003 00000004 00000001 00000006 00000007", peer2.Err(1, 6, 7), "ERROR 0x1 +3 of 8 code 6 [7]"},
	{"00000001 00000002 00080003 00000004 00000001 00000007 00000007", peer2.Err(1, 7, 7), "ERROR 0x1 +3 of 8 code 7 [7]"},
	{"00000001 00000002 00080003 00000004 00000001 00000008 00000002 00001000", peer2.Err(1, 8, 2, 4096), "ERROR 0x1 +3 of 8 code 8 [2 4096]"},
	{"00000001 00000002 00080003 00000004 00000001 00000009 00001000", peer2.Err(1, 9, 4096), "ERROR 0x1 +3 of 8 code 9 [4096]"},
	{"00000001 00000002 00080003 00000004 00000001 0000000a", peer2.Err(1, 10), "ERROR 0x1 +3 of 8 code 10 []"},
	{"00000001 00000002 00080003 00000005 00000000 00000000", peer2.Props(1), "CONNPROP 0x1 +3 of 8"},
	{
		"00000001 00000002 00080003 00000005 00000000 00000003 00000002 00000004 00001000 00000006 00000003 01020300 00000001 00000000",
		peer2.Props(1, peer2.Prop(peer2.ReceiveSize, 4096), peer2.Property{ID: 6, Data: []byte{1, 2, 3}}, peer2.Property{ID: 1, Data: []byte{}}),
		"CONNPROP 0x1 +3 of 8 2=00001000 6=010203 1=",
	},
}

// Bytes, Parse and String agree with bytes written by hand. No truncated message is decoded, except
// where the payload ends earlier.
func TestMessagesAgreeWithBytesByHand(t *testing.T) {
	for _, c := range messages {
		want := []byte(peertest.Bytes(t, c.hex))
		c.m.Credit = peer2.Word(8, 3)
		if got := c.m.Bytes(); !bytes.Equal(got, want) {
			t.Errorf("%v encodes as\n%x, want\n%x", c.m, got, want)
		}
		got, err := peer2.Parse(want)
		if err != nil {
			t.Errorf("%s: %v", c.text, err)
			continue
		}
		if got.String() != c.text {
			t.Errorf("got  %v\nwant %s", got, c.text)
		}
		if !bytes.Equal(got.Bytes(), want) {
			t.Errorf("%s: decoded and encoded it has other bytes", c.text)
		}
		for n := range len(want) - len(got.Payload) {
			if m, err := peer2.Parse(want[:n]); err == nil {
				t.Errorf("%d bytes of %s decode as %v", n, c.text, m)
			}
		}
	}
}

// What a sender must not send is refused, with the reason.
func TestParseRefuses(t *testing.T) {
	const head = "00000001 00000002 00080003 "
	const none = " 00000000 00000000 00000000 00000000 "
	for _, c := range []struct{ hex, want string }{
		{"00000001 00000001 00080003 00000000 00000000" + none, "version 1"},
		{head + "00000002 00000000", "header type 2"},
		{head + "00000000 00000004" + none, "flags 0x4"},
		{head + "00000001 00000002" + none, "MORE in a message of type 1"},
		{head + "00000000 00000002 00000000 00000000 00000001 00000000 00000000 00000000", "MORE with chunks"},
		{head + "00000000 00000000 00000000 00000002", "presence word 0x2"},
		{head + "00000000 00000000 00000009 00000000 00000000 00000000", "rdma_inv_handle 0x9"},
		{head + "00000001 00000000" + none, "a grant with XID 0x1"},
		{"00000000 00000002 00080003 00000001 00000000" + none + "00", "1 bytes after the header"},
		{"00000001 00000002 00030008 00000000 00000000" + none, "grant of 8, the ceiling is 3"},
		{head + "00000004 00000000 00000002", "without RESPONSE"},
		{head + "00000004 00000001 0000000b", "error code 11"},
		{head + "00000004 00000001 00000002 00000000", "4 bytes after the header"},
		{head + "00000005 00000000 00000002 00000001 00000004 00001000 00000001 00000004 00001000", "property 1 twice"},
		{head + "00000005 00000000 00000001 00000001 00000005 00001000 00000000", "property 1 of 5 bytes"},
		{head + "00000005 00000000 00000001 00000009 ffffffff", "property 9 of"},
		{head + "00000005 00000000 ffffffff", "ends before"},
		{head + "00000005 00000001 00000000", "CONNPROP with RESPONSE"},
	} {
		if m, err := peer2.Parse(peertest.Bytes(t, c.hex)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, %v, want %q", c.hex, m, err, c.want)
		}
	}
}

// The parts of a message have its payload in order, its chunks with the last one, and MORE in all
// others.
func TestPartsHaveThePayloadInOrder(t *testing.T) {
	m := peer2.Call(7, []byte("abcdefgh"))
	m.Writes = [][]peertest.Segment{{segment}}
	var got []string
	for _, part := range m.Split(0, 1, 1, 5) {
		got = append(got, part.String()+" "+string(part.Payload))
	}
	want := []string{
		"Call 0x7 +0 of 0 MORE ", "Call 0x7 +0 of 0 MORE + 1 inline a", "Call 0x7 +0 of 0 MORE ",
		"Call 0x7 +0 of 0 MORE + 4 inline bcde", "Call 0x7 +0 of 0 write[8 bytes key 0x11 addr 0x100002000] + 3 inline fgh",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	r := m.Unused([]byte("xy"))
	if got, want := r.String(), "Reply 0x7 +0 of 0 write[0 bytes key 0x11 addr 0x100002000] + 2 inline"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
