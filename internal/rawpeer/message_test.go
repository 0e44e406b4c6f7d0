package rawpeer_test

import (
	"strings"
	"testing"

	"github.com/rpcrdma/rpcrdma/internal/peertest"
	"github.com/rpcrdma/rpcrdma/internal/rawpeer"
)

// Messages written by hand from RFC 8166 §4.1 print in words. Truncated ones print an error.
func TestMessagePrintsInWords(t *testing.T) {
	const (
		msg   = "00000001 00000001 00000020 00000000 "
		nomsg = "00000001 00000001 00000020 00000001 "
		none  = "00000000 "
		call  = "00000001 00000000"
		reply = "00000001 00000001"
		seg   = "00000011 00000008 00000000 00001000 "
	)
	for _, c := range []struct{ hex, want string }{
		{msg + none + none + none + call, "Call 0x1 credit 32 + 8 inline"},
		{msg + none + none + none + reply, "Reply 0x1 credit 32 + 8 inline"},
		{msg + "00000001 00000028 " + seg + none + none + none + call, "Call 0x1 credit 32 read{at 40: 8 bytes key 0x11 addr 0x1000} + 8 inline"},
		{msg + none + "00000001 00000001 " + seg + none + none + call, "Call 0x1 credit 32 write[8 bytes key 0x11 addr 0x1000] + 8 inline"},
		{nomsg + none + none + "00000001 00000001 " + seg, "Reply 0x1 credit 32 RDMA_NOMSG reply[8 bytes key 0x11 addr 0x1000]"},
		{nomsg + "00000001 00000000 " + seg + none + none + none, "Call 0x1 credit 32 RDMA_NOMSG read{at 0: 8 bytes key 0x11 addr 0x1000}"},
		{"00000001 00000001 00000020 00000003", "RDMA_DONE 0x1 credit 32"},
		{"00000001 00000001 00000020 00000004 00000002", "RDMA_ERROR 0x1 credit 32 code 2"},
	} {
		raw := peertest.Bytes(t, c.hex)
		if got := raw.String(); got != c.want {
			t.Errorf("%s:\ngot  %s\nwant %s", c.hex, got, c.want)
		}
		for n := range 16 {
			if got := raw[:n].String(); !strings.Contains(got, "ends before") {
				t.Errorf("%d bytes of %s print as %s", n, c.hex, got)
			}
		}
	}
	for hex, want := range map[string]string{
		"00000001 00000002 00000020 00000000":                         "version 2",
		"00000001 00000001 00000020 00000009":                         "procedure 9",
		msg + "00000002":                                              "presence word 0x2",
		msg + none + none + none + "00000001 00000007":                "RPC message of type 7",
		msg + none + none + none + "00000002 00000000":                "the header has XID 0x1, the RPC message 0x2",
		msg + none + "00000001 ffffffff " + seg:                       "ends before",
		msg + "00000001 00000028 00000011 00000008 00000000 00001000": "ends before",
	} {
		if _, err := rawpeer.Parse(string(peertest.Bytes(t, hex))); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", hex, err, want)
		}
	}
}
