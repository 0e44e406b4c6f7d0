package main

import (
	"encoding/binary"
	"encoding/hex"
	"strings"
	"testing"
)

// unhex returns the bytes of words in hex.
func unhex(t testing.TB, words string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.ReplaceAll(words, " ", ""))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// Messages of version 2 in the ladder, encoded by hand
// (draft-ietf-nfsv4-rpcrdma-version-two-00 §6, §7).
func TestLadderDescribesVersion2(t *testing.T) {
	const (
		start = "0000002a 00000002 00200003 " // XID 42, version 2, ceiling 32, 3 granted
		said  = "xid 0x0000002a version 2 grants 3, ceiling 32 "
		call  = "0000002a 00000000 00000002 000186a3 00000003 00000000 00000000 00000000 00000000 00000000"
		reply = "0000002a 00000001 00000000 00000000 00000000 00000000"
	)
	for _, tt := range []struct{ hex, want string }{
		{start + "00000000 00000000 00000000 00000000 00000000 00000000" + call, said + "RDMA2_MSG; CALL of program 100003 version 3 procedure 0"},
		{start + "00000000 00000001 00000000 00000000 00000000 00000000" + reply, said + "RDMA2_MSG RESPONSE; REPLY: success"},
		{start + "00000000 00000001 00000000 00000000 00000000 00000000 0000002a", said + "RDMA2_MSG RESPONSE; not a whole RPC message"},
		{ // a key, and each list
			start + "00000001 00000000 000000aa 00000001 00000000 000000aa 00000100 00000000 00001000 00000000 " +
				"00000001 00000002 000000bb 00000200 00000000 00002000 000000bc 00000201 00000000 00002800 00000000 " +
				"00000001 00000001 000000cc 00000300 00000000 00003000",
			said + "RDMA2_NOMSG, invalidate key 0x000000aa, read at 0: 256 bytes key 0x000000aa, " +
				"write 512 bytes key 0x000000bb 513 bytes key 0x000000bc, reply 768 bytes key 0x000000cc",
		},
		{"00000000 00000002 00100005 00000001 00000000 00000000 00000000 00000000 00000000", "xid 0x00000000 version 2 grants 5, ceiling 16 RDMA2_NOMSG, grants alone"},
		{start + "00000004 00000001 00000001 00000001 00000002", said + "RDMA2_ERROR RESPONSE ERR_VERS, versions 1 to 2"},
		{start + "00000004 00000001 00000002", said + "RDMA2_ERROR RESPONSE BAD_XDR"},
		{start + "00000004 00000001 00000003", said + "RDMA2_ERROR RESPONSE INVAL_HTYPE"},
		{start + "00000004 00000001 00000004", said + "RDMA2_ERROR RESPONSE INVAL_FLAG"},
		{start + "00000004 00000001 00000005 00000004", said + "RDMA2_ERROR RESPONSE READ_CHUNKS max 4"},
		{start + "00000004 00000001 00000006 00000002", said + "RDMA2_ERROR RESPONSE WRITE_CHUNKS max 2"},
		{start + "00000004 00000001 00000007 00000010", said + "RDMA2_ERROR RESPONSE SEGMENTS max 16"},
		{start + "00000004 00000001 00000008 00000001 00002000", said + "RDMA2_ERROR RESPONSE WRITE_RESOURCE chunk 1 needs 8192 bytes"},
		{start + "00000004 00000001 00000009 00001000", said + "RDMA2_ERROR RESPONSE REPLY_RESOURCE needs 4096 bytes"},
		{start + "00000004 00000001 0000000a", said + "RDMA2_ERROR RESPONSE SYSTEM"},
		{start + "00000004 00000000 0000004d", said + "RDMA2_ERROR error 77"},
		{start + "00000004 00000001 00000005", said + "RDMA2_ERROR RESPONSE, not decoded: "},
		{ // A1: the form of version 1, in which a server without version 2 refuses it
			"0000002a 00000002 00000020 00000004 00000001 00000001 00000001",
			"xid 0x0000002a version 2 credits 32 RDMA2_ERROR ERR_VERS in the form of version 1, version 1",
		},
		{
			start + "00000005 00000000 00000008 00000001 00000004 00001000 00000002 00000004 00002000 00000003 00000004 00100000 " +
				"00000004 00000004 00000010 00000005 00000004 00000001 00000006 00000008 00000003 61626300 00000001 00000000 0000004d 00000005 01020304 05000000",
			said + "RDMA2_CONNPROP, max send size 4096, receive buffer size 8192, max segment size 1048576, max segment count 16, reverse calls inline, " +
				"host authentication of 3 bytes, max send size default, property 77 of 5 bytes",
		},
		{start + "00000005 00000000 00000002 00000005 00000004 00000000 00000005 00000004 00000002", said + "RDMA2_CONNPROP, reverse calls none, reverse calls general"},
		{
			start + "00000005 00000000 00000003 00000005 00000004 00000009 00000001 00000003 01020300 00000006 00000000",
			said + "RDMA2_CONNPROP, reverse calls 9, max send size: not decoded, found 3 bytes, expected 4, host authentication: not decoded, found 0 bytes, expected 4 at least",
		},
		{start + "00000005 00000000 00000000", said + "RDMA2_CONNPROP, no properties"},
		{start + "00000005 00000000 00000002 00000001 00000004 00001000 00000001", said + "RDMA2_CONNPROP, max send size 4096, not decoded: "},
		{start + "00000009 00000004 01020304", said + "header type 9 flags 0x00000004, 4 bytes of body"},
		{start + "00000002 80000013", said + "header type 2 RESPONSE MORE flags 0x80000010, 0 bytes of body"},
		{start + "00000000", said + "RDMA2_MSG, not decoded: "},
		{start + "00000000 00000000 00000000 00000007", said + "RDMA2_MSG, not decoded: "},
	} {
		b := unhex(t, tt.hex)
		if got := describe(b, len(b), new(parts)); got != tt.want && !(strings.HasSuffix(tt.want, ": ") && strings.HasPrefix(got, tt.want)) {
			t.Errorf("%s\n got %s\nwant %s", tt.hex, got, tt.want)
		}
	}
}

// The parts of continued messages are numbered. Grants and errors may come between them (A5); other
// messages are marked.
func TestDescribeParts(t *testing.T) {
	const lists = "00000000 00000000 00000000 00000000 "
	var p parts
	for _, tt := range []struct{ hex, want string }{
		{
			"00000001 00000002 00200001 00000000 00000002 " + lists + "00000001 00000000 00000002 000186a3 00000003 00000000 00000000 00000000 00000000 00000000",
			"RDMA2_MSG MORE, part 1 of a continued message: 40 bytes; CALL of program 100003 version 3 procedure 0",
		},
		{"00000000 00000002 00200002 00000001 00000000 " + lists, "RDMA2_NOMSG, grants alone"},
		{"00000007 00000002 00200002 00000004 00000001 0000000a", "RDMA2_ERROR RESPONSE SYSTEM"},
		{"00000001 00000002 00200000 00000000 00000002 " + lists + "aabb", "RDMA2_MSG MORE, part 2 of a continued message: 2 bytes"},
		{"00000002 00000002 00200000 00000000 00000000 " + lists + "00000000", "RDMA2_MSG, inside the continued message of xid 0x00000001; not a whole RPC message"},
		{"00000001 00000002 00200000 00000000 00000000 " + lists, "RDMA2_MSG, part 3 and last: 0 bytes"},
		{"00000001 00000002 00200000 00000000 00000000 " + lists + "00000000", "RDMA2_MSG; not a whole RPC message"},
		{
			"00000003 00000002 00200001 00000005 00000003 00000001 00000001 00000000",
			"RDMA2_CONNPROP RESPONSE MORE, max send size default, part 1 of a continued message: property set",
		},
		{"00000003 00000002 00200001 00000005 00000001 00000000", "RDMA2_CONNPROP RESPONSE, no properties, part 2 and last: property set"},
	} {
		b := unhex(t, tt.hex)
		if got := describe(b, len(b), &p); !strings.HasSuffix(got, " "+tt.want) {
			t.Errorf("%s\n got %s\nwant %s", tt.hex, got, tt.want)
		}
	}
}

// If the trace has only the beginning of a message, that part is described.
func TestDescribeCut(t *testing.T) {
	set := unhex(t, "00000001 00000002 00200001 00000005 00000000 00000002 00000001 00000004 00001000 00000006 00000400 000003fc 61616161")
	want := "RDMA2_CONNPROP, max send size 4096, the header goes on beyond the 52 bytes that the trace has"
	if got := describe(set, 1076, new(parts)); !strings.HasSuffix(got, want) {
		t.Errorf("%s, expected %s", got, want)
	}
	msg := unhex(t, "00000001 00000002 00200001 00000000 00000002 00000000 00000000 00000000 00000000 00000001")
	if got, want := describe(msg, 4096, new(parts)), "part 1 of a continued message: 4060 bytes; not a whole RPC message"; !strings.HasSuffix(got, want) {
		t.Errorf("%s, expected %s", got, want)
	}
}

// Every message can be described, whatever its bytes, in text of bounded length.
func FuzzDescribe(f *testing.F) {
	for _, htype := range []uint32{0, 1, 4, 5, 9} {
		for _, vers := range []uint32{1, 2, 3} {
			b := make([]byte, 60)
			binary.BigEndian.PutUint32(b[4:], vers)
			binary.BigEndian.PutUint32(b[12:], htype)
			f.Add(b, 0)
		}
	}
	f.Fuzz(func(t *testing.T, b []byte, more int) {
		b = b[:min(len(b), ladderHead)]
		for n := range len(b) + 1 {
			if got := describe(b[:n], n+max(0, more&0xffff), new(parts)); got == "" || len(got) > 40*ladderHead {
				t.Errorf("%d bytes of text for %x", len(got), b[:n])
			}
		}
	})
}
