package conform

import (
	"strings"
	"testing"
)

// Each message of a server over RDMA is named in words, and a wrong one says why.
func TestOutcomesOverRDMA(t *testing.T) {
	const (
		msg   = "00000007 00000001 00000008 00000000 "
		nomsg = "00000007 00000001 00000008 00000001 "
		reply = "00000007 00000001 00000000 00000000 00000000 00000000"
		none  = "00000000 "
	)
	chunk := func(n string) string { return "00000001 00000001 00000011 " + n + " 00000000 00001000 " }
	for _, tt := range []struct{ hex, mem, want string }{
		{msg + none + none + none + reply, "", "SUCCESS"},
		{msg + none + none + none + reply + "00000005", "", "SUCCESS 00000005"},
		{msg + none + none + chunk("00000000") + reply, "", "SUCCESS"},
		{msg + none + none + chunk("00000004") + reply, "", "SUCCESS, 4 bytes in the reply chunk"},
		{nomsg + none + none + chunk("00000018"), reply, "SUCCESS by chunk"},
		{nomsg + none + none + chunk("00000018"), "00000008" + reply[8:], malformed + "XID 0x8 in the chunk, 0x7 in the header"},
		{nomsg + none + none + chunk("00010000"), reply, malformed + "65536 bytes in a reply chunk of 24"},
		{strings.Replace(msg, "00000008", "00000000", 1) + none + none + none + reply, "", malformed + "it grants 0 credits"},
		{msg + "00000001 00000000 00000011 00000008 00000000 00001000 " + none + none + none + reply, "", malformed + "it has a read list"},
		{msg + none + none + none + "00000007 00000000", "", malformed + "Call 0x7 credit 8 + 8 inline"},
		{"00000007 00000001 00000008 00000004 00000002", "", "ERR_CHUNK"},
		{"00000007 00000003 00000008 00000004 00000001 00000001 00000002", "", "ERR_VERS 1 to 2"},
		{"00000007 00000003 00000008 00000004 00000001", "", malformed + "RDMA_ERROR 1 of 20 bytes"},
		{"00000007 00000001 00000008 00000004 00000003", "", malformed + "RDMA_ERROR 3 of 20 bytes"},
		{"00000007", "", malformed + "message of 4 bytes ends before byte 12"},
	} {
		r := &rdma{mem: unhex(tt.mem)}
		if xid, got := r.outcome(unhex(tt.hex)); xid != 7 || got != tt.want {
			t.Errorf("%s: XID %d, %s, want %s", tt.hex, xid, got, tt.want)
		}
	}
}

// No answer of a server makes the reader panic, whatever its bytes are.
func FuzzOutcome(f *testing.F) {
	f.Add(words(nil, 7, 1, 0, 0, 0, 0))
	f.Add(words(nil, 7, 1, 0, 0, 400, 0))
	f.Add(words(nil, 7, 1, 8, 1, 0, 0, 1, 1, 17, 24, 0, 4096))
	f.Fuzz(func(t *testing.T, b []byte) {
		if _, text := rpcOutcome(b); text == "" {
			t.Error("no outcome")
		}
		r := &rdma{mem: make([]byte, 64)}
		if _, text := r.outcome(b); text == "" {
			t.Error("no outcome over RDMA")
		}
		s := &stream{buf: b}
		if msg, n, err := s.take(); err == nil && (n > len(b) || len(msg) > n) {
			t.Errorf("%d bytes, a message of %d", n, len(msg))
		}
	})
}
