package cases

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A segment that is written is read back.
func TestSegment(t *testing.T) {
	for _, want := range []segment{
		{op: opSend, last: true, msn: 7, mo: 8, stag: 9, payload: []byte("abc")},
		{op: opReadRequest, qn: queueRead, msn: 1, payload: []byte{}},
		{tagged: true, op: opWrite, last: true, stag: 0x12345678, to: 1<<64 - 4, payload: []byte("abcd")},
	} {
		b := want.ulpdu()
		got, ok := parseSegment(b)
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(segment{})); !ok || diff != "" {
			t.Errorf("%x: %v (-want +got):\n%s", b, ok, diff)
		}
		for n := range len(b) - len(want.payload) {
			if _, ok := parseSegment(b[:n]); ok {
				t.Errorf("%d of %d bytes of a header are taken for a segment", n, len(b))
			}
		}
	}
}

// Replies of the server have the text that tables of probes compare with, also if they are cut.
func TestReplyText(t *testing.T) {
	for _, tt := range []struct {
		b    []byte
		want string
	}{
		{words(probeXID, 2, 64, procError, 1, 1, 1), "ERR_VERS 1 to 1 in version 2"},
		{words(probeXID+3, 1, 64, procError, 2), "ERR_CHUNK"},
		{words(0x12345678, 1, 0, procError, 2), "ERR_CHUNK with XID 12345678 with 0 credits"},
		{append(words(probeXID, 1, 64, procMsg, 0, 0, 0), nullReply(probeXID)...), "RDMA_MSG, SUCCESS"},
		{append(words(probeXID, 1, 64, procMsg, 0, 1, 1, 5, 8, 0, 0, 0, 1, 0), nullReply(probeXID)...), "RDMA_MSG, SUCCESS"},
		{words(probeXID, 1, 64, procMsg, 0, 0, 0, probeXID, 1, 1, 0, 2, 2), "RDMA_MSG, denied: RPC_MISMATCH"},
		{words(probeXID, 1, 64, procMsg, 0, 0, 0, probeXID, 1, 0, 0, 0, 4), "RDMA_MSG, GARBAGE_ARGS"},
	} {
		if got := replyText(tt.b); got != tt.want {
			t.Errorf("%x: %q, want %q", tt.b, got, tt.want)
		}
		for n := range tt.b {
			replyText(tt.b[:n]) // must not panic
		}
	}
}

// siw swaps the nibbles of layer and error type.
func TestTerminateText(t *testing.T) {
	for b, want := range map[string]string{
		"21010300": "Terminate DDP, invalid QN",
		"02020000": "Terminate MPA, CRC error",
		"77770000": "Terminate `7777`",
		"21":       "Terminate of 1 bytes",
	} {
		if got := terminateText(unhex(b)); got != want {
			t.Errorf("%s: %q, want %q", b, got, want)
		}
	}
}
